"""Which failures are one: those lost at the same moment by the same decision."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.failures.moments import Moment
from tightrope.failures.result import FoundFailure

NEAR = 0.05
"""Observations of real numbers are near where no number differs by more than this share of its span over all moments:
keys made of them hardly ever come twice."""


def most_likely_first(found: Sequence[FoundFailure]) -> list[FoundFailure]:
    """In order of likelihood; of equals the shorter disturbance and the shorter way first."""
    return sorted(found, key=_rank)


def one_of_each_cause(found: Sequence[FoundFailure]) -> tuple[FoundFailure, ...]:
    """The most likely failure of each cause, in order."""
    spans = _spans([each.moment for each in found])
    kept: list[FoundFailure] = []
    for each in most_likely_first(found):
        if not any(_one_cause(each, other, spans) for other in kept):
            kept.append(each)
    return tuple(kept)


def _rank(found: FoundFailure) -> tuple[float, int, int]:
    likelihood, steps = found.disturbance.total
    return -likelihood, steps, len(found.trace)


def _one_cause(one: FoundFailure, other: FoundFailure, spans: Sequence[float]) -> bool:
    """What was not decided stands for the situation in which the agent took over."""
    a, b = one.moment, other.moment
    if a is None or b is None:
        start = one.trace.seed == other.trace.seed and one.episode.prefix_steps == other.episode.prefix_steps
        return a is b and start and one.episode.checksum == other.episode.checksum
    return a.action == b.action and one.avoidable is other.avoidable and _one_place(a, b, spans)


def _one_place(a: Moment, b: Moment, spans: Sequence[float]) -> bool:
    if a.key == b.key:
        return True
    if a.observation is None or b.observation is None or len(a.observation) != len(b.observation):
        return False
    pairs = zip(a.observation, b.observation, spans, strict=True)
    return all(abs(x - y) <= NEAR * span for x, y, span in pairs)


def _spans(moments: Sequence[Moment | None]) -> list[float]:
    seen = [each.observation for each in moments if each is not None and each.observation is not None]
    return [max(column) - min(column) for column in zip(*seen, strict=False)]
