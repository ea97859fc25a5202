"""Which failures are one: those lost at the same moment by the same decision."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tightrope.failures.moments import LastMoment
from tightrope.failures.result import FoundFailure

NEAR = 0.05
"""Observations of real numbers are near where no number differs by more than this share of its span over all ways to
the moments: keys made of them hardly ever come twice. Were it the span over the moments themselves, failures that are
all alike would be far from each other."""


def most_likely_first(found: Sequence[FoundFailure]) -> list[FoundFailure]:
    """In order of likelihood; of equals the shorter disturbance and the shorter way first."""
    return sorted(found, key=_rank)


def one_of_each_cause(found: Sequence[FoundFailure]) -> tuple[FoundFailure, ...]:
    """The most likely failure of each cause, in order."""
    spans = _spans([each.moment for each in found])
    # Told apart by their keys first: of thousands of failures of a weak agent most are the same few.
    distinct = {_exact_cause(each): each for each in reversed(most_likely_first(found))}
    kept: list[FoundFailure] = []
    for each in most_likely_first([*distinct.values()]):
        if not any(_one_cause(each, other, spans) for other in kept):
            kept.append(each)
    return tuple(kept)


def _exact_cause(found: FoundFailure) -> tuple[Hashable, ...]:
    """What failures of one cause share where nothing has to be near."""
    moment = found.moment
    if moment is None:
        return found.trace.seed, found.episode.prefix_steps, found.episode.checksum
    return moment.action, found.avoidable, moment.key


def _rank(found: FoundFailure) -> tuple[float, int, int]:
    likelihood, steps = found.disturbance.total
    return -likelihood, steps, len(found.trace)


def _one_cause(one: FoundFailure, other: FoundFailure, spans: Sequence[float]) -> bool:
    """Of two whose keys differ; what was not decided stands for the situation in which the agent took over."""
    a, b = one.moment, other.moment
    if a is None or b is None:
        return False  # those were told apart by their keys
    return a.action == b.action and one.avoidable is other.avoidable and _one_place(a, b, spans)


def _one_place(a: LastMoment, b: LastMoment, spans: Sequence[float]) -> bool:
    if a.key == b.key:
        return True
    if a.observation is None or b.observation is None or len(a.observation) != len(b.observation):
        return False
    pairs = zip(a.observation, b.observation, spans, strict=True)
    return all(abs(x - y) <= NEAR * span for x, y, span in pairs)


def _spans(moments: Sequence[LastMoment | None]) -> list[float]:
    reaches = [each.reach for each in moments if each is not None and each.reach is not None]
    return [max(high for _, high in column) - min(low for low, _ in column) for column in zip(*reaches, strict=False)]
