"""Which failures are filmed, and where the films are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from tightrope.errors import MissingExtra, NotReproducible
from tightrope.reference import Survivability
from tightrope.report.films.video import film_failure
from tightrope.report.results import CaseResult, Results, RunResults, SuiteResult
from tightrope.report.verdict import headline_suite
from tightrope.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A failure to film: where in the results it is."""

    run: int
    suite: int
    case: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Films:
    """What came out: file name → content, and why anything did not."""

    results: Results
    """The results with the file names in them."""
    content: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def film_failures(results: Results, tasks: Sequence[Task], wanted: int) -> Films:
    """Film at most ``wanted`` failures, spread over agents and boundary states."""
    by_label = {task.label: task for task in tasks}
    content: dict[str, bytes] = {}
    names: dict[tuple[int, int, int], str] = {}
    notes: dict[str, None] = {}
    for shot in choose_shots(results):
        task = by_label.get(results.runs[shot.run].task.label)
        if len(content) >= wanted or task is None:
            continue
        case = results.runs[shot.run].suites[shot.suite].cases[shot.case]
        try:
            film = film_failure(task, case.failing_trace, case.handover) if case.failing_trace is not None else None
        except MissingExtra as error:
            return Films(results=results, notes=(str(error),))
        except NotReproducible as error:
            notes[str(error)] = None
            continue
        if film is None:
            notes[f"Nothing can be seen of {task.label}: it renders no pictures and draws no map."] = None
            by_label.pop(task.label)
            continue
        names[shot.run, shot.suite, shot.case] = shot.name + film.suffix
        content[shot.name + film.suffix] = film.content
    return Films(results=_with_names(results, names), content=content, notes=tuple(notes))


def choose_shots(results: Results) -> Iterator[Shot]:
    """Every failure worth a film, best first: each agent in turn, each of its boundary states before a second case."""
    queues = [_queue(index, run, agent.name) for index, run in enumerate(results.runs) for agent in run.agents]
    for round_of_shots in zip_longest(*queues):
        yield from (shot for shot in round_of_shots if shot is not None)


def _queue(index: int, run: RunResults, agent: str) -> list[Shot]:
    found = [
        (suite_index, suite, case_index, case)
        for suite_index, suite in enumerate(run.suites)
        if suite.agent == agent
        for case_index, case in enumerate(suite.cases)
        if case.failing_trace is not None
    ]
    found.sort(key=lambda entry: _rank(run, entry[1], entry[3]))
    depths: set[int | None] = set()
    filmed: set[str] = set()
    first: list[Shot] = []
    later: list[Shot] = []
    for suite_index, suite, case_index, case in found:
        if case.failing_trace is None or case.failing_trace.id in filmed:  # the same case in another suite
            continue
        name = re.sub(r"[^\w.-]+", "-", f"{run.name}-{agent}-{suite.suite}-{case.id}").strip("-")
        shot = Shot(run=index, suite=suite_index, case=case_index, name=name)
        (later if case.depth in depths else first).append(shot)
        depths.add(case.depth)
        filmed.add(case.failing_trace.id)
    return first + later


def _rank(run: RunResults, suite: SuiteResult, case: CaseResult) -> tuple[bool, bool, bool, float, int]:
    """A fail that someone could have survived says more about the agent than one nobody could."""
    doomed = case.survivable is Survivability.NO
    unknown = case.survivable is Survivability.UNKNOWN
    rate = case.fail_frequency.value or 0.0
    return (suite.control, doomed, suite.suite != headline_suite(run) or unknown, -rate, case.handover)


def _with_names(results: Results, names: Mapping[tuple[int, int, int], str]) -> Results:
    if not names:
        return results
    runs = []
    for run_index, run in enumerate(results.runs):
        suites = []
        for suite_index, suite in enumerate(run.suites):
            cases = tuple(
                replace(case, video=names.get((run_index, suite_index, case_index)))
                for case_index, case in enumerate(suite.cases)
            )
            suites.append(replace(suite, cases=cases))
        runs.append(replace(run, suites=tuple(suites)))
    return replace(results, runs=tuple(runs))
