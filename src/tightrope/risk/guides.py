"""Guides: how close to harm a moment is. A guide changes what an estimate costs, never what it converges to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.errors import TaskError
from tightrope.seeding import generator
from tightrope.tasks.task import Task, Transition

Floats: TypeAlias = NDArray[np.float64]

MOST_VALUES = 256
"""Larger observations (pictures) are averaged over neighbouring values until they have at most so many."""
HIDDEN = 128
"""Random features: enough for curved borders in a few dimensions, few enough to fit in milliseconds."""


class Guide(Protocol):
    """Gives each moment a level; higher is closer to harm."""

    name: str

    def levels(self, moments: Sequence[Transition]) -> Sequence[float] | Floats:
        """The level of what each step showed."""
        ...


class NoGuide:
    """Sees no difference between moments: splitting with it is plain Monte Carlo."""

    name = "none"

    def levels(self, moments: Sequence[Transition]) -> Floats:
        """The same level everywhere."""
        return np.zeros(len(moments))


class GivenGuide:
    """The user's own ``danger(transition)``."""

    name = "danger function"

    def __init__(self, task: Task, danger: Callable[[Transition], float]) -> None:
        self.task, self.danger = task, danger

    def levels(self, moments: Sequence[Transition]) -> list[float]:
        """What the function says; anything that is no number is refused by name."""
        return [self._level(transition) for transition in moments]

    def _level(self, transition: Transition) -> float:
        try:
            level = float(self.danger(transition))
        except Exception as error:
            raise TaskError(
                f"task {self.task.label}: danger(transition) raised {type(error).__name__}: {error}; it must return a "
                f"number for every transition, higher meaning closer to harm"
            ) from error
        if np.isnan(level):
            raise TaskError(f"task {self.task.label}: danger(transition) returned NaN; it must return a number")
        return level


class LearnedGuide:
    """The logarithm of the odds of failing soon, as a function of the observation.

    Time is left out: with it, a fit to few failures ranks moments by their date, and splitting spends itself on early
    ones (on CartPole several times the variance). A logistic regression on the observation's values, their squares and
    random ridge functions of them. It is fitted in closed steps, so the same moments give the same guide everywhere.
    """

    def __init__(
        self, task: Task, observations: Sequence[Any], targets: Floats, name: str = "learned from failures"
    ) -> None:
        self.name = name
        self._space = task.observation_space
        raw = self._raw(observations)
        self._centre, self._scale = raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-6)
        rng = generator("risk features", raw.shape[1])
        self._directions = rng.normal(size=(raw.shape[1], HIDDEN)) / np.sqrt(raw.shape[1])
        self._offsets = rng.uniform(-1.5, 1.5, size=HIDDEN)
        self._weights = _fitted(self._features(raw), targets)

    def levels(self, moments: Sequence[Transition]) -> Floats:
        """The log odds of failing soon."""
        raw = self._raw([transition.observation for transition in moments])
        found: Floats = self._features(raw) @ self._weights
        return found

    def _raw(self, observations: Sequence[Any]) -> Floats:
        return np.stack([observation_values(self._space, observation) for observation in observations])

    def _features(self, raw: Floats) -> Floats:
        # Far outside of what was learned from, squares would say anything.
        scaled = np.clip((raw - self._centre) / self._scale, -6, 6)
        ridges = np.tanh(1.5 * (scaled @ self._directions) + self._offsets)
        return np.column_stack([np.ones(len(raw)), scaled, scaled**2, ridges])


def observation_values(space: gym.Space[Any], observation: Any) -> Floats:
    """An observation as not too many numbers."""
    flat = np.asarray(gym.spaces.flatten(space, np.asarray(observation) if _is_array(space) else observation))
    values = np.nan_to_num(flat.astype(np.float64).ravel(), posinf=1e6, neginf=-1e6)
    if values.size <= MOST_VALUES:
        return values
    edges = np.linspace(0, values.size, MOST_VALUES + 1).astype(int)[:-1]
    return np.add.reduceat(values, edges) / np.diff([*edges, values.size])


def _is_array(space: gym.Space[Any]) -> bool:
    return isinstance(space, gym.spaces.Box | gym.spaces.MultiBinary | gym.spaces.MultiDiscrete)


def _fitted(features: Floats, targets: Floats, rounds: int = 12, ridge: float = 1e-2) -> Floats:
    """Weights of a logistic regression on targets in 0 … 1, by Newton's method with a little shrinkage."""
    penalty = ridge * len(features) * np.eye(features.shape[1])
    penalty[0, 0] = 0.0
    weights = np.zeros(features.shape[1])
    for _ in range(rounds):
        chances = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        spread = np.maximum(chances * (1 - chances), 1e-4)
        slope = features.T @ (targets - chances) - penalty @ weights
        curvature = (features * spread[:, None]).T @ features + penalty + 1e-9 * np.eye(features.shape[1])
        weights = weights + np.linalg.solve(curvature, slope)
    return weights
