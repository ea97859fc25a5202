"""Rates: how often something happened among so many tries of one kind."""

from __future__ import annotations

from math import sqrt
from typing import Literal

from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.quantiles import beta_quantile, normal_quantile

NEARLY_NONE = 1e-9
"""Fractions of a hit below this are rounding."""


def rate_estimate(
    hits: int,
    n: int,
    *,
    method: Literal["exact", "wilson"] = "exact",
    deterministic: bool = False,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The share of hits among n independent tries.

    ``method``: ``exact`` (Clopper-Pearson: covers at least as often as it says, whatever the true rate, which is what a
    gate needs) or ``wilson`` (narrower; covers as often as it says on average over rates, less near 0 and 1).
    """
    if not 0 <= hits <= n:
        raise ValueError(f"hits must lie between 0 and the number of tries, not {hits} of {n}")
    if n == 0:
        return Estimate.of_nothing()
    if deterministic:
        return Estimate.certain(hits / n)
    names = {"exact": "Clopper-Pearson", "wilson": "Wilson"}
    if method not in names:
        raise ValueError(f"method must be 'exact' or 'wilson', not {method!r}")
    low, high = (beta_limits if method == "exact" else _wilson_limits)(hits, n, confidence)
    return Estimate(hits / n, low, high, n, f"{confidence:.0%} {names[method]}")


def beta_limits(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson limits, also for fractions of a hit."""
    tail = (1 - confidence) / 2
    misses = n - hits
    low = 0.0 if hits < NEARLY_NONE else beta_quantile(tail, hits, misses + 1)
    high = 1.0 if misses < NEARLY_NONE else beta_quantile(1 - tail, hits + 1, misses)
    return low, high


def _wilson_limits(hits: float, n: float, confidence: float) -> tuple[float, float]:
    z = normal_quantile((1 + confidence) / 2)
    share = hits / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return 0.0 if hits == 0 else middle - reach, 1.0 if hits == n else middle + reach
