"""Means over boundary states of means over cases: what hangs together is resampled together.

A *group* holds the values of the cases at one boundary state. Every group weighs the same, every case the same within
its group; groups without values are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from scipy import stats

from tightrope.seeding import generator
from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.means import RESAMPLES, Floats, expanded_tail, student_limits

Groups = Sequence[Sequence[float]]

BLOCK = 1_000_000
"""Random numbers drawn at once: 8 MB, however many cases a boundary state has."""


def clustered_rate_estimate(
    groups: Groups, *, bounds: tuple[float, float] = (0.0, 1.0), unit: str = "boundary states",
    confidence: float = CONFIDENCE,
) -> Estimate:  # fmt: skip
    """The mean over groups of the group means, for values within bounds (a rate, a difference of rates).

    Groups, then the cases in each, are resampled by random weights that sum to 1 (the Bayesian bootstrap). For the
    upper limit one more group at the upper bound takes part, for the lower limit one at the lower bound: for values
    that are all 0 or 1 this is exactly the Clopper-Pearson interval over groups, it never collapses when all values are
    equal, and it covers at least as often as it says for every bounded distribution tried (Gaffke 2005; Phan, Thomas
    and Learned-Miller 2021). One group says little about the others, and the interval says so.
    """
    floor, ceiling = bounds
    samples = [(np.asarray(group, dtype=np.float64) - floor) / (ceiling - floor) for group in groups if len(group)]
    if not samples:
        return Estimate.of_nothing()
    means = [float(sample.mean()) for sample in samples]
    value, tail = fmean(means), (1 - confidence) / 2
    # Where groups are all 0 or all 1 the limits are known, and a gate must not hang on how they were resampled.
    whole = all(mean in (0.0, 1.0) for mean in means)
    low, high = _exact_limits(sum(means), len(means), tail) if whole else _bounded_limits(samples, tail)
    value, low, high = (floor + (ceiling - floor) * part for part in (value, min(low, value), max(high, value)))
    return Estimate(value, low, high, len(samples), f"{confidence:.0%} bootstrap over {unit}, then cases")


def _exact_limits(hits: float, n: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's."""
    low = 0.0 if hits == 0 else float(stats.beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(stats.beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high


def _bounded_limits(samples: list[Floats], tail: float) -> tuple[float, float]:
    rng = _generator(samples)
    weights = rng.standard_exponential((RESAMPLES, len(samples) + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    totals = np.zeros(RESAMPLES)
    for column, sample in enumerate(samples):
        totals += weights[:, column] * _weighted_means(sample, rng)
    low, high = np.quantile(totals, tail), np.quantile(totals + weights[:, -1], 1 - tail)
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


def _weighted_means(sample: Floats, rng: np.random.Generator) -> Floats | float:
    """Means of one group's cases under random weights."""
    if np.ptp(sample) == 0:
        return float(sample[0])
    rows = max(1, BLOCK // sample.size)
    means = []
    for start in range(0, RESAMPLES, rows):
        weights = rng.standard_exponential((min(rows, RESAMPLES - start), sample.size))
        means.append(weights @ sample / weights.sum(axis=1))
    return np.concatenate(means)


def clustered_mean_estimate(
    groups: Groups, *, unit: str = "boundary states", confidence: float = CONFIDENCE
) -> Estimate:
    """The mean over groups of the group means, for values without known bounds (returns).

    Groups, then the cases in each, are drawn with replacement; the interval is never narrower than Student's over the
    group means.
    """
    samples = [np.asarray(group, dtype=np.float64) for group in groups if len(group)]
    if not samples:
        return Estimate.of_nothing()
    means = np.array([sample.mean() for sample in samples])
    value, n = float(means.mean()), len(samples)
    if not np.isfinite(value):
        return Estimate.of_nothing("not all values are finite")
    if n == 1:
        return Estimate(value, None, None, 1, f"one of the {unit}: no interval")
    if np.ptp(means) == 0:
        return Estimate(value, None, None, n, f"all {n} {unit} have the same mean: no interval can be made of them")
    tail = expanded_tail(n - 1, n, confidence)
    drawn_low, drawn_high = np.quantile(_two_stage_means(samples), [tail, 1 - tail])
    low, high = student_limits(value, float(stats.sem(means)), n - 1, confidence)
    return Estimate(
        value, float(min(low, drawn_low)), float(max(high, drawn_high)), n,
        f"{confidence:.0%} bootstrap over {unit}, then cases",
    )  # fmt: skip


def _two_stage_means(samples: list[Floats]) -> Floats:
    rng = _generator(samples)
    picked = rng.integers(len(samples), size=(RESAMPLES, len(samples)))
    totals = np.zeros(RESAMPLES)
    for index, sample in enumerate(samples):
        rows, _ = np.nonzero(picked == index)
        means = np.empty(rows.size)
        step = max(1, BLOCK // sample.size)
        for start in range(0, rows.size, step):
            size = (min(step, rows.size - start), sample.size)
            means[start : start + step] = sample[rng.integers(sample.size, size=size)].mean(axis=1)
        totals += np.bincount(rows, weights=means, minlength=RESAMPLES)
    return totals / len(samples)


def events_per_exposure(
    events: Sequence[float],
    exposures: Sequence[float],
    *,
    per: float = 1000.0,
    unit: str = "boundary states",
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Events per ``per`` units of exposure (fails per 1000 steps), from the counts of several groups.

    An event takes at least one unit of exposure. The interval is the wider, on each side, of Student's over groups (on
    the logarithm, as rates are skewed) and the Poisson interval of the total: the first sees that events come in
    clumps, the second does not collapse when there are none.
    """
    counts, amounts = np.asarray(events, dtype=np.float64), np.asarray(exposures, dtype=np.float64)
    # A group without exposure says nothing, and must not pass for one that agrees with the rest.
    counts, amounts = counts[amounts > 0], amounts[amounts > 0]
    total, found = float(amounts.sum()), float(counts.sum())
    if total <= 0:
        return Estimate.of_nothing()
    rate = found / total
    tail = (1 - confidence) / 2
    low = 0.0 if found == 0 else float(stats.chi2.ppf(tail, 2 * found)) / 2 / total
    high = float(stats.chi2.ppf(1 - tail, 2 * found + 2)) / 2 / total
    if counts.size > 1 and found > 0:
        factor = _spread_factor(counts, amounts, confidence)
        low, high = min(low, rate / factor), max(high, rate * factor)
    method = f"{confidence:.0%}, the wider of Student over {unit} and Poisson"
    return Estimate(per * rate, per * low, per * min(high, 1.0), counts.size, method)


def _spread_factor(counts: Floats, amounts: Floats, confidence: float) -> float:
    """By which a rate may be off, judged by how the groups differ from it."""
    n, rate = counts.size, counts.sum() / amounts.sum()
    error = np.sqrt(n / (n - 1) * ((counts - rate * amounts) ** 2).sum()) / amounts.sum()
    # Beyond e⁵⁰ the limits are 0 and the cap anyway.
    return float(np.exp(min(stats.t.ppf((1 + confidence) / 2, n - 1) * error / rate, 50.0)))


def _generator(samples: list[Floats]) -> np.random.Generator:
    return generator("clusters", *(sample.tobytes().hex() for sample in samples))
