"""Rates: how often something happened among so many tries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from scipy import stats

from tightrope.statistics.estimate import CONFIDENCE, Estimate


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
    interval = stats.binomtest(hits, n).proportion_ci(confidence_level=confidence, method=method)
    return Estimate(hits / n, float(interval.low), float(interval.high), n, f"{confidence:.0%} {names[method]}")


def stratified_rate_estimate(
    hits: Sequence[int], tries: Sequence[int], *, deterministic: bool = False, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of the rates of several kinds of tries, each weighing the same; kinds without tries are left out.

    The kinds are all there are, so only the tries are random. A sum of tries with different rates varies less than one
    with equal rates (Hoeffding 1956), so the Clopper-Pearson interval of the total is a safe one; where the kinds have
    unequal numbers of tries, the total is the number of tries that would give the same variance.
    """
    pairs = [(hit, n) for hit, n in zip(hits, tries, strict=True) if n > 0]
    if not pairs:
        return Estimate.of_nothing()
    value = sum(hit / n for hit, n in pairs) / len(pairs)
    if deterministic:
        return Estimate(value, value, value, len(pairs), "deterministic: one execution of each case stands for all")
    total = len(pairs) ** 2 / sum(1 / n for _, n in pairs)
    low, high = beta_limits(value * total, total, confidence)
    return Estimate(
        value, low, high, sum(n for _, n in pairs), f"{confidence:.0%} Clopper-Pearson, each case weighing the same"
    )


def beta_limits(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson limits, also for fractions of a hit."""
    tail = (1 - confidence) / 2
    misses = max(n - hits, 0.0)
    low = 0.0 if hits <= 0 else float(stats.beta.ppf(tail, hits, misses + 1))
    high = 1.0 if misses <= 0 else float(stats.beta.ppf(1 - tail, hits + 1, misses))
    return low, high
