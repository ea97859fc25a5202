"""What is worth trying next: drawn by what failed before, and what it cost in steps (Thompson sampling)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np


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

    def best(self, arms: Sequence[Any]) -> Any:
        """The choice with the highest draw from what is known of its rate of failures, for each step that it takes."""
        return arms[int(np.argmax([self._drawn_rate(arm) for arm in arms]))]

    def _drawn_rate(self, arm: Hashable) -> float:
        tries, failed, steps = self._tries[arm]
        cost = (steps + self._dear) / (tries + 1)
        return float(self._rng.beta(1 + failed, 2 + tries - failed) / cost)
