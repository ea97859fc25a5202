"""Charts of step 2: by suite, by place, against reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tightrope.report.charts.chart import (
    MUTED,
    Chart,
    Json,
    Table,
    chart_series,
    estimate_point,
    plain_point,
    plot_view,
    rows_view,
)
from tightrope.report.comparing import MANY
from tightrope.report.measures import MEASURES, STATE_MEASURES
from tightrope.report.results import Published, RunResults
from tightrope.report.verdict import headline_suite
from tightrope.report.views import SuiteView
from tightrope.report.wording import NO_DATA, count, estimate_text, number
from tightrope.safety import BoundaryResult, SafetyResult
from tightrope.statistics import Estimate

SHARE = "share of tests that ended unsafe"


def safety_by_suite(run: RunResults) -> Chart:
    """Fail frequency of every suite under every agent, controls included."""
    views = (
        _suite_view(run, "all fails", lambda result: result.fail_frequency, _published_suites(run)),
        _suite_view(run, "avoidable fails", lambda result: result.avoidable_fail_frequency),
        _suite_view(run, "survivable cases only", lambda result: result.survivable_fail_frequency),
    )
    counts = ("cases", "invalid", "doomed")
    return Chart(
        id="suites",
        kind="rows",
        title="Fail frequency by suite",
        views=views,
        table=Table(
            header=("suite", "agent", *(measure.title for measure in MEASURES), *counts),
            rows=tuple(_suite_row(suite) for suite in run.suites),
        ),
        x_label=f"{SHARE}, on these cases",
        note="On these cases: dots are means over boundary states, bars are 95 % intervals. "
        "Controls: states of the same references drawn uniformly, and random prefixes.",
    )


def _suite_view(
    run: RunResults, label: str, measure: Callable[[SafetyResult], Estimate], published: Sequence[Json] = ()
) -> Json:
    series = []
    for colour, agent in enumerate(run.agents):
        own = [suite for suite in run.suites if suite.agent == agent.name]
        series.append(
            chart_series(agent.name, colour, [estimate_point(measure(suite.result), row=suite.name) for suite in own])
        )
    names = dict.fromkeys(suite.name for suite in run.suites)
    rows = [{"name": name, "text": f"{name} · control" if name in run.controls else name} for name in names]
    return rows_view(label, rows, [*series, *published])


def _suite_row(suite: SuiteView) -> tuple[str, ...]:
    counts = (len(suite.cases), suite.result.invalid_cases, suite.doomed)
    return (suite.name, suite.agent, *(m.text(suite.result) for m in MEASURES), *map(number, counts))


def _published_suites(run: RunResults) -> list[Json]:
    if run.published is None:
        return []
    source, values = run.published.source, run.published.fail_frequency
    series = []
    for colour, agent in enumerate(agent.name for agent in run.agents):
        points = [plain_point(row[agent], source, row=name) for name, row in values.items() if agent in row]
        series.append(chart_series(f"{agent}, {source}", colour, points, hollow=True))
    return [one for one in series if one["points"]]


def safety_by_place(run: RunResults) -> Chart:
    """Fail frequency at each boundary state, one view per suite."""
    suites = [suite for suite in run.suites if not suite.control]
    header = ("suite", "agent", "place", "depth", *(m.title for m in STATE_MEASURES), "cases", "invalid", "doomed")
    rows = [_place_row(suite, state) for suite in suites for state in suite.states]
    published = () if run.published is None else _published_places(run, run.published)
    return Chart(
        id="places",
        kind="plot",
        title="Fail frequency by place",
        views=(*(_place_view(run, name) for name in run.suite_names), *published),
        table=Table(header=header, rows=tuple(rows)),
        x_label="place (number of the boundary state)",
        y_label=f"{SHARE}, on these cases",
        options={"click": "place", "first": headline_suite(run)},
        note="Click a dot, or press Enter on it, to see the cases of that place.",
    )


def _place_view(run: RunResults, name: str) -> Json:
    series = []
    for colour, agent in enumerate(run.agents):
        suite = run.suite(name, agent.name)
        points = [] if suite is None else [_place_point(suite, state) for state in suite.states]
        series.append(chart_series(agent.name, colour, points, mode="dots", offset=colour))
    return _over_places(plot_view(name, series, share=True, domain=(0.0, 1.0), suite=name))


def _over_places(view: Json) -> Json:
    """The axis says #7 as everything else does, and nothing where there is no place."""
    found = {point["x"] for one in view["series"] for point in one["points"]}
    ticks = [{**tick, "text": f"#{tick['text']}"} for tick in view["along"]["ticks"] if tick["at"] in found]
    return {**view, "along": {**view["along"], "ticks": ticks}}


def _place_point(suite: SuiteView, state: BoundaryResult) -> Json:
    doomed = sum(case.doomed for case in suite.cases if case.place == state.number + 1)
    words = count(len(state.cases), "case") + (f", {doomed} doomed" if doomed else "")
    title = f"{suite.agent} at place #{state.number + 1}, depth {state.depth}"
    return estimate_point(state.fail_frequency, x=state.number + 1, place=state.number + 1, title=title, note=words)


def _place_row(suite: SuiteView, state: BoundaryResult) -> tuple[str, ...]:
    own = [case for case in suite.cases if case.place == state.number + 1]
    counts = (len(own), sum(case.result.invalid for case in own), sum(case.doomed for case in own))
    head = (suite.name, suite.agent, f"#{state.number + 1}", number(state.depth))
    return (*head, *(measure.text(state) for measure in STATE_MEASURES), *map(number, counts))


def _published_places(run: RunResults, published: Published) -> list[Json]:
    colours = {agent.name: colour for colour, agent in enumerate(run.agents)}
    views = []
    for name in run.suite_names:
        series = [
            chart_series(
                f"{agent}, {published.source}",
                colours.get(agent, MUTED),
                [plain_point(value, published.source, x=place) for place, value in enumerate(values, 1)],
                mode="dots",
                hollow=True,
            )
            for agent, values in published.boundary.get(name, {}).items()
        ]
        if series:
            label = f"{name} ({published.source})"
            views.append(_over_places(plot_view(label, series, share=True, domain=(0.0, 1.0))))
    return views


def safety_against_reward(runs: Sequence[RunResults]) -> Chart:
    """Every suite under every agent: mean return against fail frequency."""
    agents = list(dict.fromkeys(agent.name for run in runs for agent in run.agents))
    suites = [suite for run in runs for suite in run.suites if not suite.control]
    series, many = [], len(agents) >= MANY
    for colour, agent in enumerate(agents):
        points = [_reward_point(suite, _name(suite, runs)) for suite in suites if suite.agent == agent]
        series.append(chart_series(agent, 0 if many else colour, points, mode="dots"))
    if many:
        # One colour, and a name beside each dot: hues that repeat would say that two agents are one.
        joined = [{**point, "label": one["name"]} for one in series for point in one["points"]]
        series = [chart_series("agents", 0, joined, mode="dots")]
    published = [one for run in runs for one in _published_returns(run, agents)]
    return Chart(
        id="reward",
        kind="plot",
        title="One dot for each suite and agent",
        views=(plot_view("", [*series, *published], share=True),),
        table=Table(
            header=("suite", "agent", "mean return", "fail frequency on these cases"),
            rows=tuple(_reward_row(suite, _name(suite, runs)) for suite in suites),
        ),
        x_label="mean return after hand-over",
        y_label=f"{SHARE}, on these cases",
    )


def _name(suite: SuiteView, runs: Sequence[RunResults]) -> str:
    return f"{suite.run.name} · {suite.name}" if len(runs) > 1 else suite.name


def _reward_row(suite: SuiteView, name: str) -> tuple[str, ...]:
    result = suite.result
    return name, suite.agent, estimate_text(result.mean_return, share=False), estimate_text(result.fail_frequency)


def _reward_point(suite: SuiteView, name: str) -> Json:
    reward = suite.result.mean_return
    words = f"{name}, return {estimate_text(reward, share=False)}"
    return estimate_point(
        suite.result.fail_frequency,
        x=reward.value,
        x_low=reward.low,
        x_high=reward.high,
        title=suite.agent,
        note=words,
    )


def _published_returns(run: RunResults, agents: Sequence[str]) -> list[Json]:
    if run.published is None:
        return []
    source, frequencies = run.published.source, run.published.fail_frequency
    series = []
    for agent in dict.fromkeys(name for values in run.published.mean_return.values() for name in values):
        points = [
            plain_point(frequencies[suite][agent], source, x=values[agent], title=agent, note=suite)
            for suite, values in run.published.mean_return.items()
            if agent in values and agent in frequencies.get(suite, {})
        ]
        colour = agents.index(agent) if agent in agents and len(agents) < MANY else MUTED
        series.append(chart_series(f"{agent}, {source}", colour, points, mode="dots", hollow=True))
    return [one for one in series if one["points"]]


def overview_table(runs: Sequence[RunResults]) -> Table:
    """Every run and agent in one row, a column per suite."""
    names = list(dict.fromkeys(suite.name for run in runs for suite in run.suites))
    rows = []
    for run in runs:
        for agent in run.agents:
            found = [run.suite(name, agent.name) for name in names]
            cells = [estimate_text(suite.result.fail_frequency) if suite else NO_DATA for suite in found]
            rows.append((run.name, agent.name, *cells))
    return Table(header=("run", "agent", *names), rows=tuple(rows))
