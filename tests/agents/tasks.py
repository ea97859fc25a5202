"""Tasks of every kind of observation and action, on an environment that shows noise and ends never."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.task import Task


class NoiseEnv(gym.Env[Any, Any]):
    """Shows random observations of a space, whatever is done."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], masked: bool = False) -> None:
        self.observation_space, self.action_space, self.masked = observation_space, action_space, masked

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 0.0, False, False, self._info()

    def _info(self) -> dict[str, Any]:
        if not self.masked:
            return {}
        mask = np.zeros(int(self.action_space.n), np.int8)
        mask[self.np_random.integers(len(mask))] = 1
        return {"action_mask": mask}


def never(transition: Any) -> bool:
    return False


def noise_task(observation: gym.Space[Any], action: gym.Space[Any], *, masked: bool = False, **fields: Any) -> Task:
    def make_env() -> NoiseEnv:
        return NoiseEnv(observation, action, masked)

    actions = None if isinstance(action, gym.spaces.Discrete) else [action.sample()]
    return Task(name="noise", make_env=make_env, goal=never, unsafe=never, actions=actions, max_steps=50, **fields)


VECTOR = gym.spaces.Box(-3.0, 3.0, (5,), np.float32)
PICTURE = gym.spaces.Box(0, 255, (36, 36, 3), np.uint8)
FRAMES = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
CELLS = gym.spaces.Discrete(7)
PARTS = gym.spaces.Dict({"view": gym.spaces.Box(-1.0, 1.0, (3,), np.float32), "speed": gym.spaces.Box(-1.0, 1.0, (2,))})
MOVES = gym.spaces.Discrete(4)
SWITCHES = gym.spaces.MultiDiscrete([3, 2])
BITS = gym.spaces.MultiBinary(3)
TORQUES = gym.spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32))
