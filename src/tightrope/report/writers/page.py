"""``index.html``: one file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tightrope.explanation.words import BLAME
from tightrope.report.charts import safety_charts, section_charts
from tightrope.report.charts.chart import Chart
from tightrope.report.charts.comparison_charts import agents_compared
from tightrope.report.charts.performance_charts import performance_table
from tightrope.report.charts.training_charts import training_charts
from tightrope.report.comparing import MANY, Rank, ranking
from tightrope.report.definitions import WORDS
from tightrope.report.films.filming import captions, film_name
from tightrope.report.films.players import Scene, scenes, sheet_sizes
from tightrope.report.films.video import LINGER
from tightrope.report.headline import Headline, from_best_to_worst, headline
from tightrope.report.references import reference_notes, references_of, why_no_places
from tightrope.report.results import Finding, Results, RunResults
from tightrope.report.shared_cases import on_shared_cases
from tightrope.report.training import History, through_training
from tightrope.report.verdict import AgentVerdict, verdicts
from tightrope.report.views import CaseView
from tightrope.report.wording import count, estimate_text, interval_text, number, percent, settings_text, typeset
from tightrope.report.writers.pagedata import escape_text, run_data, shortened
from tightrope.report.writers.playerdata import group_words, player_data
from tightrope.report.writers.resultfile import finite
from tightrope.safety import FailureGroup

SCRIPTS = ("charts.js", "map.js", "grid.js", "cases.js", "player.js", "report.js")
"""In the order of what builds on what."""
TONES = {"avoidable": "fail", "doomed": "", "chance": "", "not known": "unknown", "": ""}
"""How the blame for a fail looks: only what was avoidable is red."""
MOST_TOLD = 12
"""Groups of failures that are told without being played."""
FIRST_PLAYED = 3
"""Groups of failures in sight where there are many agents: those of the agent that fails most. Others are folded."""
WIDE = 2.2
"""A map this many times wider than high gets the whole width of the page; others stand beside the verdicts."""


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """One run as the template shows it."""

    id: str
    run: RunResults
    headline: Headline
    verdicts: tuple[AgentVerdict, ...]
    """The worst first."""
    sections: Mapping[str, tuple[Chart, ...]]
    """The charts of each section of the page."""
    films: Mapping[str, CaseView]
    """Name of a film → the case it shows."""
    players: Mapping[str, Scene]
    """Name of a place on the page → the fail and its escape that are played there."""
    ranking: tuple[Rank, ...]
    """Of many agents; empty: they are few, and each has its sentence."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts that have something to draw."""
        return tuple(chart for charts in self.sections.values() for chart in charts if not chart.empty)

    @property
    def first_players(self) -> Mapping[str, Scene]:
        """Those that stand open to the eye: all, or with many agents the first few of the worst one."""
        if not self.ranking:
            return self.players
        agents = {scene.agent for scene in self.players.values()}
        worst = next((rank.verdict.agent for rank in self.ranking if rank.verdict.agent in agents), None)
        its = [(name, scene) for name, scene in self.players.items() if scene.agent == worst]
        return dict(its[:FIRST_PLAYED])

    @property
    def folded_players(self) -> Mapping[str, Scene]:
        """The others."""
        first = self.first_players
        return {name: scene for name, scene in self.players.items() if name not in first}

    @property
    def explained(self) -> list[tuple[str, FailureGroup]]:
        """Each agent's failures by their cause, those that were explained and are not played: some of them."""
        return self._unplayed[:MOST_TOLD]

    @property
    def untold(self) -> int:
        """Explained groups that the page has no room for."""
        return len(self._unplayed) - len(self.explained)

    @property
    def unasked(self) -> int:
        """Failing cases that nobody explained: each stands alone, as nothing joins it to others."""
        return sum(group.explanation is None for groups in self.run.groups.values() for group in groups)

    @property
    def _unplayed(self) -> list[tuple[str, FailureGroup]]:
        played = {id(scene.group) for scene in self.players.values()}
        every = [(agent, group) for agent, groups in self.run.groups.items() for group in groups]
        return [(agent, group) for agent, group in every if group.explanation and id(group) not in played]

    @property
    def wide(self) -> bool:
        """Whether the map gets the whole width."""
        return self.run.map is None or self.run.map.width > WIDE * self.run.map.height


def render_page(
    results: Results,
    videos: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    posters: Mapping[str, str] | None = None,
    live: Markup | None = None,
) -> str:
    """The whole page; ``videos`` and ``posters`` map names of films to addresses, ``notes`` say why some lack.

    ``live`` stands above it where a server sends it, which then says what the page may do.
    """
    videos, posters = videos or {}, posters or {}
    several = len(results.runs) > 1
    pages = tuple(
        _run_page(f"run{index}", run, videos, None if several else results.history)
        for index, run in enumerate(results.runs)
    )
    overall = _overall(results) if several else ()
    data = {
        "runs": [
            run_data(page.run, page.id, page.films) | {"charts": [chart.to_json() for chart in page.charts]}
            for page in pages
        ],
        "players": {name: _player(scene, videos) for page in pages for name, scene in page.players.items()},
        "overall": [chart.to_json() for chart in overall],
        "videos": dict(videos),
        "captions": {name: captions(case) for page in pages for name, case in page.films.items()},
        "linger": LINGER,
        "tones": TONES,
    }
    return (
        _environment()
        .get_template("report.html")
        .render(
            results=results,
            notes=notes,
            pages=pages,
            words=WORDS,
            videos=videos,
            posters=defaultdict(str, posters),
            overall=overall,
            overview=safety_charts.overview_table(results.runs) if several else None,
            performance_table=performance_table,
            references_of=references_of,
            reference_notes=reference_notes,
            findings=[(finding.title, finding_blocks(finding)) for finding in results.findings],
            css=style(),
            script=Markup("".join(('"use strict";(() => {\n', *map(_asset, SCRIPTS), "})();"))),
            data=script_json(data),
            live=live,
        )
    )


def style() -> Markup:
    """The style sheet of the page."""
    return Markup(_asset("report.css") + _asset("player.css"))


def script_json(data: Any) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def finding_blocks(finding: Finding) -> list[tuple[str, list[str]]]:
    """A finding's text as ("p" or "ul", lines)."""
    blocks = []
    for block in finding.text.strip().split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if lines and all(line.startswith("- ") for line in lines):
            blocks.append(("ul", [line[2:] for line in lines]))
        elif lines:
            blocks.append(("p", [" ".join(lines)]))
    return blocks


def _overall(results: Results) -> tuple[Chart, ...]:
    """What several runs show together: training, where they are of one agent, their agents on shared cases, and safety
    against reward."""
    history = results.history or through_training(results.runs)
    trained = () if history is None else training_charts(history, results.runs[0].task)
    met = on_shared_cases(results.runs)
    beside = () if met is None else agents_compared(met)
    charts = (*trained, *beside, safety_charts.safety_against_reward(results.runs))
    return tuple(replace(chart, options={**chart.options, "click": None}) for chart in charts if not chart.empty)


def _run_page(name: str, run: RunResults, videos: Mapping[str, str], history: History | None) -> RunPage:
    history = history or through_training([run])
    trained = () if history is None else training_charts(history, run.task)
    failing = [case for suite in run.suites for case in suite.cases if case.result.fails]
    films = {film: case for case in failing if (film := film_name(case)) in videos}
    return RunPage(
        id=name,
        run=run,
        headline=headline(run),
        verdicts=tuple(sorted(verdicts(run), key=_from_best_to_worst, reverse=True)),
        sections={**section_charts(run), "training": trained},
        films=films,
        players={f"{name}-why{index}": scene for index, scene in enumerate(scenes(run))},
        ranking=ranking(run) if len(run.agents) >= MANY else (),
    )


def _from_best_to_worst(verdict: AgentVerdict) -> tuple[float, ...]:
    return from_best_to_worst(verdict.suite) if verdict.suite is not None else ()


def _player(scene: Scene, videos: Mapping[str, str]) -> dict[str, Any]:
    sizes = sheet_sizes(videos)
    sheet = next((stem for stem in videos if stem.startswith(f"{scene.name}.")), None)
    return player_data(scene, sheet, sizes.get(scene.name))


def templates(package: str) -> Environment:
    """The templates of a package: what they show is text unless it says otherwise, and nothing is missing unseen."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _environment() -> Environment:
    environment = templates("tightrope.report")
    environment.filters.update(percent=percent, number=number, estimate=estimate_text, interval=interval_text)
    environment.filters.update(way_out=escape_text, shortened=shortened, tone=TONES.get)
    environment.filters.update(typeset=typeset, settings=settings_text, machine=machine_text)
    environment.tests["webp"] = lambda address: address.startswith("data:image/") or address.endswith(".webp")
    environment.globals.update(
        count=count, link=link, group_words=group_words, blame=BLAME, why_no_places=why_no_places
    )
    return environment


def link(**where: Any) -> str:
    """A link into the page, as its script writes it: ``#agent=late&suite=simple&place=7``."""
    return "#" + urlencode({name: value for name, value in where.items() if value not in (None, "")}, quote_via=quote)


def machine_text(machine: Mapping[str, str]) -> str:
    """What is known of a machine; a bare number says nothing."""
    cores = machine.get("cores", "")
    told = {**machine, "cores": count(int(cores), "core")} if cores.isdecimal() else machine
    return " · ".join(told.values())


def _asset(name: str) -> str:
    return (resources.files("tightrope.report") / "assets" / name).read_text(encoding="utf-8")
