"""Agents beside each other: two or three as pairs, place by place; more as a grid of agents and situations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tightrope.report.charts.chart import Chart, Json, Table, chart_series, estimate_point, heat_view, rows_view
from tightrope.report.comparing import (
    MANY,
    Change,
    agents_in_order,
    compared,
    compared_plainly,
    compared_text,
    home_suites,
    kind_changes,
    kind_name,
    kind_place,
    kind_shares,
    pairs,
    place_changes,
    plain_text,
)
from tightrope.report.measures import MEASURES
from tightrope.report.results import RunResults
from tightrope.report.training import are_checkpoints
from tightrope.report.verdict import headline_suite
from tightrope.report.wording import count, estimate_text, listed, number, percent
from tightrope.safety import SafetyResult
from tightrope.statistics import Estimate

KINDS = "kinds of failure"
MOST_ROWS = 40
"""Lines of a pair that are drawn; the table has all of them."""
MOST_COLUMNS = 60
"""Situations of a grid that are drawn; the table has all of them."""
MOST_NAMED = 3
"""Agents that are named one by one where they are equal."""
SHARE = "share of tests that ended unsafe, on these cases"
SHARE_OF_A_KIND = "share of the tests in the cases of a kind that ended unsafe in this way"


def agents_compared(run: RunResults) -> tuple[Chart, ...]:
    """One chart for each of two or three against the first; one grid of all from four agents on."""
    if len(run.agents) >= MANY:
        return (agents_by_situation(run),)
    return tuple(_pair_chart(run, index, a, b) for index, (a, b) in enumerate(pairs(run), 1))


def _pair_chart(run: RunResults, index: int, a: str, b: str) -> Chart:
    by_suite = {name: place_changes(run, name, a, b) for name in run.suite_names}
    changes = {**by_suite, KINDS: kind_changes(run, a, b)}
    views = [_pair_view(label, found, (a, b), index) for label, found in changes.items() if found]
    plain = compared_plainly(run, a, b)
    texts = [compared(run, name, a, b) for name in run.suite_names]
    return Chart(
        id=f"pair-{index}",
        kind="rows",
        title=f"{b} against {a}",
        said=(
            *(() if plain is None else (plain_text(plain),)),
            *(compared_text(found, plain) for found in texts if found is not None),
        ),
        views=tuple(views),
        table=_pair_table(changes, a, b),
        x_label=SHARE,
        note="One line for each place, new fails first. Places where neither fails are in the table only.",
        options={"joined": True, "click": "place", "first": headline_suite(run)},
        nothing="Neither fails at any place." if any(by_suite.values()) else "no data",
    )


def _pair_view(label: str, changes: Sequence[Change], agents: tuple[str, str], colour: int) -> Json:
    drawn = [(f"{at}", each) for at, each in enumerate(changes) if each.before.value or each.now.value][:MOST_ROWS]
    rows = [
        {
            "name": at,
            "text": each.name,
            "what": each.what,
            "tone": each.tone,
            "place": each.place,
            "suite": each.suite,
            "agent": agents[1],
        }
        for at, each in drawn
    ]
    series = [
        chart_series(
            agent,
            number_,
            [_change_point(at, each, each.now if number_ else each.before) for at, each in drawn],
            hollow=not number_,
        )
        for agent, number_ in zip(agents, (0, colour), strict=True)
    ]
    return rows_view(label, rows, series, **({"x": SHARE_OF_A_KIND} if label == KINDS else {}))


def _change_point(row: str, change: Change, share: Estimate) -> Json:
    return estimate_point(
        share, row=row, place=change.place, suite=change.suite, note=f"{change.what} · {change.about}"
    )


def _pair_table(changes: dict[str, list[Change]], a: str, b: str) -> Table:
    header = ("in", "where", a, b, "what became of it")
    rows = tuple(
        (label, each.name, estimate_text(each.before), estimate_text(each.now), each.what)
        for label, found in changes.items()
        for each in found
    )
    return Table(header=header, rows=rows)


def agents_by_situation(run: RunResults) -> Chart:
    """How often each agent fails at each place of each suite, and in each way."""
    agents = agents_in_order(run)
    views = [_places_view(run, name, agents) for name in run.suite_names]
    if run.kinds and not are_checkpoints(agents):
        views.append(_kinds_view(run, agents))
    most = max((len(view["columns"]) for view in views), default=0)
    left_out = (
        "" if most < MOST_COLUMNS else f" Only the {MOST_COLUMNS} where agents fail most are drawn; the table has all."
    )
    return Chart(
        id="situations",
        kind="heat",
        title="Agents and situations",
        said=tuple(_least_and_most(run)),
        views=tuple(views),
        table=_situations_table(run, agents),
        x_label="place (number of the boundary state)",
        note=f"A line for each agent, a column for each place. Click a cell to see its cases.{left_out}",
        options={"click": "place", "first": headline_suite(run)},
    )


def _least_and_most(run: RunResults) -> Iterator[str]:
    """Who fails least and who most in each suite; in the order of the agents where some are equal."""
    for name in run.suite_names:
        found = {suite.agent: suite.result.fail_frequency.value for suite in run.measured if suite.name == name}
        shares = {agent: share for agent, share in found.items() if share is not None}
        if len(shares) < 2:
            continue
        least, most = min(shares.values()), max(shares.values())
        if least == most:
            yield f"{name}: all {len(shares)} agents fail in {percent(least)} of the tests"
            continue
        best, worst = ([agent for agent, share in shares.items() if share == end] for end in (least, most))
        yield f"{name}: {_who(best)} least often ({percent(least)}), {_who(worst)} most often ({percent(most)})"


def _who(agents: Sequence[str]) -> str:
    """``late fails``, ``early and late fail``; of many only how many they are."""
    if len(agents) > MOST_NAMED:
        return f"{len(agents)} agents fail"
    return f"{listed(agents)} {'fails' if len(agents) == 1 else 'fail'}"


def _places_view(run: RunResults, name: str, agents: Sequence[str]) -> Json:
    cells: list[Json] = []
    for agent in agents:
        suite = run.suite(name, agent)
        for state in () if suite is None else suite.states:
            place = state.number + 1
            cells.append(
                estimate_point(
                    state.fail_frequency,
                    row=agent,
                    column=str(place),
                    place=place,
                    agent=agent,
                    title=f"{agent} at place #{place}",
                    note=count(len(state.cases), "case"),
                )
            )
    columns = [{"name": place, "text": f"#{place}"} for place in most_telling(cells)]
    drawn = {column["name"] for column in columns}
    return heat_view(name, _rows(agents), columns, [cell for cell in cells if cell["column"] in drawn], suite=name)


def most_telling(cells: Sequence[Json]) -> list[str]:
    """The columns in order; of too many those with the most fails."""
    sums: dict[str, float] = {}
    for cell in cells:
        sums[cell["column"]] = sums.get(cell["column"], 0.0) + (cell["value"] or 0.0)
    kept = sorted(sums, key=lambda name: -sums[name])[:MOST_COLUMNS]
    return sorted(kept, key=int)


def _kinds_view(run: RunResults, agents: Sequence[str]) -> Json:
    kinds, homes = run.kinds[:MOST_COLUMNS], home_suites(run)
    columns = [{"name": str(at), "text": kind_place(kind)} for at, kind in enumerate(kinds)]
    cells = [
        estimate_point(
            share,
            row=agent,
            column=str(at),
            place=kind.representative.case.place,
            suite=homes.get(id(kind.representative)),
            agent=agent,
            title=f"{agent}: {kind_name(run, kind)}",
            note=kind.sentence(run.task),
        )
        for agent in agents
        for at, (kind, share) in enumerate(zip(kinds, kind_shares(run, agent), strict=False))
    ]
    return heat_view(KINDS, _rows(agents), columns, cells, x=f"{KINDS}, by the place of a fail that stands for them")


def _rows(names: Sequence[str]) -> list[Json]:
    return [{"name": name, "text": name} for name in names]


def _situations_table(run: RunResults, agents: Sequence[str]) -> Table:
    rows = []
    for name in run.suite_names:
        found = {agent: suite.states for agent in agents if (suite := run.suite(name, agent)) is not None}
        places = sorted({state.number for states in found.values() for state in states})
        for place in places:
            shares = {agent: s.fail_frequency for agent, states in found.items() for s in states if s.number == place}
            texts = (estimate_text(shares.get(agent, Estimate.of_nothing())) for agent in agents)
            rows.append((name, f"#{place + 1}", *texts))
    return Table(header=("suite", "place", *agents), rows=tuple(rows))


def agents_by_suite(run: RunResults) -> Chart:
    """Fail frequency of every suite under every agent as a grid, controls included."""
    names = list(dict.fromkeys(suite.name for suite in run.suites))
    agents = agents_in_order(run)
    columns = [{"name": name, "text": f"{name} · control" if name in run.controls else name} for name in names]

    def view(label: str, measure: Callable[[SafetyResult], Estimate]) -> Json:
        cells = [
            estimate_point(
                measure(suite.result), row=suite.agent, column=suite.name, title=f"{suite.agent}, {suite.name}"
            )
            for suite in run.suites
        ]
        return heat_view(label, _rows(agents), columns, cells)

    counts = ("cases", "invalid", "doomed")
    order = {agent: at for at, agent in enumerate(agents)}
    return Chart(
        id="suites",
        kind="heat",
        title="Fail frequency by suite",
        views=(
            view("all fails", lambda result: result.fail_frequency),
            view("avoidable fails", lambda result: result.avoidable_fail_frequency),
            view("survivable cases only", lambda result: result.survivable_fail_frequency),
        ),
        table=Table(
            header=("suite", "agent", *(measure.title for measure in MEASURES), *counts),
            rows=tuple(
                (
                    suite.name,
                    suite.agent,
                    *(measure.text(suite.result) for measure in MEASURES),
                    *map(number, (len(suite.cases), suite.result.invalid_cases, suite.doomed)),
                )
                for suite in sorted(run.suites, key=lambda suite: order[suite.agent])
            ),
        ),
        x_label="suite",
        note="Controls: states of the same references drawn uniformly, and random prefixes.",
    )
