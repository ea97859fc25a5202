"""Games that begin again shortly before the agent lost: how far back, and where the frames before them are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope_mario.training.recipe import Recipe

SHORTEST = 16
"""Ticks that a game is counted with, on average, when places are set aside. Were all shorter, places would be missing
for some; these then begin at the start of the level."""


class Rewinding:
    """Draws after which losses a game is put back, and gives out the places for the frames that were seen before.

    A place is given out again only when nothing that is remembered begins there any more.
    """

    def __init__(self, recipe: Recipe, first: int, seed: int) -> None:
        self._recipe, self._first = recipe, first
        self._generator = np.random.default_rng(seed)
        self._of_each = recipe.memory_ticks // SHORTEST + 1 if recipe.rewind else 0
        self._given_at = np.full((recipe.games, self._of_each), -recipe.memory_ticks - 1, np.int64)
        self._next = np.zeros(recipe.games, np.int64)

    @property
    def places(self) -> int:
        """How many there are, of all games together."""
        return self._given_at.size

    def draw(self, now: int) -> NDArray[np.int32]:
        """For each game how many steps before the end it goes on if it is lost now; 0: it begins anew."""
        recipe = self._recipe
        if not self._of_each:
            return np.zeros(recipe.games, np.int32)
        fewest, most = recipe.rewind_steps
        back = self._generator.integers(fewest, most + 1, size=recipe.games)
        chosen = self._generator.random(recipe.games) < recipe.rewind
        free = now - self._given_at[np.arange(recipe.games), self._next] > recipe.memory_ticks
        return np.where(chosen & free, back, 0).astype(np.int32)

    def place(self, game: int, now: int) -> int:
        """Where the frames of a game that begins again at this tick are kept from now on."""
        number = int(self._next[game])
        self._given_at[game, number] = now
        self._next[game] = (number + 1) % self._of_each
        return self._first + game * self._of_each + number
