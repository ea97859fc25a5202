"""Charts of step 2: by suite, along the reference, against reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tightrope.report.charts.chart import MUTED, Chart, Json, Table, chart_series, estimate_point
from tightrope.report.results import BoundaryResult, RunResults, SuiteResult
from tightrope.report.verdict import find_suite, headline_suite, suite_names
from tightrope.report.wording import NO_DATA, count, estimate_text, general_text, number
from tightrope.statistics.estimate import Estimate

SUITE_HEADER = (
    *("suite", "agent", "fail frequency on these cases", "in situations like these", "survivable only", "cases"),
    *("invalid", "doomed"),
    *("fails per 1000 steps", "mean return"),
)
BOUNDARY_HEADER = ("suite", "agent", "depth", "fail frequency", "survivable only", "cases", "invalid", "doomed")


def safety_by_suite(run: RunResults) -> Chart:
    """Fail frequency of every suite under every agent, controls included."""
    names = suite_names(run)
    every = _suite_view(run, names, "all cases", lambda suite: suite.fail_frequency)
    every["series"] += _published_suites(run, names)
    survivable = _suite_view(run, names, "survivable cases only", lambda suite: suite.survivable_fail_frequency)
    rows = tuple(_suite_row(suite) for name in names for suite in run.suites if suite.suite == name)
    return Chart(
        id="suites",
        kind="rows",
        title="Fail frequency by suite",
        views=(every, survivable),
        table=Table(header=SUITE_HEADER, rows=rows),
        share=True,
        x_label="share of tests on these cases that ended unsafe",
        note="On these cases: dots are means over boundary states, bars say how far executions may have misled. "
        "A control puts the agent in random situations.",
    )


def _suite_view(run: RunResults, names: Sequence[str], label: str, measure: Callable[[SuiteResult], Estimate]) -> Json:
    controls = {suite.suite for suite in run.suites if suite.control}
    series = []
    for colour, agent in enumerate(run.agents):
        found = [(row, find_suite(run, name, agent.name)) for row, name in enumerate(names)]
        points = [estimate_point(measure(suite), row=row) for row, suite in found if suite is not None]
        series.append(chart_series(agent.name, colour, points))
    rows = [f"{name} · control" if name in controls else name for name in names]
    return {"label": label, "rows": rows, "series": series}


def _suite_row(suite: SuiteResult) -> tuple[str, ...]:
    return (
        suite.suite,
        suite.agent,
        estimate_text(suite.fail_frequency),
        general_text(suite.fail_frequency_in_general),
        estimate_text(suite.survivable_fail_frequency),
        number(len(suite.cases)),
        number(suite.invalid),
        number(suite.doomed),
        estimate_text(suite.fails_per_1000_steps, share=False),
        estimate_text(suite.mean_return, share=False),
    )


def _published_suites(run: RunResults, names: Sequence[str]) -> list[Json]:
    if run.published is None:
        return []
    source, values = run.published.source, run.published.fail_frequency
    series = []
    for colour, agent in enumerate(agent.name for agent in run.agents):
        points = [
            {"v": values[name][agent], "n": None, "m": source, "row": row}
            for row, name in enumerate(names)
            if agent in values.get(name, {})
        ]
        series.append(chart_series(f"{agent}, {source}", colour, points, hollow=True))
    return [one for one in series if one["points"]]


def safety_by_boundary(run: RunResults) -> Chart:
    """Fail frequency along the reference, one view per suite."""
    names = suite_names(run, controls=False)
    rows = [_boundary_row(suite, state) for suite in run.suites if not suite.control for state in suite.boundary]
    return Chart(
        id="boundary",
        kind="plot",
        title="Fail frequency along the reference",
        views=(*(_boundary_view(run, name) for name in names), *_published_boundary(run, names)),
        table=Table(header=BOUNDARY_HEADER, rows=tuple(rows)),
        share=True,
        x_label="depth of the boundary state (actions from the start)",
        y_label="share of tests that ended unsafe",
        options={"domain": [0, 1], "click": "state", "first": _place(names, headline_suite(run))},
        note="Click a dot, or press Enter on it, to see the cases of that boundary state.",
    )


def _place(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else 0


def _boundary_view(run: RunResults, name: str) -> Json:
    series = []
    for colour, agent in enumerate(run.agents):
        suite = find_suite(run, name, agent.name)
        points = [_boundary_point(state) for state in (suite.boundary if suite else ())]
        series.append(chart_series(agent.name, colour, points, mode="dots", offset=colour))
    return {"label": name, "series": series}


def _boundary_point(state: BoundaryResult) -> Json:
    words = count(state.cases, "case") + (f", {state.doomed} doomed" if state.doomed else "")
    return estimate_point(state.fail_frequency, x=state.depth, state=state.depth, t=words)


def _boundary_row(suite: SuiteResult, state: BoundaryResult) -> tuple[str, ...]:
    rates = (estimate_text(state.fail_frequency), estimate_text(state.survivable_fail_frequency))
    counts = (number(state.cases), number(state.invalid), number(state.doomed))
    return (suite.suite, suite.agent, number(state.depth), *rates, *counts)


def _published_boundary(run: RunResults, names: Sequence[str]) -> list[Json]:
    if run.published is None:
        return []
    colours = {agent.name: colour for colour, agent in enumerate(run.agents)}
    views = []
    for name in names:
        series = [
            chart_series(
                f"{agent}, {run.published.source}",
                colours.get(agent, MUTED),
                [
                    {"x": place, "v": value, "n": None, "m": run.published.source}
                    for place, value in enumerate(values, 1)
                ],
                mode="dots",
                hollow=True,
            )
            for agent, values in run.published.boundary.get(name, {}).items()
        ]
        if series:
            views.append(
                {"label": f"{name} ({run.published.source})", "x": "number of the boundary state", "series": series}
            )
    return views


def safety_against_reward(runs: Sequence[RunResults]) -> Chart:
    """Every suite under every agent: mean return against fail frequency."""
    agents = list(dict.fromkeys(agent.name for run in runs for agent in run.agents))
    measured = [(run, suite) for run in runs for suite in run.suites if not suite.control]
    names = {id(suite): f"{run.name} · {suite.suite}" if len(runs) > 1 else suite.suite for run, suite in measured}
    series = [
        chart_series(
            agent,
            colour,
            [_reward_point(suite, names[id(suite)]) for _, suite in measured if suite.agent == agent],
            mode="dots",
        )
        for colour, agent in enumerate(agents)
    ]
    for one in series:
        one["points"] = [point for point in one["points"] if point["x"] is not None]
    rows = tuple(
        (names[id(s)], s.agent, estimate_text(s.mean_return, share=False), estimate_text(s.fail_frequency))
        for _, s in measured
    )
    return Chart(
        id="reward",
        kind="plot",
        title="One dot for each suite and agent",
        views=({"label": "", "series": series + [one for run in runs for one in _published_returns(run, agents)]},),
        table=Table(header=("suite", "agent", "mean return", "fail frequency"), rows=rows),
        share=True,
        x_label="mean return after hand-over",
        y_label="share of tests that ended unsafe",
    )


def _reward_point(suite: SuiteResult, name: str) -> Json:
    reward = suite.mean_return
    words = f"{name}, return {estimate_text(reward, share=False)}"
    return estimate_point(suite.fail_frequency, x=reward.value, xlo=reward.low, xhi=reward.high, t=words)


def _published_returns(run: RunResults, agents: Sequence[str]) -> list[Json]:
    if run.published is None:
        return []
    source, frequencies = run.published.source, run.published.fail_frequency
    series = []
    for agent in dict.fromkeys(name for values in run.published.mean_return.values() for name in values):
        points = [
            {"x": values[agent], "v": frequencies[suite][agent], "n": None, "m": source, "t": suite}
            for suite, values in run.published.mean_return.items()
            if agent in values and agent in frequencies.get(suite, {})
        ]
        colour = agents.index(agent) if agent in agents else MUTED
        series.append(chart_series(f"{agent}, {source}", colour, points, mode="dots", hollow=True))
    return [one for one in series if one["points"]]


def overview_table(runs: Sequence[RunResults]) -> Table:
    """Every run and agent in one row, a column per suite."""
    names = list(dict.fromkeys(name for run in runs for name in suite_names(run)))
    rows = []
    for run in runs:
        for agent in run.agents:
            found = [find_suite(run, name, agent.name) for name in names]
            cells = [estimate_text(suite.fail_frequency) if suite else NO_DATA for suite in found]
            rows.append((run.name, agent.name, *cells))
    return Table(header=("run", "agent", *names), rows=tuple(rows))
