"""Means of independent values: returns of episodes, rates of references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tightrope.statistics.bounded import ENOUGH_TO_KNOW_THE_RANGE, Bounds, Floats, bounded_limits, seen_bounds
from tightrope.statistics.estimate import CONFIDENCE, Estimate

TOO_FEW = f"fewer than {ENOUGH_TO_KNOW_THE_RANGE} values and no bounds known: no interval"


def mean_estimate(
    values: Sequence[float],
    *,
    bounds: Bounds | str | None = None,
    deterministic: bool = False,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean of independent values, with an interval that holds whatever their distribution within ``bounds`` is.

    ``bounds`` are those of a rate or difference, or those seen among more values of the kind; None: those of the values
    themselves, if they are enough to tell; a text: why nobody can tell. No interval for a mean can hold without: ten
    returns that agree say nothing about the eleventh. ``deterministic``: the values are copies of one execution that
    cannot differ.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        return Estimate.of_nothing()
    if not np.all(np.isfinite(sample)):
        return Estimate.of_nothing("not all values are finite")
    value, n = float(sample.mean()), int(sample.size)
    if deterministic:
        return Estimate.certain(value)
    limits = mean_limits(sample, bounds, confidence)
    if isinstance(limits, str):
        return Estimate(value, None, None, n, limits)
    (low, high), (least, greatest) = limits
    return Estimate(value, low, high, n, f"{confidence:.0%} for values between {least:.6g} and {greatest:.6g}")


def difference_estimate(
    a: Sequence[float],
    b: Sequence[float],
    *,
    bounds: tuple[Bounds | str | None, Bounds | str | None] = (None, None),
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean of ``a`` minus the mean of ``b``, for two independent samples.

    The distances of the two intervals' limits from their means are joined in quadrature (Zou and Donner 2008).
    """
    of_a, of_b = (
        mean_estimate(values, bounds=known, confidence=confidence) for values, known in zip((a, b), bounds, strict=True)
    )
    if of_a.value is None or of_b.value is None:
        return Estimate.of_nothing(of_b.method if of_a.value is not None else of_a.method)
    value, n = of_a.value - of_b.value, of_a.n + of_b.n
    if of_a.low is None or of_a.high is None or of_b.low is None or of_b.high is None:
        return Estimate(value, None, None, n, of_b.method if of_a.low is not None else of_a.method)
    low = value - float(np.hypot(of_a.value - of_a.low, of_b.high - of_b.value))
    high = value + float(np.hypot(of_a.high - of_a.value, of_b.value - of_b.low))
    return Estimate(value, low, high, n, f"{confidence:.0%} of two samples, {of_a.method}; {of_b.method}")


def paired_difference_estimate(
    a: Sequence[float], b: Sequence[float], *, bounds: Bounds | str | None = None, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of ``a[i] - b[i]``, for values measured in pairs."""
    if len(a) != len(b):
        raise ValueError(f"paired values need equal numbers on both sides, not {len(a)} and {len(b)}")
    differences = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return mean_estimate(differences.tolist(), bounds=bounds, confidence=confidence)


def mean_limits(sample: Floats, bounds: Bounds | str | None, confidence: float) -> tuple[Bounds, Bounds] | str:
    """Limits of the mean and the bounds they rest on; or why there are none."""
    if sample.size == 1:
        return "one value: no interval"
    if isinstance(bounds, str):
        return bounds
    known = bounds or seen_bounds(sample)
    if known is None:
        return TOO_FEW if sample.size < ENOUGH_TO_KNOW_THE_RANGE else no_spread(int(sample.size))
    least, greatest = min(known[0], float(sample.min())), max(known[1], float(sample.max()))
    return bounded_limits(sample, (least, greatest), confidence), (least, greatest)


def no_spread(n: int) -> str:
    """Why there is no interval."""
    return "one value: no interval" if n == 1 else f"all {n} values are equal: no interval can be made of them"
