"""Which failures are filmed, and where the films are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from tightrope.errors import MissingExtra, TightropeError
from tightrope.reference import Survivability
from tightrope.report.films.video import film_failure, first_step
from tightrope.report.results import Results, RunResults
from tightrope.report.verdict import headline_suite
from tightrope.report.views import CaseView
from tightrope.report.wording import action_text, number
from tightrope.tasks.task import Task

POSTER = ".png"


@dataclass(frozen=True, kw_only=True)
class Films:
    """What came out: file name → content, and why anything did not."""

    content: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def captions(case: CaseView) -> list[str]:
    """What each frame of a case's film shows: the step, who plays, and what; the last is the moment of failing."""
    trace, names = case.failing_trace, case.suite.run.action_names
    if trace is None:
        return []
    told = []
    for step in range(first_step(case.handover), len(trace)):
        who = case.suite.agent if step >= case.handover else "before hand-over"
        told.append(f"step {number(step)} · {who}: {action_text(trace.actions[step], names)}")
    return [*told, f"step {number(len(trace))} · unsafe"]


def film_name(case: CaseView) -> str:
    """The name of a case's film, without its ending: the same whenever it is made."""
    parts = f"{case.suite.run.name}-{case.suite.agent}-{case.suite.name}-{case.id}"
    return re.sub(r"[^\w.-]+", "-", parts).strip("-")


def film_failures(
    results: Results, tasks: Sequence[Task], wanted: int, *, on_film: Callable[[], None] | None = None
) -> Films:
    """Film at most ``wanted`` failures, spread over agents and places; ``on_film`` is called after each."""
    by_label = {task.label: task for task in tasks}
    content: dict[str, bytes] = {}
    filmed = 0
    notes: dict[str, None] = {}
    for case in choose_shots(results):
        task, trace = by_label.get(case.suite.run.task.label), case.failing_trace
        if filmed >= wanted or task is None or trace is None:
            continue
        try:
            film = film_failure(task, trace, case.handover)
        except MissingExtra as error:
            return Films(notes=(str(error),))
        except TightropeError as error:
            notes[str(error)] = None
            continue
        if film is None:
            notes[f"Nothing can be seen of {task.label}: it renders no pictures and draws no map."] = None
            by_label.pop(task.label)
            continue
        content |= {film_name(case) + film.suffix: film.content, film_name(case) + POSTER: film.poster}
        filmed += 1
        if on_film is not None:
            on_film()
    return Films(content=content, notes=tuple(notes))


def choose_shots(results: Results) -> Iterator[CaseView]:
    """Every failure worth a film, best first: each agent in turn, each of its places before a second case."""
    queues = [_queue(run, agent.name) for run in results.runs for agent in run.agents]
    for round_of_shots in zip_longest(*queues):
        yield from (shot for shot in round_of_shots if shot is not None)


def _queue(run: RunResults, agent: str) -> list[CaseView]:
    own = [case for suite in run.suites if suite.agent == agent for case in suite.cases if case.result.fails]
    own.sort(key=_rank)
    places: set[int | None] = set()
    filmed: set[str] = set()
    first: list[CaseView] = []
    later: list[CaseView] = []
    for case in own:
        trace = case.failing_trace
        if trace is None or trace.id in filmed:  # the same case in another suite
            continue
        (later if case.place in places else first).append(case)
        places.add(case.place)
        filmed.add(trace.id)
    return first + later


def _rank(case: CaseView) -> tuple[bool, bool, bool, float, int]:
    """A fail that someone could have survived says more about the agent than one nobody could."""
    suite, survivable = case.suite, case.result.survivable
    aside = suite.name != headline_suite(suite.run) or survivable is Survivability.UNKNOWN
    rate = case.result.fail_frequency.value or 0.0
    return (suite.control, survivable is Survivability.NO, aside, -rate, case.handover)
