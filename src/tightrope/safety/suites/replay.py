"""Playing the reference again: it must lead where it led when the suite was made, and it vouches for its own cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace

from tightrope.errors import EnvironmentFailure, NotReproducible
from tightrope.execution import Engine
from tightrope.outcome import Outcome
from tightrope.safety.suites.suite import SuiteReference, TestSuite
from tightrope.seeding import stable_hash
from tightrope.simulation import Simulator, exploring, open_simulator, play
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

RESEED = 1 << 20
"""Where the seeds begin that a task without randomness must not care for."""


@dataclass(frozen=True, kw_only=True)
class ReplayedTrace:
    """Where a trace led."""

    keys: tuple[int, ...]
    """Hashes of the state keys s0 … sn."""
    outcome: Outcome
    error: str | None = None


def replay_trace(task: Task, trace: ActionTrace) -> ReplayedTrace:
    """Play a trace with its own randomness, in an environment of its own."""
    return _replayed(exploring(task), trace)


def replay_reseeded(task: Task, trace: ActionTrace) -> ReplayedTrace:
    """Play a trace with randomness that a task without any must not care for.

    This is the test under fresh seeds itself: that something else could have been drawn is no reason for another, which
    would take nine times as long.
    """
    return _replayed(closing(open_simulator(task)), trace)


def _replayed(opened: AbstractContextManager[Simulator], trace: ActionTrace) -> ReplayedTrace:
    keys = list[int]()
    with opened as simulator:
        try:
            for _ in play(simulator, trace):
                keys.append(stable_hash(simulator.key()))
        except EnvironmentFailure as failure:
            return ReplayedTrace(keys=tuple(keys), outcome=simulator.outcome, error=str(failure))
        return ReplayedTrace(keys=tuple(keys), outcome=simulator.outcome)


def replayed_reference(engine: Engine, suite: TestSuite, *, allow_changed: bool = False) -> ReplayedTrace | None:
    """The suite's reference played again; None when it has none, or leads elsewhere and that is allowed.

    By ``map`` and not by ``run``: an engine that answers finished rollouts from a store would vouch for the environment
    of the day it stored them.
    """
    if not suite.cases or not suite.checksums:
        return None
    _at_once(engine, replay_trace, [way.actions for way in suite.ways])
    again = [_followed(engine, suite, way, allow_changed=allow_changed) for way in suite.ways]
    return again[0]


def played_again(engine: Engine, way: SuiteReference) -> ReplayedTrace:
    """Where a reference leads now; played once for all who share the engine."""
    [again] = _at_once(engine, replay_trace, [way.actions])
    return again


def _at_once(
    engine: Engine, how: Callable[[Task, ActionTrace], ReplayedTrace], traces: Sequence[ActionTrace]
) -> list[ReplayedTrace]:
    """Where traces lead, those that nobody asked for before played side by side."""
    known: dict[ActionTrace, ReplayedTrace] = engine.once(("replays", how.__name__), dict)
    new = [trace for trace in dict.fromkeys(traces) if trace not in known]
    known.update(zip(new, engine.map(how, new) if new else (), strict=True))
    return [known[trace] for trace in traces]


def _followed(engine: Engine, suite: TestSuite, way: SuiteReference, *, allow_changed: bool) -> ReplayedTrace | None:
    again = played_again(engine, way)
    parted = _first_difference(again.keys, way.checksums)
    if parted is None:
        return again
    if allow_changed:
        return None
    raise NotReproducible(
        f"the environment has changed since the suite {suite.name!r} was made: after {parted} of the "
        f"{len(way.actions)} reference actions the task {suite.task!r} is in another situation than before"
        f"{f' ({again.error})' if again.error else ''}. Search again and make a new suite, or give allow_changed=True "
        f"to test anyway"
    )


def _first_difference(keys: tuple[int, ...], checksums: tuple[int, ...]) -> int | None:
    for depth, checksum in enumerate(checksums):
        if depth >= len(keys) or keys[depth] != checksum:
            return depth
    return None


def parts_under_reseeding(engine: Engine, suite: TestSuite) -> int | None:
    """After how many steps a reference goes another way under fresh randomness; None where none ever does."""
    reseeded = [
        replace(way.actions, reseeds=tuple((depth, RESEED + depth) for depth in range(len(way.actions))))
        for way in suite.ways
    ]
    for way, again in zip(suite.ways, _at_once(engine, replay_reseeded, reseeded), strict=True):
        parted = _first_difference(again.keys, played_again(engine, way).keys)
        if parted is not None:
            return parted
    return None
