"""Which situation an episode begins in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import UnknownName, UsageError
from tightrope.seeding import generator
from tightrope.training.situations import Situation

StartWeights: TypeAlias = Literal["equal", "fails", "adaptive"]
WEIGHTS: tuple[StartWeights, ...] = get_args(StartWeights)
BY_FAILS: StartWeights = "fails"
"""How a situation is chosen unless the caller says otherwise."""
SHARE = 0.5
"""Of episodes that begin in a situation, unless the caller says otherwise."""
NEVER_FORGOTTEN = 0.1
"""What an adaptive weight keeps of a situation that always passes: an agent may unlearn it."""
FOLLOWING = 0.2
"""How far an adaptive weight goes towards the latest result."""
HOPELESS = 30
"""Fails in a row from which on an adaptive weight goes down again: perhaps nobody survives there, and starts there
teach nothing. In the first level of a platform game five of six starts went to such situations."""
NORMAL_START = -1
"""The number that stands for a plain reset."""


class StartChoice:
    """Draws where the next episode begins: with the given share in a situation, by weight; else at a plain reset.

    Args:
        situations: Where episodes can begin.
        share: The share of episodes that begin in a situation.
        weights: ``"equal"``, ``"fails"`` (by the situations' own weights) or ``"adaptive"`` (by these at first, then
            more where training still fails, unless it never passes).
        seed: Of the draws; None: another each time.
    """

    def __init__(self, situations: Sequence[Situation], share: float, weights: StartWeights, seed: int | None) -> None:
        _check(situations, share, weights)
        self.share, self.weights = share, weights
        self._chances = _first_chances(situations, weights)
        self._in_a_row = np.zeros(len(situations), int)
        self._add_up()
        self.seed(seed)

    @property
    def chances(self) -> tuple[float, ...]:
        """How likely each situation is chosen at the next start from a situation."""
        return tuple((np.diff(self._limits, prepend=0.0) / self._limits[-1]).tolist())

    def seed(self, seed: int | None) -> None:
        """Begin the draws anew."""
        self._rng = generator("situation starts", seed if seed is not None else np.random.SeedSequence().entropy)

    def draw(self) -> int:
        """The number of a situation, or ``NORMAL_START``."""
        if self._rng.random() >= self.share:
            return NORMAL_START
        # Generator.choice would add them up anew for every draw, which takes as long as a dozen steps of a small world.
        return int(np.searchsorted(self._limits, self._rng.random() * self._limits[-1], side="right"))

    def fresh_seed(self) -> int:
        """For the randomness of an episode."""
        return int(self._rng.integers(2**31))

    def learn(self, number: int, *, failed: bool) -> None:
        """Let adaptive weights follow how an episode went that began there."""
        if self.weights == "adaptive" and number != NORMAL_START:
            kept = (self._chances[number] - NEVER_FORGOTTEN) * (1 - FOLLOWING)
            self._chances[number] = NEVER_FORGOTTEN + kept + FOLLOWING * failed
            self._in_a_row[number] = self._in_a_row[number] + 1 if failed else 0
            self._add_up()

    def _add_up(self) -> None:
        hope = np.minimum(1.0, HOPELESS / np.maximum(self._in_a_row, 1))
        self._limits = np.cumsum(np.maximum(self._chances * hope, np.minimum(self._chances, NEVER_FORGOTTEN)))


def _check(situations: Sequence[Situation], share: float, weights: str) -> None:
    if weights not in WEIGHTS:
        raise UnknownName("way to weigh situations", weights, WEIGHTS)
    if not 0 <= share <= 1:
        raise UsageError(f"share is a part of the episodes, from 0 to 1, not {share}")
    if not situations and share > 0:
        raise UsageError(
            "there are no situations to start from: a result without fails has none. Give a suite, whose cases are "
            "situations"
        )


def _first_chances(situations: Sequence[Situation], weights: str) -> NDArray[np.float64]:
    told = np.array([situation.weight for situation in situations], dtype=np.float64)
    if weights == "equal" or told.sum() <= 0:
        return np.ones(len(situations))
    return np.maximum(told, NEVER_FORGOTTEN) if weights == "adaptive" else told
