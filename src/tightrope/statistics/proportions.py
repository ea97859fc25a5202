"""Rates: how often something happened among so many tries of one kind."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

from scipy import stats

from tightrope.statistics.estimate import CONFIDENCE, Estimate

Method: TypeAlias = Literal["exact", "wilson"]
NEARLY_NONE = 1e-9
"""Fractions of a hit below this are rounding."""


def rate_estimate(
    hits: int,
    n: int,
    *,
    method: Method = "exact",
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
    low, high = _limits(int(hits), int(n), method, confidence)
    return Estimate(hits / n, low, high, n, f"{confidence:.0%} {names[method]}")


@lru_cache(maxsize=4096)
def _limits(hits: int, n: int, method: Method, confidence: float) -> tuple[float, float]:
    # Thousands of cases have the same few counts, and finding the limits takes milliseconds.
    interval = stats.binomtest(hits, n).proportion_ci(confidence_level=confidence, method=method)
    return float(interval.low), float(interval.high)


def beta_limits(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson limits, also for fractions of a hit."""
    tail = (1 - confidence) / 2
    misses = n - hits
    low = 0.0 if hits < NEARLY_NONE else float(stats.beta.ppf(tail, hits, misses + 1))
    high = 1.0 if misses < NEARLY_NONE else float(stats.beta.ppf(1 - tail, hits + 1, misses))
    return low, high
