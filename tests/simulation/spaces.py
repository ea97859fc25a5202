"""A walk that takes actions of any space. Importable, so that workers find it."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks import Task, Transition

GOAL, PIT = 6, -2


class Strides(gym.Env[Any, Any]):
    """Actions above the middle of the space lead up, others down; ``rewards``: how many numbers a reward has."""

    def __init__(self, space: gym.Space[Any], rewards: int = 1, limit: float = 0.5) -> None:
        self.action_space, self.rewards, self.limit = space, rewards, limit
        self.observation_space = gym.spaces.Box(-100.0, 100.0, (1,), np.float32)
        self.place = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        self.place += 1 if mean_of(action) >= self.limit else -1
        reward: Any = float(self.place) if self.rewards == 1 else np.full(self.rewards, float(self.place))
        return self._observation(), reward, self.place in (GOAL, PIT), False, {}

    def _observation(self) -> Any:
        return np.array([self.place], np.float32)


def mean_of(action: Any) -> float:
    """The mean of all numbers in an action."""
    parts = action.values() if isinstance(action, dict) else action if isinstance(action, tuple) else [action]
    return float(np.mean(np.concatenate([np.ravel(part) for part in parts])))


def at_goal(transition: Transition) -> bool:
    return bool(transition.observation[0] == GOAL)


def in_pit(transition: Transition) -> bool:
    return bool(transition.observation[0] == PIT)


def strides_task(space: gym.Space[Any], limit: float = 0.5, rewards: int = 1, **fields: Any) -> Task:
    return Task(
        name="strides", make_env=partial(Strides, space, rewards, limit), goal=at_goal, unsafe=in_pit, **fields
    )  # fmt: skip
