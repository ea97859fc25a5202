"""Charts of training: how checkpoints do over the steps, and which kinds of failure appear and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tightrope.report.charts.chart import Chart, Json, Table, chart_series, estimate_point, heat_view, plot_view
from tightrope.report.comparing import share_estimate
from tightrope.report.training import Checkpoint, FailureRow, History
from tightrope.report.wording import NO_DATA, estimate_text, number, percent
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task

PLAIN = "plain episodes: ends unsafe"
MOST_KINDS = 30
"""Kinds of failure that are drawn; the table has all of them."""


def training_charts(history: History, task: Task) -> tuple[Chart, ...]:
    """Rates over training, then the kinds of failure."""
    made = (_rates(history), _kinds(history, task))
    return tuple(chart for chart in made if not chart.empty)


def _rates(history: History) -> Chart:
    fails = [_line(history, suite, at, _fails_of(suite)) for at, suite in enumerate(history.suites)]
    plainly = _line(history, PLAIN, len(history.suites), _unsafe, dash=True)
    reward = _line(history, "plain episodes: mean return", 0, _return, share=False)
    risk = _line(history, "probability that an episode ends unsafe", 0, _risk)
    views = [
        _view("fail frequency", [*fails, plainly], share=True, domain=(0.0, 1.0)),
        _view("plain return", [reward], share=False),
        _view("risk in use", [risk], share=True),
    ]
    return Chart(
        id="training",
        kind="plot",
        title="Over training",
        views=tuple(view for view in views if view["series"]),
        table=_table(history),
        x_label="training step" if _has_steps(history) else "checkpoint, in order",
        note="Fail frequencies are on the cases of each suite; plain episodes show normal use.",
    )


def _view(label: str, series: Sequence[Json], *, share: bool, domain: tuple[float, float] | None = None) -> Json:
    known = [one for one in series if one["points"]]
    return plot_view(label, known, share=share, domain=domain, y=label)


def _line(
    history: History,
    name: str,
    colour: int,
    of: Callable[[Checkpoint], Estimate],
    *,
    share: bool = True,
    dash: bool = False,
) -> Json:
    points = [
        estimate_point(of(each), share=share, x=_at(history, place), title=f"{each.agent}, {name}")
        for place, each in enumerate(history.checkpoints)
    ]
    return chart_series(name, colour, points, mode="line", dash=dash)


def _has_steps(history: History) -> bool:
    return all(each.step is not None for each in history.checkpoints)


def _at(history: History, place: int) -> int:
    step = history.checkpoints[place].step
    return step if step is not None and _has_steps(history) else place + 1


def _fails_of(suite: str) -> Callable[[Checkpoint], Estimate]:
    return lambda each: each.fail_frequency(suite)


def _unsafe(each: Checkpoint) -> Estimate:
    return Estimate.of_nothing() if each.plain is None else each.plain.unsafe_rate


def _return(each: Checkpoint) -> Estimate:
    return Estimate.of_nothing() if each.plain is None else each.plain.mean_return


def _risk(each: Checkpoint) -> Estimate:
    return Estimate.of_nothing() if each.risk is None else each.risk.probability


def _table(history: History) -> Table:
    risky = any(each.risk is not None for each in history.checkpoints)
    suites = (f"fails on the cases of {suite}" for suite in history.suites)
    header = ("checkpoint", "step", "plain: ends unsafe", "plain: mean return", *suites, *(["risk in use"] * risky))
    rows = tuple(
        (
            each.agent,
            number(each.step),
            estimate_text(_unsafe(each)),
            estimate_text(_return(each), share=False),
            *(estimate_text(each.fail_frequency(suite)) for suite in history.suites),
            *([estimate_text(_risk(each))] * risky),
        )
        for each in history.checkpoints
    )
    return Table(header=header, rows=rows)


def _kinds(history: History, task: Task) -> Chart:
    names = [each.agent for each in history.checkpoints]
    steps = [number(each.step) if _has_steps(history) else each.agent for each in history.checkpoints]
    rows = [{"name": str(at), "text": kind_label(history, row)} for at, row in enumerate(history.failures[:MOST_KINDS])]
    columns = [{"name": name, "text": step} for name, step in zip(names, steps, strict=True)]
    cells = [
        _cell(history, row, str(at), place, task)
        for at, row in enumerate(history.failures[:MOST_KINDS])
        for place in range(len(names))
    ]
    more = len(history.failures) - MOST_KINDS
    return Chart(
        id="kinds",
        kind="heat",
        title="Kinds of failure that appear and go",
        said=(history.sentence(),),
        views=(heat_view("", rows, columns, cells),),
        table=_kinds_table(history, task),
        x_label="training step" if _has_steps(history) else "checkpoint",
        note=f"{number(more)} more are in the table." if more > 0 else "",
        options={"click": "place"},
    )


def kind_label(history: History, row: FailureRow) -> str:
    """A kind by the place and the case that stand for it."""
    case = row.group.representative.case
    return f"{'' if case.place is None else f'#{case.place} '}{history.name_of(row, 8)}"


def _cell(history: History, row: FailureRow, name: str, place: int, task: Task) -> Json:
    agent = history.checkpoints[place].agent
    return estimate_point(
        share_estimate(row.tested[place]),
        row=name,
        column=agent,
        place=row.group.representative.case.place,
        agent=agent,
        title=f"{agent}: {kind_label(history, row)}",
        note=row.group.sentence(task),
    )


def _kinds_table(history: History, task: Task) -> Table:
    names = [each.agent for each in history.checkpoints]
    header = ("case", "place", "appears at", "gone at", "avoidable", "why", *names)
    rows = tuple(
        (
            history.name_of(row),
            "" if row.group.representative.case.place is None else f"#{row.group.representative.case.place}",
            names[row.first],
            history.end_of(row),
            {True: "yes", False: "no", None: "not known"}[row.group.avoidable],
            row.group.sentence(task),
            *(NO_DATA if share is None else percent(share) for share in row.shares),
        )
        for row in history.failures
    )
    return Table(header=header, rows=rows)
