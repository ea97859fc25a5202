"""Opening a task's environment with the best way to save it that is exact."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from weakref import WeakKeyDictionary

from tightrope.simulation.conformance.examination import A_MOMENT, REPLAY, Conformance, examine
from tightrope.simulation.forking.environment import ForkedEnv
from tightrope.simulation.fresh_seeds import WarySimulator, fresh_seeds_of
from tightrope.simulation.short_cut import speed_up_spaces
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import find_snapshotter
from tightrope.simulation.snapshots.layers import environment_layers, speed_up_attributes
from tightrope.tasks.task import Task

LOG = logging.getLogger("tightrope")

_verdicts: WeakKeyDictionary[Task, Conformance] = WeakKeyDictionary()
_seen_stochastic: WeakKeyDictionary[Task, str] = WeakKeyDictionary()
"""Tasks that were seen to be stochastic where a check does not come, and where that was."""


def open_simulator(task: Task, conformance: Conformance | None = None) -> Simulator:
    """A simulator of a new environment of the task, saved in the fastest way that was shown exact.

    Args:
        task: Whose environment to open.
        conformance: What another process found out about the task; without it the check is made on the first opening.
    """
    return _opened(Simulator, task, conformance_of(task, conformance))


@contextmanager
def exploring(task: Task) -> Iterator[Simulator]:
    """A simulator to explore in, closed at the end.

    Where the task counts as deterministic and something was drawn on a way, that way is played again under fresh seeds
    at the end; RandomnessMet when it leads elsewhere.
    """
    found = conformance_of(task)
    simulator = _opened(WarySimulator if found.deterministic else Simulator, task, found)
    try:
        yield simulator
        if isinstance(simulator, WarySimulator):
            for trace in tuple(simulator.suspects):
                fresh_seeds_of(task).doubt(simulator, trace)
    finally:
        simulator.close()


def _opened(kind: type[Simulator], task: Task, conformance: Conformance) -> Simulator:
    if conformance.forking is not None:
        return kind(task, ForkedEnv(task, conformance.forking), None, watched=conformance.deterministic)
    env = task.open_env()
    layers = environment_layers(env)
    speed_up_attributes(layers)
    speed_up_spaces(layers)
    snapshotter = None if conformance.method == REPLAY else find_snapshotter(conformance.method)(env)
    return kind(task, env, snapshotter, watched=conformance.deterministic)


def check_task(task: Task, *, seconds: float = A_MOMENT) -> Conformance:
    """Find the fastest exact way to save the task's environments; NotReproducible when not even replay is exact.

    Args:
        task: Whose environments to try.
        seconds: How long to look for randomness that comes late. Fast environments need less than the default.
    """
    _verdicts[task] = _as_was_seen(task, examine(task, seconds))
    return _verdicts[task]


def turn_stochastic(task: Task, seen: str) -> Conformance:
    """Take a task for stochastic from now on, because of what was seen."""
    if conformance_of(task).deterministic:
        LOG.warning(
            "task %s is not deterministic: %s. It is now executed with fresh randomness throughout", task.label, seen
        )
        remember_stochastic(task, seen)
    return _verdicts[task]


def remember_stochastic(task: Task, seen: str) -> None:
    """A task turned stochastic earlier, which holds whatever a check finds."""
    _seen_stochastic[task] = seen
    if task in _verdicts:
        _verdicts[task] = _as_was_seen(task, _verdicts[task])


def is_known_stochastic(task: Task) -> bool:
    """Whether the task is stochastic, as far as anybody has looked."""
    return task in _verdicts and not _verdicts[task].deterministic


def _as_was_seen(task: Task, found: Conformance) -> Conformance:
    seen = _seen_stochastic.get(task)
    if seen is None or not found.deterministic:
        return found
    notes = (*found.notes, f"not deterministic: {seen}")
    return replace(found, deterministic=False, dynamics_evidence=seen, notes=notes)


def conformance_of(task: Task, known: Conformance | None = None) -> Conformance:
    """The verdict on a task: what is known, or what a check finds; remembered for as long as the task lives."""
    if known is not None:
        _verdicts[task] = known
    elif task not in _verdicts:
        check_task(task)
    return _verdicts[task]
