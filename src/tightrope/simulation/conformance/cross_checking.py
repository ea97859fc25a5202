"""Whether traces lead to the same places in another process: nothing may hang on this one alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from tightrope.display import Shown
from tightrope.errors import EnvironmentFailure, NotReproducible, TightropeError, UsageError
from tightrope.seeding import stable_hash
from tightrope.simulation.conformance.second_process import NoAnswer, ask_all, nurseries
from tightrope.simulation.conformance.trial_walk import Difference, leaves, shown_fact
from tightrope.simulation.player import TraceMoment, play
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import pack_snapshotters, unpack_snapshotters
from tightrope.tasks.observations import shown_mask
from tightrope.tasks.task import Task
from tightrope.tasks.travelling import TravellingTask
from tightrope.trace import ActionTrace

PROCESSES = 2
"""Of two words a set keeps the same order under half of all hash seeds, so one other process would often be blind."""
SECONDS = 1.0
"""How long another process may play; what it has no time for is not cross-checked, and counted so."""


class Sighting(NamedTuple):
    """One fact of a situation: a checksum that is the same in every process, and how it looks."""

    checksum: int
    text: str

    @classmethod
    def of(cls, value: Any) -> Sighting:
        """A value as a sighting."""
        return cls(stable_hash(value), shown_fact(value))


@dataclass(frozen=True, kw_only=True)
class ExpectedTrace:
    """A trace and what was seen along it, to be seen again elsewhere."""

    name: str
    """What to call it in a message."""
    trace: ActionTrace
    sightings: Mapping[int, Mapping[str, Sighting]]
    """By depth, then by name: "reward", "outcome", "state key", "observation…"."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CrossCheck(Shown):
    """How much was played again in other processes, and led to the same."""

    episodes: int = 0
    steps: int = 0
    """Of each of the other processes."""
    processes: int = 0
    skipped: str = ""
    """Why nothing was; empty where something was."""


class _Answer(NamedTuple):
    episodes: int
    steps: int
    name: str = ""
    difference: Difference | None = None


def cross_check(task: Task, traces: Sequence[ExpectedTrace], *, seconds: float = SECONDS) -> CrossCheck:
    """Play traces again in two processes with other hash seeds, one of them at another time of day.

    NotReproducible names the first step at which one of them sees something else. A task that cannot travel, or whose
    environment cannot be made there, is not cross-checked; ``skipped`` says why.
    """
    if not traces:
        return CrossCheck(skipped="there was nothing to play")
    try:
        arguments = TravellingTask.of(task), pack_snapshotters(), list(traces), seconds
        answers: list[_Answer] = ask_all(_played_again, arguments, seconds=seconds, count=PROCESSES)
    except (NoAnswer, UsageError) as error:
        return CrossCheck(skipped=str(error))
    for number, answer in enumerate(answers):
        if answer.difference is not None:
            raise NotReproducible(_refusal(task, answer, only_later=number == 1))
    least = min(answers, key=lambda answer: answer.steps)
    return CrossCheck(episodes=least.episodes, steps=least.steps, processes=len(answers))


def prepare_cross_check() -> None:
    """Start the other processes, so that they are ready when they are needed."""
    with suppress(NoAnswer):
        nurseries(PROCESSES)


def seen_along(simulator: Simulator, trace: ActionTrace, name: str) -> ExpectedTrace:
    """Play a trace and note everything that can be seen on the way."""
    sightings = {moment.depth: dict(_facts(simulator, moment)) for moment in play(simulator, trace)}
    return ExpectedTrace(name=name, trace=trace, sightings=sightings)


def _facts(simulator: Simulator, moment: TraceMoment) -> Iterator[tuple[str, Sighting]]:
    for what, value in leaves("observation", simulator.transition.observation):
        yield what, Sighting.of(value)
    mask = shown_mask(simulator.info)
    for what, value in [] if mask is None else leaves("action mask", mask):
        yield what, Sighting.of(value)
    yield "reward", Sighting.of(moment.reward)
    yield "outcome", Sighting.of(str(moment.outcome))
    yield "state key", Sighting.of(simulator.key())
    if simulator.task.identity is not None:
        yield "identity", Sighting.of(simulator.identity())


def _refusal(task: Task, answer: _Answer, *, only_later: bool) -> str:
    suspects = (
        "the clock (it agreed in a process with another hash seed, and not in one whose clock is a year ahead)"
        if only_later
        else "the order of a set, hash(), id(), the process id"
    )
    return (
        f"task {task.label} is refused, because nothing found in it could be found again elsewhere: {answer.name} was "
        f"played again in another process, and {answer.difference}. What decides is outside the environment: most "
        f"likely {suspects}; otherwise something that other episodes leave behind (an attribute of a class or a "
        f"module, a file), or a thread. Sort what comes from a set, and let reset(seed=…) set all the rest"
    )


# ---------------------------------------------------------------------------------------------- in the other process


def _played_again(
    travelling: TravellingTask, snapshotters: bytes, traces: Sequence[ExpectedTrace], seconds: float
) -> _Answer:
    task = travelling.arrived()
    unpack_snapshotters(snapshotters)
    steps, begun = 0, time.perf_counter()
    for number, expected in enumerate(traces):
        played, difference = _compared(task, expected, begun + seconds)
        steps += played
        if difference is not None:
            return _Answer(number, steps, expected.name, difference)
        if time.perf_counter() > begun + seconds:
            return _Answer(number + 1, steps)
    return _Answer(len(traces), steps)


def _compared(task: Task, expected: ExpectedTrace, deadline: float) -> tuple[int, Difference | None]:
    """Steps played in a new environment, and the first difference; past the deadline what was played counts."""
    env = task.open_env()
    depth = 0
    try:
        simulator = Simulator(task, env, None)
        for moment in play(simulator, expected.trace):
            depth = moment.depth
            difference = _difference(expected.sightings.get(depth, {}), dict(_facts(simulator, moment)), depth)
            if difference is not None or time.perf_counter() > deadline:
                return depth, difference
    except EnvironmentFailure as error:
        return depth, Difference("the environment", depth + 1, "a step", f"an error ({error})")
    except TightropeError as error:
        return depth, Difference("the task", depth + 1, "a step", f"an error ({error})")
    finally:
        env.close()
    return depth, None


def _difference(expected: Mapping[str, Sighting], found: Mapping[str, Sighting], step: int) -> Difference | None:
    for what, sighting in expected.items():
        other = found.get(what, Sighting(0, "missing"))
        if other.checksum != sighting.checksum:
            return Difference(what, step, sighting.text, other.text)
    return None
