"""Charts of step 4: the agent against the fuzz traces from longer and longer prefixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tightrope.performance import Comparison, Robustness
from tightrope.report.charts.chart import (
    MUTED,
    Chart,
    Json,
    Table,
    chart_series,
    estimate_point,
    plain_point,
    plot_view,
)
from tightrope.report.comparing import MANY
from tightrope.report.results import RunResults
from tightrope.report.wording import estimate_text, number
from tightrope.statistics.estimate import Estimate

PointMeasure: TypeAlias = Callable[[Comparison], tuple[Estimate, Estimate]]

RETURN = "mean return"
# name, whether it is a share, (agent, traces)
MEASURES: tuple[tuple[str, bool, PointMeasure], ...] = (
    (RETURN, False, lambda point: (point.agent, point.traces)),
    ("interquartile mean", False, lambda point: (point.agent_iqm, point.traces_iqm)),
    ("goals reached", True, lambda point: (point.agent_goal_share, point.traces_goal_share)),
)


def robust_performance(run: RunResults) -> tuple[Chart, ...]:
    """One chart per agent: what it and the traces make of longer and longer prefixes."""
    domain = _return_domain(run)
    return tuple(_performance_chart(run, agent, result, domain) for agent, result in run.performance.items())


def performance_table(run: RunResults) -> Table:
    """All agents in a line each: what they and the fuzz traces make of the same prefixes."""
    header = ("agent", "interquartile mean of its return", "of the fuzz traces'", "reaches the goal")
    rows = tuple(
        (
            agent,
            estimate_text(result.agent_iqm, share=False),
            estimate_text(result.traces_iqm, share=False),
            estimate_text(result.agent_goal_share),
        )
        for agent, result in run.performance.items()
    )
    return Table(header=header, rows=rows)


def _return_domain(run: RunResults) -> tuple[float, float] | None:
    bounds = [
        bound
        for result in run.performance.values()
        for point in result.points
        for estimate in (point.agent, point.traces)
        for bound in (estimate.value, estimate.low, estimate.high)
        if bound is not None
    ]
    return (min(0.0, *bounds), max(bounds)) if bounds else None


def _performance_chart(run: RunResults, agent: str, result: Robustness, domain: tuple[float, float] | None) -> Chart:
    names = [one.name for one in run.agents]
    place = names.index(agent)
    colour = place if len(names) < MANY else 0
    views = [_measure_view(run, result, colour, *measure, domain) for measure in MEASURES]
    return Chart(
        id=f"performance-{place}",
        kind="plot",
        title=agent,
        views=tuple(view for view in (*views, _difference_view(result, colour)) if view["series"]),
        table=_performance_table(result),
        x_label="length of the prefix (actions)",
        options={"compact": True, "link": "performance"},
    )


def _measure_view(
    run: RunResults,
    result: Robustness,
    colour: int,
    label: str,
    share: bool,
    measure: PointMeasure,
    domain: tuple[float, float] | None,
) -> Json:
    pairs = [(point.prefix_length, *measure(point)) for point in result.points]
    agent = [estimate_point(own, share=share, x=x) for x, own, _ in pairs]
    traces = [estimate_point(other, share=share, x=x) for x, _, other in pairs]
    published = _published_robust(run, result.agent, colour) if label == RETURN else []
    series = [
        chart_series("fuzz traces", MUTED, traces, mode="line"),
        chart_series(result.agent, colour, agent, mode="line"),
        *published,
    ]
    limits = (0.0, 1.0) if share else domain if label == RETURN else None
    drawn = [one for one in series if one["points"]]
    return plot_view(label, drawn, share=share, domain=limits, y=label)


def _difference_view(result: Robustness, colour: int) -> Json:
    gaps = [estimate_point(point.difference, share=False, x=point.prefix_length) for point in result.points]
    series = chart_series(f"{result.agent} minus traces", colour, gaps, mode="line")
    return plot_view("difference", [series] if series["points"] else [], y="difference")


def _performance_table(result: Robustness) -> Table:
    header = ("prefix", "agent", "fuzz traces", "difference", "agent IQM", "traces IQM", "agent goals", "traces goals")
    rows = tuple(
        (
            number(p.prefix_length),
            *(estimate_text(e, share=False) for e in (p.agent, p.traces, p.difference, p.agent_iqm, p.traces_iqm)),
            estimate_text(p.agent_goal_share),
            estimate_text(p.traces_goal_share),
        )
        for p in result.points
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
            [plain_point(y, source, share=False, x=x) for x, y in points],
            mode="line",
            hollow=True,
            dash=True,
        )
        for name, points in run.published.robust.items()
        if name == agent or name not in agents
    ]
