"""The task, and a way to save its environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

import tightrope as tr

WAIT, GO = 0, 1
LIGHTS = "GGrr"
"""All lights change together: green for two steps, red for two."""


def phases(clock: int) -> Iterator[int]:
    """The phases that follow the first ``clock`` steps, without end."""
    while True:
        clock += 1
        yield clock % len(LIGHTS)


class Crossing(gym.Env[Any, Any]):
    """A road of cells; some are crossings, and one must not be on those while the light is red."""

    action_space = gym.spaces.Discrete(2)
    static_attributes = ("_phases",)
    """A generator cannot be copied, so tightrope is told to leave it alone: the snapshotter below sees to it."""

    def __init__(self, length: int, crossings: tuple[int, ...]) -> None:
        self.length, self.crossings = length, crossings
        self.observation_space = gym.spaces.MultiDiscrete([length + 1, len(LIGHTS)])
        self._begin()

    def _begin(self) -> None:
        self.place = self.clock = self.phase = 0
        self._phases = phases(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._begin()
        return self._seen()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.phase = next(self._phases)
        self.clock += 1
        self.place += int(action == GO)
        observation, info = self._seen()
        return observation, float(info["arrived"]), info["hit"] or info["arrived"], False, info

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        hit = self.place in self.crossings and LIGHTS[self.phase] == "r"
        return np.array([self.place, self.phase]), {"hit": hit, "arrived": self.place == self.length}


def crossing_task(*, length: int = 12, crossings: tuple[int, ...] = (3, 6, 9)) -> tr.Task:
    """Drive to the end of the road; being on a crossing while the light is red is unsafe."""
    return tr.Task(
        name="crossing",
        make_env=lambda: Crossing(length, tuple(crossings)),
        goal=lambda transition: transition.info["arrived"],
        unsafe=lambda transition: transition.info["hit"],
        action_names=("wait", "go"),
        max_steps=10 * length,
    )


class CrossingSnapshotter(tr.AttributesSnapshotter):
    """Saves what can be saved, and sets the lights going again where they were.

    tightrope believes it only after a round trip on the very environment has passed.
    """

    name: ClassVar[str] = "crossing"

    @classmethod
    def applies(cls, env: Any) -> bool:
        return isinstance(env.unwrapped, Crossing)

    def load(self, payload: Any) -> None:
        super().load(payload)
        road = self.env.unwrapped
        road._phases = phases(road.clock)
