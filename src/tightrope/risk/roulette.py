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
from numpy.typing import NDArray

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
        walked = _walked(courses, self)
        starts = self._recoveries(walked)[0]
        which, first = np.unique(walked.course[starts], return_index=True)
        later = walked.ends[which] - starts[first]
        return float((1 - GOES_ON) * later[[not courses[one].first for one in which]].sum())

    def _share_back(self, walked: _Walked) -> float:
        """Of all recoveries, those after which the episode came closer to harm than before; one of either is added."""
        back = self._recoveries(walked)[1]
        return (int(back.sum()) + 1) / (len(back) + 2)

    def _recoveries(self, walked: _Walked) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where an episode was far back, at most once after each record, and whether another record followed."""
        far = np.flatnonzero(walked.behind >= self.recovery)
        records, first = np.unique(walked.record[far], return_index=True)
        starts = far[first]
        return starts, records < walked.record[walked.ends[walked.course[starts]] - 1]


@dataclass(frozen=True)
class _Walked:
    """Every step of several episodes, one episode after the other."""

    course: NDArray[np.int64]
    """Of which episode it is."""
    ends: NDArray[np.int64]
    """Of each episode, the place after its last step."""
    record: NDArray[np.int64]
    """The number of the last record; it rises with every one, through all episodes."""
    behind: NDArray[np.float64]
    """How much less rare the level of the step is than that of the record."""


def _walked(courses: Sequence[Course], scale: Roulette) -> _Walked:
    course = np.repeat(np.arange(len(courses)), [len(one.dangers) for one in courses])
    dangers, rank = np.unique([danger for one in courses for danger in one.dangers], return_inverse=True)
    # Ranks of a later episode are above those of all earlier ones, so that each begins with a record.
    lifted = rank + course * len(dangers)
    highest = np.maximum.accumulate(lifted)
    rareness = np.asarray(scale.rareness)[np.searchsorted(scale.dangers, dangers)]
    return _Walked(
        course,
        np.searchsorted(course, np.arange(len(courses)), side="right"),
        np.cumsum(np.diff(highest, prepend=-1) > 0),
        rareness[highest % len(dangers)] - rareness[rank],
    )


def learned_roulette(levels: Sequence[tuple[float, float]], courses: Sequence[Course]) -> Roulette | None:
    """The smallest recovery after which episodes seldom came back; None where there is none.

    Args:
        levels: Of each round of a repetition, its danger and the share of all episodes that went beyond.
        courses: Its episodes.
    """
    dangers, rareness = _scale(levels)
    walked = _walked(courses, Roulette(dangers, rareness, 0.0))
    for recovery in RECOVERIES:
        roulette = Roulette(dangers, rareness, recovery)
        if roulette._share_back(walked) <= SELDOM:
            return roulette
    return None


def _scale(levels: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How rare it is to come as far as each danger: all that lies up to the first level is common."""
    beyond = dict(levels)  # of several rounds at one danger the last one went beyond all of it
    dangers = tuple(sorted(danger for danger, share in beyond.items() if share > 0))
    return dangers, (0.0, *(float(-np.log(beyond[danger])) for danger in dangers))
