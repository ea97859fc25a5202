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
from tightrope.report.charts.chart import Chart, Json, estimate_point
from tightrope.report.results import CaseResult, Finding, Results, RunResults, SuiteResult
from tightrope.report.verdict import AgentVerdict, headline_suite, suite_names, verdicts
from tightrope.report.wording import actions_text, count, estimate_text, interval_text, number, percent
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
    films: tuple[Json, ...]
    wide: bool

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts that have something to draw."""
        return tuple(chart for charts in self.sections.values() for chart in charts if not chart.empty)


def render_page(results: Results, videos: Mapping[str, str] | None = None, notes: Sequence[str] = ()) -> str:
    """The whole page; ``videos`` maps file names to addresses, ``notes`` say why some are missing."""
    videos = videos or {}
    pages = tuple(_run_page(f"run{index}", run, videos) for index, run in enumerate(results.runs))
    overall = safety_charts.safety_against_reward(results.runs) if len(results.runs) > 1 else None
    data = {
        "runs": [_run_data(page) for page in pages],
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
    return RunPage(
        id=name,
        run=run,
        verdicts=verdicts(run),
        sections=section_charts(run),
        films=tuple(_film(suite, case) for suite in run.suites for case in suite.cases if case.video in videos),
        wide=run.map is None or run.map.width > WIDE * run.map.height,
    )


def _film(suite: SuiteResult, case: CaseResult) -> Json:
    return {
        "agent": suite.agent,
        "suite": suite.suite,
        "depth": case.depth,
        "label": case.label,
        "video": case.video,
        "image": str(case.video).endswith(".webp"),
        "fails": case.fails,
        "runs": case.fails + case.passes,
        "survivable": str(case.survivable),
    }


def _run_data(page: RunPage) -> Json:
    run = page.run
    return {
        "id": page.id,
        "agents": [agent.name for agent in run.agents],
        "suites": list(suite_names(run, controls=False)),
        "headline": headline_suite(run),
        "length": run.search.length if run.search else None,
        "states": _states(run),
        "map": _map(run),
        "results": [_suite_data(suite, run.task.action_names) for suite in run.suites if not suite.control],
        "charts": [chart.to_json() for chart in page.charts],
    }


def _states(run: RunResults) -> list[Json]:
    if run.search is None:
        return []
    return [
        {
            "depth": state.depth,
            "proven": state.proven,
            "pos": state.position,
            "evidence": ", ".join(f"{kind} ×{times}" for kind, times in state.evidence.items()),
            "actions": actions_text(state.actions, run.task.action_names),
        }
        for state in run.search.boundary_states
    ]


def _map(run: RunResults) -> Json | None:
    if run.map is None:
        return None
    return {
        "w": run.map.width,
        "h": run.map.height,
        "image": run.map.image,
        "reference": run.map.reference,
        "fuzz": run.map.fuzz,
    }


def _suite_data(suite: SuiteResult, names: tuple[str, ...]) -> Json:
    states = {
        state.depth: estimate_point(
            state.fail_frequency,
            s=estimate_text(state.survivable_fail_frequency),
            cases=state.cases,
            invalid=state.invalid,
            doomed=state.doomed,
        )
        for state in suite.boundary
    }
    return {
        "suite": suite.suite,
        "agent": suite.agent,
        "states": states,
        "cases": [_case_data(case, names) for case in suite.cases],
    }


def _case_data(case: CaseResult, names: tuple[str, ...]) -> list[Any]:
    """A list rather than an object: there are thousands of these."""
    witness = actions_text(case.witness, names) if case.witness is not None and case.fails else ""
    return [
        case.id,
        case.depth,
        case.handover,
        case.label,
        case.passes,
        case.fails,
        case.invalid,
        case.errors,
        str(case.survivable),
        estimate_text(case.mean_return, share=False),
        case.replay,
        case.video,
        witness,
        interval_text(case.fail_frequency),
    ]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tightrope.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=number, estimate=estimate_text, interval=interval_text)
    environment.globals.update(count=count)
    return environment


def _asset(name: str) -> str:
    return (resources.files("tightrope.report") / "assets" / name).read_text(encoding="utf-8")
