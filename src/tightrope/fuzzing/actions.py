"""Where fuzzing gets its actions from: an action set, or the whole of a continuous space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.spaces import action_list, encode_action, mask_allows
from tightrope.tasks.task import Task
from tightrope.trace import Action

PERTURBATION = 0.1
"""Standard deviation of a perturbed continuous action, as a share of its range (of 1 where it has none)."""


@dataclass(frozen=True)
class ActionSource:
    """Draws actions: uniformly from ``listed``, or from ``space`` where the actions cannot be listed."""

    space: gym.Space[Any]
    listed: tuple[Action, ...] | None

    def draw(self, rng: np.random.Generator) -> Action:
        """A random action."""
        if self.listed is not None:
            return self.listed[int(rng.integers(len(self.listed)))]
        return encode_action(self.space, _sample(self.space, rng))

    def near(self, action: Action, rng: np.random.Generator) -> Action:
        """A random action; from a continuous space it is a perturbation of the given one half of the time."""
        if self.listed is None and rng.random() < 0.5:
            return self.perturb(action, rng)
        return self.draw(rng)

    def perturb(self, action: Action, rng: np.random.Generator) -> Action:
        """The action with noise on its continuous parts; a listed action is drawn anew."""
        if self.listed is not None:
            return self.draw(rng)
        return encode_action(self.space, _perturbed(self.space, action, rng))

    def other(self, action: Action, rng: np.random.Generator) -> Action:
        """A random action that is not the given one, where there is another."""
        if self.listed is None:
            return self.draw(rng)
        others = [candidate for candidate in self.listed if candidate != action]
        return others[int(rng.integers(len(others)))] if others else action

    def run(self, length: int, near: Action, rng: np.random.Generator, *, independent: bool) -> tuple[Action, ...]:
        """``length`` actions: one held for all of them, or each drawn by itself."""
        if independent:
            return tuple(self.near(near, rng) for _ in range(length))
        return (self.near(near, rng),) * length

    def within(self, mask: Any) -> ActionSource:
        """This source without the actions that ``info["action_mask"]`` forbids; unchanged if none is left."""
        if mask is None or self.listed is None:
            return self
        listed = tuple(action for action in self.listed if self.allows(action, mask))
        return ActionSource(self.space, listed or self.listed)

    def allows(self, action: Action, mask: Any) -> bool:
        """Whether the mask allows the action."""
        return mask_allows(self.space, mask, action)


def action_source(task: Task, actions: Sequence[Action] | None = None) -> ActionSource:
    """The given actions; by default the task's own, or all of a space that has continuous parts."""
    space = task.action_space
    if actions is not None:
        return ActionSource(space, action_list(task.name, space, actions))
    if _continuous(space) or (task.actions is None and not isinstance(space, gym.spaces.Discrete)):
        return ActionSource(space, None)
    return ActionSource(space, task.search_actions)


def _continuous(space: gym.Space[Any]) -> bool:
    return any(isinstance(part, gym.spaces.Box) for part in _leaves(space))


def _leaves(space: gym.Space[Any]) -> list[gym.Space[Any]]:
    if isinstance(space, gym.spaces.Tuple):
        return [leaf for part in space.spaces for leaf in _leaves(part)]
    if isinstance(space, gym.spaces.Dict):
        return [leaf for part in space.spaces.values() for leaf in _leaves(part)]
    return [space]


def _sample(space: gym.Space[Any], rng: np.random.Generator) -> Any:
    """A random element. Not ``space.sample()``: a space's own generator is shared state."""
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_sample(part, rng) for part in space.spaces)
    if isinstance(space, gym.spaces.Dict):
        return {name: _sample(part, rng) for name, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Discrete):
        return int(space.start + rng.integers(space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return space.start + rng.integers(space.nvec)
    if isinstance(space, gym.spaces.MultiBinary):
        return rng.integers(0, 2, size=space.shape)
    return _sample_box(space, rng)


def _sample_box(space: Any, rng: np.random.Generator) -> Any:
    if np.issubdtype(space.dtype, np.integer):
        return rng.integers(space.low, space.high, endpoint=True)
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    bounded = np.isfinite(low) & np.isfinite(high)
    uniform = np.where(bounded, low, 0.0) + rng.random(space.shape) * np.where(bounded, high - low, 1.0)
    return np.clip(np.where(bounded, uniform, rng.standard_normal(space.shape)), low, high)


def _perturbed(space: gym.Space[Any], action: Any, rng: np.random.Generator) -> Any:
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_perturbed(part, value, rng) for part, value in zip(space.spaces, action, strict=True))
    if isinstance(space, gym.spaces.Dict):
        pairs = zip(space.spaces.items(), action, strict=True)
        return {name: _perturbed(part, value, rng) for (name, part), value in pairs}
    if isinstance(space, gym.spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        width = np.where(np.isfinite(high - low), high - low, 1.0)
        return np.clip(np.asarray(action) + PERTURBATION * width * rng.standard_normal(space.shape), low, high)
    return _sample(space, rng)
