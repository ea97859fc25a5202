"""How much is left to chance while an agent learns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope_mario.training.recipe import Recipe


class Exploration:
    """Random actions: every game begins with many and ends with its own share of them."""

    def __init__(self, recipe: Recipe, seed: int) -> None:
        boldest, most_careful = recipe.last_exploration
        spread = np.linspace(0, 1, recipe.games) if recipe.games > 1 else np.zeros(1)
        self.final: NDArray[np.float64] = boldest * (most_careful / boldest) ** spread
        self._decay = recipe.exploration_decay
        self._common = recipe.first_exploration
        self._generator = np.random.default_rng(seed)

    @property
    def share(self) -> NDArray[np.float64]:
        """The share of random actions of each game now."""
        return np.maximum(self.final, self._common)

    def skip(self, ticks: int) -> None:
        """Behave as if this many ticks were over."""
        self._common *= self._decay**ticks

    def choose(self, greedy: NDArray[np.int64], actions: int) -> NDArray[np.int32]:
        """Replace some of the greedy actions by random ones."""
        random = self._generator.random(len(greedy)) < self.share
        any_action = self._generator.integers(actions, size=len(greedy))
        self.skip(1)
        return np.where(random, any_action, greedy).astype(np.int32)
