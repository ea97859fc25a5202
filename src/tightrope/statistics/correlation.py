"""How two measurements go together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from scipy import stats

from tightrope.statistics.estimate import CONFIDENCE, Estimate


def correlation_estimate(
    xs: Sequence[float],
    ys: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Pearson's coefficient with Fisher's interval; it takes 2 points for a value and 4 for an interval.

    Points of one group, such as the suites of one agent, hang together: the interval counts the groups, not the points.
    """
    a, b = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    if a.size != b.size:
        raise ValueError(f"a correlation needs pairs, not {a.size} and {b.size} values")
    if a.size < 2:
        return Estimate.of_nothing("a correlation needs 2 or more points")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return Estimate.of_nothing("one of the two does not vary: there is no correlation")
    n = a.size if groups is None else len(set(groups))
    value = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if n < 4 or abs(value) > 1 - 1e-12:
        few = "points" if groups is None else "groups of points"
        return Estimate(value, None, None, n, f"Pearson; no interval from fewer than 4 {few} or from a line")
    reach = stats.norm.ppf((1 + confidence) / 2) / np.sqrt(n - 3)
    low, high = np.tanh(np.arctanh(value) + np.array([-reach, reach]))
    return Estimate(value, float(low), float(high), n, f"{confidence:.0%} Pearson, Fisher's interval")
