"""Worlds that are random only where random walks do not come. Importable, so that workers find them."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks import Task
from tightrope.testing import tabular_task
from tightrope.testing.worlds import Chances

BACK, ON = 0, 1
EDGE, SLIPPERY, GOAL, PIT = 12, 25, 40, 41
SLIP = 0.05
TRUTH = 1.0 - (1.0 - SLIP) ** (GOAL - SLIPPERY)
"""How often whoever goes on from before the slippery cells falls: 0.54."""


def late_slip(slip: float = SLIP, **fields: Any) -> Task:
    """A corridor: ON leads on, BACK to the start, or down from the edge on; from cell 25 on, ON slips now and then."""
    table: dict[int, list[Chances]] = {}
    for cell in range(GOAL):
        back: Chances = ((1.0, 0 if cell < EDGE else PIT),)
        on: Chances = ((1.0, cell + 1),) if cell < SLIPPERY else ((1.0 - slip, cell + 1), (slip, PIT))
        table[cell] = [back, on]
    return tabular_task(table, {GOAL}, {PIT}, name="late-slip", **fields)


class Pipes(gym.Env[Any, Any]):
    """Fly or sink through gaps; the first three are fixed, later ones are drawn when they come into sight."""

    def __init__(self, noise: bool = False) -> None:
        self.observation_space = gym.spaces.Box(-10.0, 10.0, (2,), np.float64)
        self.action_space = gym.spaces.Discrete(2)
        self.noise, self.place, self.height, self.gap = noise, 0, 0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.height, self.gap = 0, 0, 1
        return self._observation(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += 1
        self.height += 1 if action else -1
        crashed = abs(self.height - self.gap) > 1
        if self.place % 10 == 0:
            self.gap = 1 if self.place <= 30 else int(self.np_random.integers(-2, 3))
        return self._observation(), 1.0, crashed or self.place == 60, False, {"crashed": crashed}

    def _observation(self) -> Any:
        seen = float(self.gap)
        if self.noise and self.place > 30:
            seen += float(self.np_random.normal())
        return np.array([float(self.height), seen])


def pipes_task(**fields: Any) -> Task:
    return Task(
        name="pipes",
        make_env=Pipes,
        goal=lambda t: t.terminated and not t.info["crashed"],
        unsafe=lambda t: t.info["crashed"],
        **fields,
    )


def steer(observation: Any) -> int:
    """Follow the gap."""
    return int(observation[0] < observation[1])


class Foggy(Pipes):
    """Once through the first gaps nothing can happen any more; but what is seen is not what is there."""

    def __init__(self) -> None:
        super().__init__(noise=True)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, _, truncated, info = super().step(action)
        crashed = info["crashed"] and self.place <= 30
        self.gap = 1
        return observation, reward, crashed or self.place == 60, truncated, {"crashed": crashed}


def foggy_task() -> Task:
    return pipes_task().with_options(name="foggy", make_env=Foggy)


class OwnDice(gym.Env[Any, Any]):
    """Keeps its dice where nobody can look, and sets them itself; a late throw decides."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(400), gym.spaces.Discrete(2)
        hidden = np.random.default_rng(0)
        self.throw, self.set_dice = hidden.random, self._setter(hidden)
        self.place = 0

    @staticmethod
    def _setter(hidden: np.random.Generator) -> Any:
        def set_dice(state: Any) -> Any:
            if state is not None:
                hidden.bit_generator.state = state
            return hidden.bit_generator.state

        return set_dice

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        self.reseed(seed or 0)
        self.place = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place = self.place + 1 if action else 0
        over = self.place == 30
        return self.place, float(over and self.throw() < 0.5), over, False, {}

    def save_state(self) -> Any:
        return self.place, self.set_dice(None)

    def load_state(self, saved: Any) -> None:
        self.place, state = saved
        self.set_dice(state)

    def reseed(self, seed: int) -> None:
        self.set_dice(np.random.PCG64(seed).state)


def own_dice_task() -> Task:
    return Task(
        name="own-dice",
        make_env=OwnDice,
        goal=lambda t: t.terminated and t.reward > 0,
        unsafe=lambda t: t.terminated and t.reward == 0,
    )


class SavesItself(Pipes):
    """Hands out where it stands, but not its generator; where no gap moves, nothing is ever drawn from that."""

    def __init__(self, still: bool) -> None:
        super().__init__()
        self.still = still

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.still and self.place >= 30:
            self.place += 1
            return self._observation(), 1.0, self.place == 60, False, {"crashed": False}
        return super().step(action)

    def save_state(self) -> Any:
        return self.place, self.height, self.gap

    def load_state(self, saved: Any) -> None:
        self.place, self.height, self.gap = saved


def saved_pipes(*, still: bool, **fields: Any) -> Task:
    return pipes_task(**fields).with_options(name="saved-pipes", make_env=partial(SavesItself, still))
