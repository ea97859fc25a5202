"""``index.html``: one file that opens from disk and asks the network for nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tightrope.report.charts import safety_charts, section_charts
from tightrope.report.charts.chart import Chart
from tightrope.report.films.filming import film_name
from tightrope.report.results import Finding, Results, RunResults
from tightrope.report.verdict import AgentVerdict, verdicts
from tightrope.report.views import CaseView
from tightrope.report.wording import count, estimate_text, interval_text, number, percent
from tightrope.report.writers.pagedata import run_data
from tightrope.report.writers.resultfile import finite

WIDE = 2.2
"""A map this many times wider than high gets the whole width of the page; others stand beside the verdicts."""


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """One run as the template shows it."""

    id: str
    run: RunResults
    verdicts: tuple[AgentVerdict, ...]
    sections: Mapping[str, tuple[Chart, ...]]
    """The charts of each section of the page."""
    films: Mapping[str, CaseView]
    """Name of a film → the case it shows."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts that have something to draw."""
        return tuple(chart for charts in self.sections.values() for chart in charts if not chart.empty)

    @property
    def wide(self) -> bool:
        """Whether the map gets the whole width."""
        return self.run.map is None or self.run.map.width > WIDE * self.run.map.height


def render_page(results: Results, videos: Mapping[str, str] | None = None, notes: Sequence[str] = ()) -> str:
    """The whole page; ``videos`` maps names of films to addresses, ``notes`` say why some are missing."""
    videos = videos or {}
    pages = tuple(_run_page(f"run{index}", run, videos) for index, run in enumerate(results.runs))
    overall = safety_charts.safety_against_reward(results.runs) if len(results.runs) > 1 else None
    data = {
        "runs": [
            run_data(page.run, page.id, page.films) | {"charts": [chart.to_json() for chart in page.charts]}
            for page in pages
        ],
        "overall": overall.to_json() if overall and not overall.empty else None,
        "videos": dict(videos),
    }
    return (
        _environment()
        .get_template("report.html")
        .render(
            results=results,
            notes=notes,
            pages=pages,
            videos=videos,
            overall=overall,
            overview=safety_charts.overview_table(results.runs) if len(results.runs) > 1 else None,
            findings=[(finding.title, finding_blocks(finding)) for finding in results.findings],
            css=Markup(_asset("report.css")),
            script=Markup("".join(('"use strict";(() => {\n', _asset("charts.js"), _asset("report.js"), "})();"))),
            data=script_json(data),
        )
    )


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


def _run_page(name: str, run: RunResults, videos: Mapping[str, str]) -> RunPage:
    failing = [case for suite in run.suites for case in suite.cases if case.result.fails]
    films = {film: case for case in failing if (film := film_name(case)) in videos}
    return RunPage(id=name, run=run, verdicts=verdicts(run), sections=section_charts(run), films=films)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tightrope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=number, estimate=estimate_text, interval=interval_text)
    environment.tests["webp"] = lambda address: address.startswith("data:image/") or address.endswith(".webp")
    environment.globals.update(count=count)
    return environment


def _asset(name: str) -> str:
    return (resources.files("tightrope.report") / "assets" / name).read_text(encoding="utf-8")
