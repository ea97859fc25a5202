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
    left_out: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean over references, one value each, as a guess at what other references would show.

    Boundary states of one reference are neighbours and agree; taken for a sample of their own they promise far too
    much. With one reference there is a value but no interval. ``left_out``: so many more there are that were chosen
    by where an agent fails, which are no sample.
    """
    found = mean_estimate(values, bounds=bounds, confidence=confidence).answering(IN_GENERAL)
    if left_out and not found.n:
        return Estimate.of_nothing(f"only {_left_out(left_out, unit)}: no sample of situations like these", IN_GENERAL)
    told = f", without {_left_out(left_out, unit)}" if left_out else ""
    if found.n == 1:
        return found.without_interval(
            f"one {unit}{told}: nothing shows how others would differ, so there is no interval"
        )
    return found if found.low is None else _named(found, f"{_plural(unit)}{told}", confidence)


def _left_out(number: int, unit: str) -> str:
    return f"{number} {unit if number == 1 else _plural(unit)} chosen by where an agent fails"


def _plural(unit: str) -> str:
    return f"{unit}es" if unit.endswith("x") else f"{unit}s"


def _named(found: Estimate, units: str, confidence: float) -> Estimate:
    return Estimate(
        found.value, found.low, found.high, found.n, f"{confidence:.0%} over {found.n} {units}", found.question
    )
