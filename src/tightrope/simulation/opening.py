"""Opening a task's environment with the best way to save it that is exact."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tightrope.simulation.conformance.examination import REPLAY, Conformance, examine
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import find_snapshotter
from tightrope.tasks.task import Task

_verdicts: WeakKeyDictionary[Task, Conformance] = WeakKeyDictionary()


def open_simulator(task: Task, conformance: Conformance | None = None) -> Simulator:
    """A simulator of a new environment of the task, saved in the fastest way that was shown exact.

    Args:
        task: Whose environment to open.
        conformance: What another process found out about the task; without it the check is made on the first opening.
    """
    conformance = conformance_of(task, conformance)
    env = task.open_env()
    snapshotter = None if conformance.method == REPLAY else find_snapshotter(conformance.method)(env)
    return Simulator(task, env, snapshotter)


def check_task(task: Task) -> Conformance:
    """Find the fastest exact way to save the task's environments; NotReproducible when not even replay is exact.

    Args:
        task: Whose environments to try.
    """
    _verdicts[task] = examine(task)
    return _verdicts[task]


def conformance_of(task: Task, known: Conformance | None = None) -> Conformance:
    """The verdict on a task: what is known, or what a check finds; remembered for as long as the task lives."""
    if known is not None:
        _verdicts[task] = known
    elif task not in _verdicts:
        check_task(task)
    return _verdicts[task]
