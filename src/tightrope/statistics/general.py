"""In situations like these: what was found once varies, so references are the sample."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.statistics.bounded import Bounds
from tightrope.statistics.estimate import CONFIDENCE, IN_GENERAL, Estimate
from tightrope.statistics.means import mean_estimate


def general_estimate(
    values: Sequence[float],
    *,
    bounds: Bounds = (0.0, 1.0),
    unit: str = "reference",
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean over references, one value each, as a guess at what other references would show.

    Boundary states of one reference are neighbours and agree; taken for a sample of their own they promise far too
    much. With one reference there is a value but no interval.
    """
    found = mean_estimate(values, bounds=bounds, confidence=confidence).answering(IN_GENERAL)
    if found.n == 1:
        return found.without_interval(f"one {unit}: nothing shows how others would differ, so there is no interval")
    return found if found.low is None else _named(found, unit, confidence)


def _plural(unit: str) -> str:
    return f"{unit}es" if unit.endswith("x") else f"{unit}s"


def _named(found: Estimate, unit: str, confidence: float) -> Estimate:
    return Estimate(
        found.value, found.low, found.high, found.n, f"{confidence:.0%} over {found.n} {_plural(unit)}", found.question
    )
