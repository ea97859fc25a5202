"""How two measurements go together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.quantiles import normal_quantile

FEWEST = 4
"""Fisher's interval needs four; three points lie near a line by chance, two always do."""


def correlation_estimate(
    xs: Sequence[float],
    ys: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Pearson's coefficient with Fisher's interval, from four points on.

    Points of one group, such as the suites of one agent, hang together: groups are what is counted, not points.
    """
    a, b = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    if a.size != b.size:
        raise ValueError(f"a correlation needs pairs, not {a.size} and {b.size} values")
    n = a.size if groups is None else len(set(groups))
    if n < FEWEST:
        few = "points" if groups is None else "agents"
        return Estimate.of_nothing(f"a correlation needs {FEWEST} or more {few}, not {n}")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return Estimate.of_nothing("one of the two does not vary: there is no correlation")
    value = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if abs(value) > 1 - 1e-12:
        return Estimate(value, None, None, n, "Pearson; no interval from points on a line")
    reach = normal_quantile((1 + confidence) / 2) / np.sqrt(n - 3)
    low, high = np.tanh(np.arctanh(value) + np.array([-reach, reach]))
    return Estimate(value, float(low), float(high), n, f"{confidence:.0%} Pearson, Fisher's interval")
