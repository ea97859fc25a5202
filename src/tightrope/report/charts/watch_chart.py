"""The chart of step 2 that says how long to watch: fail frequency over the steps after hand-over."""

from __future__ import annotations

from tightrope.report.charts.chart import Chart, Json, Table, chart_series, estimate_point, heat_view, plot_view
from tightrope.report.comparing import MANY, agents_in_order
from tightrope.report.results import RunResults
from tightrope.report.verdict import headline_suite
from tightrope.report.wording import estimate_text, number

SHARE = "share of tests that ended unsafe"


def safety_over_length(run: RunResults) -> Chart:
    """Fail frequency had each case been watched for less, one view per suite."""
    suites = [suite for suite in run.suites if not suite.control]
    rows = [
        (suite.name, suite.agent, number(length), estimate_text(each))
        for suite in suites
        for length, each in suite.result.fail_frequency_over_length.items()
    ]
    watched = dict.fromkeys((suite.result.length, suite.result.watch) for suite in suites)
    said = " ".join(f"Watched for {number(steps)} steps{f': {why}' if why else ''}." for steps, why in watched)
    many = len(run.agents) >= MANY
    return Chart(
        id="watch",
        kind="heat" if many else "plot",
        title="Fail frequency over the watch length",
        views=tuple(_length_grid(run, name) if many else _length_view(run, name) for name in run.suite_names),
        table=Table(header=("suite", "agent", "steps", "fail frequency on these cases"), rows=tuple(rows)),
        x_label="steps watched after hand-over",
        y_label=f"{SHARE}, on these cases",
        note=f"{said} The same executions, judged at every length; where a line is flat, nothing more happened. Each "
        "interval holds for its own length.",
        options={"first": headline_suite(run)},
    )


def _length_grid(run: RunResults, name: str) -> Json:
    """More lines than can be told apart become rows of a grid."""
    agents = agents_in_order(run)
    found = {agent: suite.result.fail_frequency_over_length for agent in agents if (suite := run.suite(name, agent))}
    lengths = sorted({length for curve in found.values() for length in curve})
    cells = [
        estimate_point(each, row=agent, column=str(length), title=f"{agent}, watched for {number(length)} steps")
        for agent, curve in found.items()
        for length, each in curve.items()
    ]
    columns = [{"name": str(length), "text": number(length)} for length in lengths]
    return heat_view(name, [{"name": agent, "text": agent} for agent in agents], columns, cells, suite=name)


def _length_view(run: RunResults, name: str) -> Json:
    series = []
    for colour, agent in enumerate(run.agents):
        suite = run.suite(name, agent.name)
        curve = {} if suite is None else suite.result.fail_frequency_over_length
        points = [
            estimate_point(each, x=length, title=f"{agent.name}, watched for {number(length)} steps")
            for length, each in curve.items()
        ]
        series.append(chart_series(agent.name, colour, points, mode="line", steps=True))
    return plot_view(name, series, share=True, domain=(0.0, 1.0), suite=name)
