"""Environments that cannot be saved in one way or another, each broken in one respect."""

from __future__ import annotations

import random
import time
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks import Task


class Line(gym.Env[Any, Any]):
    """A walk on a line that behaves: the observation is the place, the reward the step."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1e6, 1e6, (1,), np.float64)
        self.action_space = gym.spaces.Discrete(2)
        self.place = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0.0
        return self.observe(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        move = float(2 * action - 1)
        self.place += move
        return self.observe(), self.reward(move), False, False, {}

    def observe(self) -> Any:
        return np.array([self.place])

    def reward(self, move: float) -> float:
        return move


class HiddenState(Line):
    """Keeps where it is in a closure."""

    def __init__(self) -> None:
        super().__init__()
        hidden = 0.0

        def walk(move: float | None) -> float:
            nonlocal hidden
            hidden = 0.0 if move is None else hidden + move
            return hidden

        self.walk = walk

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.walk(None)
        return super().reset(seed=seed)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.walk(float(2 * action - 1))
        return super().step(action)

    def observe(self) -> Any:
        return np.array([self.place, self.walk(0.0)])


class SlottedCounter(gym.Wrapper[Any, Any, Any, Any]):
    """Counts steps outside its ``__dict__`` and rewards every third."""

    __slots__ = ("count",)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.count = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.count += 1
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, float(self.count % 3 == 0), terminated, truncated, info


class StaleReward(HiddenState):
    """Shows where it is, but rewards by data that lag behind in a closure."""

    def observe(self) -> Any:
        return np.array([self.place])

    def reward(self, move: float) -> float:
        return self.walk(0.0)


class NumpyGlobal(Line):
    """Draws from NumPy's global generator."""

    def reward(self, move: float) -> float:
        return float(np.random.random())


class PythonGlobal(Line):
    """Draws from Python's global generator."""

    def reward(self, move: float) -> float:
        return random.random()


class Clock(Line):
    """Looks at the clock."""

    def reward(self, move: float) -> float:
        return time.perf_counter()


class NestedNoise(Line):
    """Hides one number of a nested observation."""

    def __init__(self) -> None:
        super().__init__()
        count = iter(range(10**9))
        self.count = lambda: next(count)
        self.base = 0
        self.observation_space = gym.spaces.Dict(
            place=gym.spaces.Box(-1e6, 1e6, (1,)),
            pair=gym.spaces.Tuple((gym.spaces.Discrete(2), gym.spaces.Discrete(2))),
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.base = self.count()
        return super().reset(seed=seed)

    def observe(self) -> Any:
        return {"place": np.array([self.place]), "pair": (0, self.count() - self.base)}


class Raising(Line):
    """Raises at the third step."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if abs(self.place) >= 2:
            raise ZeroDivisionError("the line is broken")
        return super().step(action)


class Unseedable(Line):
    """Has a reset of the old kind."""

    def reset(self) -> tuple[Any, dict[str, Any]]:  # type: ignore[override]
        return super().reset()


class OldReset(Line):
    """Returns the observation alone."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0]


def line_task(make_env: Any = Line, **fields: Any) -> Task:
    """A task on such an environment that never ends."""
    defaults: dict[str, Any] = {"goal": lambda transition: False, "unsafe": lambda transition: False}
    return Task(**{"name": "line", "make_env": make_env, **defaults, **fields})
