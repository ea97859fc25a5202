"""How two measurements go together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from tightrope.statistics.estimate import CONFIDENCE, Estimate


def correlation_estimate(xs: Sequence[float], ys: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate:
    """Pearson's coefficient with Fisher's interval; it takes 2 points for a value and 4 for an interval."""
    a, b = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    if a.size != b.size:
        raise ValueError(f"a correlation needs pairs, not {a.size} and {b.size} values")
    if a.size < 2:
        return Estimate.of_nothing("a correlation needs 2 or more points")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return Estimate.of_nothing("one of the two does not vary: there is no correlation")
    value = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if a.size < 4 or abs(value) > 1 - 1e-12:
        return Estimate(value, None, None, a.size, "Pearson; no interval from fewer than 4 points or from a line")
    reach = stats.norm.ppf((1 + confidence) / 2) / np.sqrt(a.size - 3)
    low, high = np.tanh(np.arctanh(value) + np.array([-reach, reach]))
    return Estimate(value, float(low), float(high), a.size, f"{confidence:.0%} Pearson, Fisher's interval")
