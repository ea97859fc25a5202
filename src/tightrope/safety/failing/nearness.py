"""When are two blame points near each other in what was seen there?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from tightrope.explanation import Explanation

NEAR = 0.05
"""Observations of real numbers are near where no number differs by more than this share of what it reached along the
failing episodes: keys made of them hardly ever come twice."""


@dataclass(frozen=True)
class Nearness:
    """When two blame points are near each other."""

    spans: Sequence[float]
    """How far each number of the observations reached."""
    share: float
    on_the_whole: bool = False

    def near(self, a: Explanation, b: Explanation) -> bool:
        """Whether these two are."""
        if a.observation is None or b.observation is None:
            return False
        if not len(a.observation) == len(b.observation) == len(self.spans):
            return False
        pairs = zip(a.observation, b.observation, self.spans, strict=True)
        apart = [abs(x - y) / span if span else 0.0 for x, y, span in pairs]
        return (sqrt(fmean(x * x for x in apart)) if self.on_the_whole else max(apart)) <= self.share


def spans_of(explanations: Iterable[Explanation | None]) -> list[float]:
    """How far each number of the observations reached along all the episodes."""
    seen = [each.reach for each in explanations if each is not None and each.reach is not None]
    return [max(high for _, high in column) - min(low for low, _ in column) for column in zip(*seen, strict=False)]
