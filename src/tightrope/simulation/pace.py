"""How long a step of a task takes."""

from __future__ import annotations

import statistics
import time

from tightrope.errors import TightropeError
from tightrope.seeding import generator
from tightrope.simulation.conformance.reproducing import opened
from tightrope.simulation.conformance.trial_walk import Walk
from tightrope.tasks.task import Task

STEPS = 15
"""Of which the middle one is taken: the first may compile something."""


def step_seconds(task: Task) -> float:
    """What the task says, or processor seconds of a step: what else runs on a machine must not change a run.

    0 where the task's environments raise: that is told by who comes next, with what it takes to find it again.
    """
    if task.step_seconds is not None:
        return task.step_seconds
    try:
        with opened(task) as env:
            return _measured(Walk(task, env))
    except TightropeError:
        return 0.0


def _measured(walk: Walk) -> float:
    rng, actions, taken = generator("pace", walk.task.label), walk.task.search_actions, list[float]()
    walk.reset(walk.task.seed)
    for place in rng.integers(len(actions), size=STEPS):
        started = time.process_time()
        walk.step(actions[place])
        taken.append(time.process_time() - started)
        if walk.transition.terminated or walk.transition.truncated:
            walk.reset(walk.task.seed)
    return statistics.median(taken)
