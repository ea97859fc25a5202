"""A world whose observation leaves out what decides: the time."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

import tightrope as tr


class Waiting(gym.Env[Any, Any]):
    """Nothing changes that can be seen, until waiting has lasted five steps."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        over = action == 1 or self.steps == 5
        return int(over), float(over and action == 0), over, False, {}


def task() -> tr.Task:
    return tr.Task(
        name="waiting",
        make_env=Waiting,
        goal=lambda t: t.terminated and t.reward > 0,
        unsafe=lambda t: t.terminated and t.reward == 0,
    )


def task_with_time() -> tr.Task:
    return task().with_options(state_key=lambda env, observation, info: env.unwrapped.steps)
