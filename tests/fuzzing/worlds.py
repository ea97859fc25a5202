"""Small tasks and agents for the tests of fuzzing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Answer
from tightrope.tasks import Task
from tightrope.testing import JUMP, WALK, corridor_task
from tightrope.trace import ActionTrace

HOLES = (3, 6)
SOLUTION = (WALK, WALK, JUMP, WALK, JUMP, WALK, WALK, WALK)


def corridor_reference(task: Task | None = None) -> ActionTrace:
    return ActionTrace((task or corridor_task()).label, 0, SOLUTION)


class Careful:
    """Jumps over holes it stands before, walks otherwise: reaches the goal of the corridor."""

    name, fingerprint, deterministic, recurrent = "careful", "careful", True, False

    def act(self, observations: Sequence[Any], memories: Any, generators: Any, masks: Any) -> Answer:
        actions = [JUMP if cell + 1 in HOLES else WALK for cell in observations]
        return Answer(actions, [None] * len(actions))


class Blind:
    """Always walks: falls into the first hole."""

    name, fingerprint, deterministic, recurrent = "blind", "blind", True, False

    def act(self, observations: Sequence[Any], memories: Any, generators: Any, masks: Any) -> Answer:
        return Answer([WALK] * len(observations), [None] * len(observations))


class Dice:
    """Walks or jumps at random."""

    name, fingerprint, deterministic, recurrent = "dice", "dice", False, False

    def act(self, observations: Sequence[Any], memories: Any, generators: Any, masks: Any) -> Answer:
        return Answer([int(rng.integers(2)) for rng in generators], [None] * len(observations))


class Counting:
    """Recurrent: jumps at every third step it has seen, prefix included."""

    name, fingerprint, deterministic, recurrent = "counting", "counting", True, True

    def act(self, observations: Sequence[Any], memories: Sequence[Any], generators: Any, masks: Any) -> Answer:
        seen = [(memory or 0) + 1 for memory in memories]
        return Answer([JUMP if count % 3 == 0 else WALK for count in seen], seen)


class Trail(gym.Env[Any, Any]):
    """A corridor that pays for every cell gained, takes 5 for a hole, and in which one can also step back.

    Unlike in the corridor, going on pays; the key holds the time, so there is always something new to see.
    """

    observation_space = gym.spaces.Discrete(100)
    action_space = gym.spaces.Discrete(3)
    MOVES = (1, 2, -1)

    def __init__(self, length: int, holes: tuple[int, ...]) -> None:
        self.length, self.holes = length, holes

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, self.cell = self.cell, max(0, min(self.cell + self.MOVES[action], self.length))
        self.steps += 1
        fell = self.cell in self.holes
        return self.cell, self.cell - before - 5.0 * fell, fell or self.cell == self.length, False, {}


def trail_task(length: int = 40, holes: tuple[int, ...] = (5, 9, 16, 24, 33)) -> Task:
    return Task(
        name="trail",
        make_env=lambda: Trail(length, holes),
        goal=lambda transition: transition.observation == length,
        unsafe=lambda transition: transition.observation in holes,
        state_key=lambda env, observation, info: (int(observation), env.unwrapped.steps),
    )


def trail_solution(length: int = 40, holes: tuple[int, ...] = (5, 9, 16, 24, 33)) -> ActionTrace:
    actions, cell = [], 0
    while cell < length:
        actions.append(JUMP if cell + 1 in holes else WALK)
        cell += 2 if cell + 1 in holes else 1
    return ActionTrace("trail", 0, tuple(actions))


class Rail(gym.Env[Any, Any]):
    """A point on a line, pushed by a continuous action; the end of the rail is at 4, its beginning at -1."""

    observation_space = gym.spaces.Box(-10, 10, (1,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        push = float(action[0])
        self.x += push
        return np.array([self.x]), push, not -1 < self.x < 4, False, {}


def rail_task(**fields: Any) -> Task:
    return Task(
        name="rail",
        make_env=Rail,
        goal=lambda transition: bool(transition.observation[0] >= 4),
        unsafe=lambda transition: bool(transition.observation[0] <= -1),
        state_key=lambda env, observation, info: round(float(observation[0]), 1),
        actions=((-1.0,), (1.0,)),
        **fields,
    )


class Pusher:
    """Pushes forward a little at each step."""

    name, fingerprint, deterministic, recurrent = "pusher", "pusher", True, False

    def act(self, observations: Sequence[Any], memories: Any, generators: Any, masks: Any) -> Answer:
        return Answer([(0.25,)] * len(observations), [None] * len(observations))


class Turnstile(gym.Env[Any, Any]):
    """Counts to 12. The action that was played last is not available, and playing it all the same raises."""

    observation_space = gym.spaces.Discrete(13)
    action_space = gym.spaces.Discrete(3)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.array([action != self.last for action in range(3)], dtype=np.int8)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count, self.last = 0, -1
        return 0, self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == self.last:
            raise ValueError(f"action {action} is not available")
        self.last, self.count = action, min(12, self.count + action)
        return self.count, float(action), self.count == 12, False, self._info()


def turnstile_task() -> Task:
    return Task(
        name="turnstile",
        make_env=Turnstile,
        goal=lambda transition: transition.observation == 12,
        unsafe=lambda transition: False,
        state_key=lambda env, observation, info: (int(observation), env.unwrapped.last),
    )


class Alternating:
    """Plays the largest action that is available."""

    name, fingerprint, deterministic, recurrent = "alternating", "alternating", True, False

    def act(self, observations: Any, memories: Any, generators: Any, masks: Sequence[Any]) -> Answer:
        return Answer([int(np.flatnonzero(mask)[-1]) for mask in masks], [None] * len(masks))
