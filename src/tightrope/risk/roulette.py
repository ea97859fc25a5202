"""Roulette: most episodes that are far back from harm are let go, and those that go on count for more.

An episode that came close and recovered mostly plays out its time for nothing. So one in four goes on, and counts for
four: the mean of the estimate is the same, whatever is called far back (splitting is unbiased for the sum of weights as
for a count, since a weight keeps its mean). What is called far back is learned from a repetition without roulette: a
recovery after which episodes hardly ever came closer to harm than before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

GOES_ON = 0.25
"""Share of the episodes that go on. Where one in twenty comes back, this is about the root of it, which balances the
steps that are spared with the spread that the weights bring."""
SELDOM = 0.05
"""Share of recoveries after which an episode may have come closer to harm than before, at most, to be let go."""
RECOVERIES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
"""Tried in this order: how much rarer the level an episode had reached is than the one it is back at, as the natural
logarithm of the ratio."""


@dataclass(frozen=True)
class Course:
    """How dangerous an episode was, step by step, from where it was begun or copied."""

    dangers: list[float]
    first: bool
    """One of the first episodes, which are never let go: they are a plain sample."""


@dataclass(frozen=True)
class Roulette:
    """Says which episodes are far back."""

    dangers: tuple[float, ...]
    """Rising."""
    rareness: tuple[float, ...]
    """Minus the logarithm of the share of episodes that go beyond none, one, two … of them."""
    recovery: float

    def far_back(self, record: float, danger: float) -> bool:
        """Whether an episode whose most dangerous moment was ``record`` is far back from it now."""
        return self._rareness(record) - self._rareness(danger) >= self.recovery

    def _rareness(self, danger: float) -> float:
        return self.rareness[bisect_left(self.dangers, danger)]

    def spared(self, courses: Sequence[Course]) -> float:
        """Steps that these episodes would have taken less."""
        later = [
            len(course.dangers) - recoveries[0][0]
            for course in courses
            if not course.first and (recoveries := self._recoveries(course))
        ]
        return (1 - GOES_ON) * sum(later)

    def share_back(self, courses: Sequence[Course]) -> float:
        """Of all recoveries, those after which the episode came closer to harm than before; one of either is added."""
        recoveries = [back for course in courses for _, back in self._recoveries(course)]
        return (sum(recoveries) + 1) / (len(recoveries) + 2)

    def _recoveries(self, course: Course) -> list[tuple[int, bool]]:
        """Where the episode was far back, at most once after each record, and whether another record followed."""
        found: list[tuple[int, bool]] = []
        record, low = course.dangers[0], False
        for place, danger in enumerate(course.dangers):
            if danger > record:
                if low:
                    found[-1] = (found[-1][0], True)
                record, low = danger, False
            elif not low and self.far_back(record, danger):
                found.append((place, False))
                low = True
        return found


def learned_roulette(levels: Sequence[tuple[float, float]], courses: Sequence[Course]) -> Roulette | None:
    """The smallest recovery after which episodes seldom came back; None where there is none.

    Args:
        levels: Of each round of a repetition, its danger and the share of all episodes that went beyond.
        courses: Its episodes.
    """
    dangers, rareness = _scale(levels)
    for recovery in RECOVERIES:
        roulette = Roulette(dangers, rareness, recovery)
        if roulette.share_back(courses) <= SELDOM:
            return roulette
    return None


def _scale(levels: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How rare it is to come as far as each danger: all that lies up to the first level is common."""
    beyond = dict(levels)  # of several rounds at one danger the last one went beyond all of it
    dangers = tuple(sorted(danger for danger, share in beyond.items() if share > 0))
    return dangers, (0.0, *(float(-np.log(beyond[danger])) for danger in dangers))
