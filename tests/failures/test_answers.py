"""What an agent would have answered while it was disturbed: what there was to see reaches it from another process."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import gymnasium as gym
import numpy as np

import tightrope as tr
from tightrope.failures.answers import Showing, show
from tightrope.testing import WALK, corridor_task
from tightrope.trace import ActionTrace


class Undrawn:
    """An observation that is drawn only when it is looked at, and cannot leave its process."""

    def __init__(self, world: Late) -> None:
        self.world, self.engine = world, threading.Lock()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.full(3, self.world.cell)


class Late(gym.Wrapper[Any, Any, Any, Any]):
    """Shows where the walker stands when it is looked at, not where it stood when that was shown."""

    cell = 0

    def reset(self, **how: Any) -> Any:
        """Begin."""
        self.cell, info = self.env.reset(**how)
        return Undrawn(self), info

    def step(self, action: Any) -> Any:
        """Go on."""
        self.cell, *rest = self.env.step(action)
        return Undrawn(self), *rest


def undrawn_corridor() -> tr.Task:
    task = corridor_task(9, holes=(), name="undrawn")
    make = task.make_env
    key = lambda env, observation, info: int(np.asarray(observation)[0])  # noqa: E731
    return task.with_options(make_env=lambda: Late(make()), state_key=key)


def test_what_is_drawn_only_when_looked_at_is_drawn_before_it_travels_and_before_the_world_goes_on() -> None:
    task = undrawn_corridor()
    seen = show(task, Showing(ActionTrace(task.label, task.seed, (WALK,) * 5), first=2))
    sights = pickle.loads(pickle.dumps(seen)).sights
    assert [observation.tolist() for observation, _ in sights] == [[2] * 3, [3] * 3, [4] * 3]
    assert [mask for _, mask in sights] == [None] * 3
