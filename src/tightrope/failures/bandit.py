"""What is worth trying next: drawn by what failed before, and what it cost in steps (Thompson sampling)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

Arm = TypeVar("Arm", bound=Hashable)


class Arms:
    """What is known of every choice.

    Args:
        rng: What draws come from.
        dear: Steps that a choice is taken to cost that was never made.
    """

    def __init__(self, rng: np.random.Generator, dear: int) -> None:
        self._rng, self._dear = rng, dear
        self._tries: defaultdict[Hashable, list[float]] = defaultdict(lambda: [0, 0.0, 0])
        """How often each was tried, how much of that failed, and the steps it took."""

    def learn(self, arms: Sequence[Hashable], failed: float, steps: int) -> None:
        """Note what became of a try, for all choices that led to it."""
        for arm in arms:
            for place, more in enumerate((1, failed, steps)):
                self._tries[arm][place] += more

    def best(self, arms: Sequence[Arm], hopes: Mapping[Arm, float] | None = None) -> Arm:
        """The choice with the highest draw from what is known of its rate of failures, for each step that it takes.

        ``hopes``: failures that a choice is taken to have brought before it was ever made; default: 1.
        """
        tries, failed, steps = self._known(arms)
        hope = np.array([(hopes or {}).get(arm, 1.0) for arm in arms])
        cost = (steps + self._dear) / (tries + 1)
        return arms[int(np.argmax(self._rng.beta(hope + failed, 2 + tries - failed) / cost))]

    def best_of_many(self, arms: Sequence[Arm], costs: Sequence[float] | None = None) -> Arm:
        """The same where there are more choices than tries: one that was never made is taken to be like the others.

        Were it taken for a good one, such a one would win every draw, and what is known would be for nothing.
        ``costs``: what each is expected to take; default: what they took on average.
        """
        tries, failed, steps = self._known(arms)
        rate = (1 + failed.sum()) / (3 + tries.sum())
        usual = (steps.sum() + self._dear) / (tries.sum() + 1)
        expected = np.full(len(arms), usual) if costs is None else np.asarray(costs, dtype=float)
        cost = (steps + expected) / (tries + 1)
        return arms[int(np.argmax(self._rng.beta(1 + failed, 1 / rate - 1 + tries - failed) / cost))]

    def _known(self, arms: Sequence[Hashable]) -> np.ndarray:
        return np.array([self._tries[arm] for arm in arms], dtype=float).T
