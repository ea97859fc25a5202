"""How long a step of a task takes, and what else is done at every step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from tightrope.errors import TightropeError
from tightrope.seeding import generator
from tightrope.simulation.conformance.reproducing import opened
from tightrope.simulation.conformance.trial_walk import Walk
from tightrope.tasks.observations import shown_mask
from tightrope.tasks.task import Task

STEPS = 15
"""Of which the middle one is taken: the first may compile something."""

Looking: TypeAlias = Callable[[], Callable[[Any, Any], object]]
"""Begins an episode of something that is done with each observation and the mask of the actions beside it."""


def step_seconds(task: Task) -> float:
    """What the task says, or processor seconds of a step: what else runs on a machine must not change a run.

    0 where the task's environments raise: that is told by who comes next, with what it takes to find it again.
    """
    if task.step_seconds is not None:
        return task.step_seconds
    stepping, _ = _walked(task, lambda: lambda observation, mask: None)
    return stepping


def look_seconds(task: Task, look: Looking) -> float:
    """Processor seconds of what is done with an observation, on a walk of random actions; 0 where anything raises."""
    _, looking = _walked(task, look)
    return looking


def _walked(task: Task, look: Looking) -> tuple[float, float]:
    """Seconds of a step and of a look."""
    try:
        with opened(task) as env:
            return _measured(Walk(task, env), look)
    except TightropeError:
        return 0.0, 0.0


def _measured(walk: Walk, look: Looking) -> tuple[float, float]:
    rng, actions = generator("pace", walk.task.label), walk.task.search_actions
    stepping, looking, over = list[float](), list[float](), True
    for place in rng.integers(len(actions), size=STEPS):
        if over:
            walk.reset(walk.task.seed)
            looked_at = look()
        started = time.process_time()
        looked_at(walk.transition.observation, shown_mask(walk.transition.info))
        looked = time.process_time()
        walk.step(actions[place])
        looking.append(looked - started)
        stepping.append(time.process_time() - looked)
        over = walk.transition.terminated or walk.transition.truncated
    return statistics.median(stepping), statistics.median(looking)
