"""Means of rewards and the like: values without known bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tightrope.seeding import generator
from tightrope.statistics.estimate import CONFIDENCE, Estimate

RESAMPLES = 4000
"""Enough that the limits of an interval move by about 1 % of its width from seed to seed."""

Floats = NDArray[np.float64]


def mean_estimate(values: Sequence[float], *, deterministic: bool = False, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of independent values. ``deterministic``: they are copies of one execution that cannot differ."""
    sample = _finite(values)
    if sample.size == 0:
        return Estimate.of_nothing()
    if deterministic:
        return Estimate.certain(sample[0])
    return bootstrap_estimate(
        (sample,), lambda sample: sample.mean(axis=-1), confidence=confidence, what="bootstrap of the mean"
    )


def difference_estimate(
    a: Sequence[float], b: Sequence[float], *, deterministic: bool = False, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of ``a`` minus the mean of ``b``, for two independent samples."""
    first, second = _finite(a), _finite(b)
    if first.size == 0 or second.size == 0:
        return Estimate.of_nothing()
    if deterministic:
        return Estimate.certain(first[0] - second[0])
    return bootstrap_estimate(
        (first, second),
        lambda first, second: first.mean(axis=-1) - second.mean(axis=-1),
        confidence=confidence,
        what="bootstrap of the difference of means",
    )


def paired_difference_estimate(
    a: Sequence[float], b: Sequence[float], *, deterministic: bool = False, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of ``a[i] - b[i]``, for values measured in pairs."""
    if len(a) != len(b):
        raise ValueError(f"paired values need equal numbers on both sides, not {len(a)} and {len(b)}")
    differences = _finite(a) - _finite(b)
    return mean_estimate(differences.tolist(), deterministic=deterministic, confidence=confidence)


def iqm_estimate(
    groups: Sequence[Sequence[float]], *, deterministic: bool = False, confidence: float = CONFIDENCE
) -> Estimate:
    """The interquartile mean of all values together, resampled within each group (stratified bootstrap).

    A group of one value would be resampled into itself and hide its spread, so such groups are resampled together.
    """
    samples = [_finite(group) for group in groups if len(group)]
    if not samples:
        return Estimate.of_nothing()
    if deterministic:
        return Estimate.certain(interquartile_mean(np.concatenate(samples)).item())
    strata = [sample for sample in samples if sample.size > 1]
    singles = [sample for sample in samples if sample.size == 1]
    if singles:
        strata.append(np.concatenate(singles))
    return bootstrap_estimate(
        tuple(strata),
        lambda *resampled: interquartile_mean(np.concatenate(resampled, axis=-1)),
        confidence=confidence,
        what="stratified bootstrap of the interquartile mean",
    )


def interquartile_mean(values: Floats) -> Floats:
    """The mean of the middle half along the last axis."""
    trimmed: Floats = np.asarray(stats.trim_mean(values, 0.25, axis=-1), dtype=np.float64)
    return trimmed


def bootstrap_estimate(
    samples: tuple[Floats, ...], statistic: Callable[..., Floats], *, confidence: float, what: str
) -> Estimate:
    """A statistic of one or more samples with its bootstrap interval.

    Percentiles of a bootstrap are too narrow for small samples (by about 1/n of the variance, and the normal quantile
    stands where Student's belongs), so the percentiles are taken further out: Hesterberg's "expanded percentile"
    (The American Statistician 69, 2015).
    """
    value = float(statistic(*samples))
    n = sum(sample.size for sample in samples)
    if all(np.ptp(sample) == 0 for sample in samples):
        return Estimate(value, None, None, n, _no_spread(n))
    draws = resampled(samples, statistic)
    tail = expanded_tail(min(sample.size for sample in samples if np.ptp(sample) > 0), confidence)
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Estimate(value, float(min(low, value)), float(max(high, value)), n, f"{confidence:.0%} {what}")


def resampled(samples: tuple[Floats, ...], statistic: Callable[..., Floats]) -> Floats:
    """The statistic on resamples drawn with a generator derived from the samples alone."""
    rng = generator("bootstrap", *(sample.tobytes().hex() for sample in samples))
    picks = [sample[rng.integers(sample.size, size=(RESAMPLES, sample.size))] for sample in samples]
    return statistic(*picks)


def expanded_tail(n: int, confidence: float) -> float:
    """The tail probability at which a normal bootstrap of n values gives Student's interval."""
    reach = stats.t.ppf((1 + confidence) / 2, max(n - 1, 1)) * np.sqrt(n / max(n - 1, 1))
    return float(stats.norm.sf(reach))


def _no_spread(n: int) -> str:
    return "one value: no interval" if n == 1 else f"all {n} values are equal: no interval can be made of them"


def _finite(values: Sequence[float] | Any) -> Floats:
    sample = np.asarray(values, dtype=np.float64).ravel()
    if not np.all(np.isfinite(sample)):
        raise ValueError(f"a mean needs finite values, not {sample[~np.isfinite(sample)][0]}")
    return sample
