"""Opening a task's environment with the best way to save it that is exact."""

from __future__ import annotations

from tightrope.simulation.simulator import Simulator
from tightrope.tasks.task import Task


def open_simulator(task: Task) -> Simulator:
    """A simulator of a new environment of the task."""
    return Simulator(task, task.make_env(), None)
