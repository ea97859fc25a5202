"""Means of independent values that lie within bounds, whatever their distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tightrope.seeding import generator
from tightrope.statistics.proportions import beta_limits

Floats = NDArray[np.float64]
Bounds = tuple[float, float]

RESAMPLES = 4000
"""Enough that the limits of an interval move by about 1 % of its width from seed to seed."""

ENOUGH_TO_KNOW_THE_RANGE = 50
"""So many values show how far such values reach: what one in ten does is missed by all of them in 1 of 200 samples.
With 30 it is 1 of 24, and intervals for returns of which one in ten is a loss held the mean in 0.92 instead of 0.95."""

LARGEST_SHARED = 64
"""Sample size up to which draws are kept: 2 MB each. A report has thousands of samples of the same few sizes."""

BLOCK = 1_000_000
"""Random numbers drawn at once: 8 MB, however many values there are."""


def seen_bounds(values: Sequence[float] | Floats) -> Bounds | None:
    """The least and the greatest of the values, where they are enough to tell and differ at all."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.size < ENOUGH_TO_KNOW_THE_RANGE or not np.all(np.isfinite(sample)) or np.ptp(sample) == 0:
        return None
    return float(sample.min()), float(sample.max())


def bounded_limits(values: Sequence[float] | Floats, bounds: Bounds, confidence: float) -> Bounds:
    """Limits for the mean of the distribution that the values were drawn from.

    Values get random weights that sum to 1 (the Bayesian bootstrap). For the upper limit one more value at the upper
    bound takes part, for the lower limit one at the lower bound. For values that are all at a bound this is exactly the
    Clopper-Pearson interval; it never collapses when all values are equal, and it covers at least as often as it says
    for every bounded distribution tried (Gaffke 2005; Phan, Thomas and Learned-Miller 2021).
    """
    floor, ceiling = bounds
    sample = (np.asarray(values, dtype=np.float64) - floor) / (ceiling - floor)
    mean = float(sample.mean())
    if np.all((sample == 0) | (sample == 1)):
        # Known exactly, and a gate must not hang on how values were resampled.
        low, high = beta_limits(float(sample.sum()), sample.size, confidence)
    else:
        low, high = _weighted_limits(sample, (1 - confidence) / 2)
    return floor + (ceiling - floor) * min(low, mean), floor + (ceiling - floor) * max(high, mean)


def _weighted_limits(sample: Floats, tail: float) -> Bounds:
    size = sample.size + 1
    # The rows of one draw hang on its size alone, so that they can be kept.
    blocks = [_shared_weights(size)] if size <= LARGEST_SHARED else _weights(size)
    lows, highs = [], []
    for weights in blocks:
        lows.append(weights[:, :-1] @ sample)
        highs.append(lows[-1] + weights[:, -1])
    low, high = np.quantile(np.concatenate(lows), tail), np.quantile(np.concatenate(highs), 1 - tail)
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


def _weights(size: int) -> Iterator[Floats]:
    """Random weights that sum to 1, the same in every process."""
    rng, rows = generator("bounded mean", size), max(1, BLOCK // size)
    for start in range(0, RESAMPLES, rows):
        weights = rng.standard_exponential((min(rows, RESAMPLES - start), size))
        yield weights / weights.sum(axis=1, keepdims=True)


@lru_cache(maxsize=16)
def _shared_weights(size: int) -> Floats:
    return np.concatenate(list(_weights(size)))
