"""Charts of step 4: the agent against the fuzz traces from ever longer prefixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tightrope.report.charts.chart import MUTED, Chart, Json, Table, chart_series, estimate_point
from tightrope.report.results import PerformancePoint, PerformanceSummary, RunResults
from tightrope.report.wording import estimate_text, number
from tightrope.statistics.estimate import Estimate

Measure: TypeAlias = Callable[[PerformancePoint], tuple[Estimate, Estimate]]

# name, whether it is a share, (agent, traces)
MEASURES: tuple[tuple[str, bool, Measure], ...] = (
    ("mean return", False, lambda point: (point.agent, point.traces)),
    ("interquartile mean", False, lambda point: (point.agent_iqm, point.traces_iqm)),
    ("goals reached", True, lambda point: (point.agent_goal_share, point.traces_goal_share)),
)


def robust_performance(run: RunResults) -> tuple[Chart, ...]:
    """One chart per agent: what it and the traces make of ever longer prefixes."""
    domain = _return_domain(run)
    return tuple(_performance_chart(run, index, summary, domain) for index, summary in enumerate(run.performance))


def _return_domain(run: RunResults) -> list[float] | None:
    bounds = [
        bound
        for summary in run.performance
        for point in summary.points
        for estimate in (point.agent, point.traces)
        for bound in (estimate.value, estimate.low, estimate.high)
        if bound is not None
    ]
    return [min(0.0, *bounds), max(bounds)] if bounds else None


def _performance_chart(run: RunResults, index: int, summary: PerformanceSummary, domain: list[float] | None) -> Chart:
    colour = next((place for place, agent in enumerate(run.agents) if agent.name == summary.agent), 0)
    views = [_measure_view(run, summary, colour, *measure, domain) for measure in MEASURES]
    return Chart(
        id=f"performance-{index}",
        kind="plot",
        title=summary.agent,
        views=tuple(view for view in (*views, _difference_view(summary, colour)) if view["series"]),
        table=_performance_table(summary),
        x_label="length of the prefix (actions)",
        options={"compact": True, "link": "performance"},
    )


def _measure_view(
    run: RunResults,
    summary: PerformanceSummary,
    colour: int,
    label: str,
    share: bool,
    measure: Measure,
    domain: list[float] | None,
) -> Json:
    pairs = [(point.prefix_length, *measure(point)) for point in summary.points]
    agent = chart_series(summary.agent, colour, [estimate_point(own, x=x) for x, own, _ in pairs], mode="line")
    traces = chart_series("fuzz traces", MUTED, [estimate_point(other, x=x) for x, _, other in pairs], mode="line")
    plain = label == "mean return"
    published = _published_robust(run, summary.agent, colour) if plain else []
    series = [one for one in (traces, agent, *published) if one["points"]]
    return {"label": label, "share": share, "domain": [0, 1] if share else domain if plain else None, "series": series}


def _difference_view(summary: PerformanceSummary, colour: int) -> Json:
    gaps = [estimate_point(point.difference, x=point.prefix_length) for point in summary.points]
    series = chart_series(f"{summary.agent} minus traces", colour, gaps, mode="line")
    return {"label": "difference", "share": False, "series": [series] if series["points"] else []}


def _performance_table(summary: PerformanceSummary) -> Table:
    header = ("prefix", "agent", "fuzz traces", "difference", "agent IQM", "traces IQM", "agent goals", "traces goals")
    rows = tuple(
        (
            number(p.prefix_length),
            *(estimate_text(e, share=False) for e in (p.agent, p.traces, p.difference, p.agent_iqm, p.traces_iqm)),
            estimate_text(p.agent_goal_share),
            estimate_text(p.traces_goal_share),
        )
        for p in summary.points
    )
    return Table(header=header, rows=rows)


def _published_robust(run: RunResults, agent: str, colour: int) -> list[Json]:
    if run.published is None:
        return []
    agents = {one.name for one in run.agents}
    source = run.published.source
    return [
        chart_series(
            f"{name}, {source}",
            colour if name == agent else MUTED,
            [{"x": x, "v": y, "n": None, "m": source} for x, y in points],
            mode="line",
            hollow=True,
            dash=True,
        )
        for name, points in run.published.robust.items()
        if name == agent or name not in agents
    ]
