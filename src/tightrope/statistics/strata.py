"""On exactly these cases: each case is a stratum, and only its executions are random."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nan

import numpy as np

from tightrope.statistics.bounded import Bounds, Floats
from tightrope.statistics.estimate import CONFIDENCE, ON_THESE_CASES, Estimate
from tightrope.statistics.proportions import beta_limits
from tightrope.statistics.quantiles import student_quantile, student_tail

EXACT = "exact: nothing is random, so one execution of each case stands for all"

UNSEEN_FAILS = 2.0
"""Variance, in squared fails, kept for rare fails at the heaviest case that no execution has shown. Without it a case
that passed 20 of 20 times counts as sure, and intervals missed the truth in 10 instead of 5 of 100 samples; with 2
none of some 5,000 designs of 1 to 20 cases did, those of two cases enumerated."""

UNSEEN_PAIRS = 3.0
"""The same for executions that only one of two agents fails: with 3, six against none is the least that shows a
difference, as in McNemar's test."""


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """The executions of one case."""

    values: Sequence[float]
    """What came of each: 0 or 1 for a rate, -1 … 1 for a difference of two."""
    weight: float | Fraction = 1
    """Its share of the suite, relative to the others; as a fraction, the value is exact to the last digit."""
    certain: bool = False
    """Nothing is random here: one value stands for all."""
    failed: Sequence[bool] | None = None
    """Of returns: which executions failed; None: not said."""
    reach: Bounds | str | None = None
    """Of returns: within what another execution lies, however unlike those seen; a text: why nobody can tell."""


@dataclass(frozen=True)
class _Part:
    """A stratum with its share of the whole."""

    weight: Fraction
    sample: Floats
    certain: bool


def _sum(parts: Iterable[_Part]) -> float:
    """What they add up to, counted in fractions.

    In floats, agents that fail equally often in different places differ in the last digit, which is a fact where
    nothing is random; and a rate of 17.5 % is above a limit of 17.5 %.
    """
    sums: dict[tuple[Fraction, int], float] = defaultdict(float)
    for part in parts:
        sums[part.weight, part.sample.size] += float(part.sample.sum())
    if not all(map(isfinite, sums.values())):
        return nan
    return float(sum(weight * Fraction(total) / size for (weight, size), total in sums.items()))


@dataclass(frozen=True)
class OpenStrata:
    """The strata in which something is random, as arrays; the others only shift the value."""

    value: float
    """The mean over all strata."""
    fixed: float
    """The part of it that is certain."""
    n: int
    values: tuple[Floats, ...]
    weights: Floats

    @classmethod
    def of(cls, strata: Sequence[Stratum]) -> OpenStrata | None:
        """None when there are no values at all."""
        filled = [stratum for stratum in strata if len(stratum.values)]
        total = sum(Fraction(stratum.weight) for stratum in filled)
        if total <= 0:
            return None
        samples = [np.asarray(s.values[:1] if s.certain else s.values, dtype=np.float64) for s in filled]
        parts = [
            _Part(Fraction(s.weight) / total, sample, s.certain) for s, sample in zip(filled, samples, strict=True)
        ]
        random = [part for part in parts if not part.certain]
        return cls(
            value=_sum(parts),
            fixed=_sum(part for part in parts if part.certain),
            n=sum(sample.size for sample in samples),
            values=tuple(part.sample for part in random),
            weights=np.array([float(part.weight) for part in random]),
        )

    @property
    def sizes(self) -> Floats:
        """Executions of each."""
        return np.array([sample.size for sample in self.values], dtype=np.float64)

    @property
    def heaviest(self) -> float:
        """The most that one execution moves the value."""
        return float((self.weights / self.sizes).max())

    def exact(self, question: str) -> Estimate:
        """The estimate where nothing is random."""
        return Estimate(self.value, self.value, self.value, self.n, EXACT, question)


def stratified_rate_estimate(strata: Sequence[Stratum], *, confidence: float = CONFIDENCE) -> Estimate:
    """How often these cases fail: the weighted mean of their rates, for values of 0 and 1.

    The limits are Clopper and Pearson's for as many executions of one case as would give the same variance.

    - Never fewer than 1 / (the most that one execution moves the value). If all weigh the same this is their number:
      a sum of tries with different rates spreads less than one with equal rates (Hoeffding 1956), so pooling them is
      safe; and what an uneven sum has of variance is less than that of an even one of such steps.
    - More where cases differ: those that always fail and those that never do add little. The variance of a case with h
      fails of n is taken as (h + ½)(n - h + ½) / (n² + n + 1) per execution, which is on average at least the true one
      for every rate and every n, and `UNSEEN_FAILS` are added.
    """
    sample = OpenStrata.of(strata)
    if sample is None:
        return Estimate.of_nothing(question=ON_THESE_CASES)
    if not sample.values:
        return sample.exact(ON_THESE_CASES)
    share = float(sample.weights.sum())
    weights, sizes = sample.weights / share, sample.sizes
    hits = np.array([values.sum() for values in sample.values])
    rate = float(weights @ (hits / sizes))
    spread = (hits + 0.5) * (sizes - hits + 0.5) / (sizes**2 + sizes + 1)
    heaviest = sample.heaviest / share
    variance = float(weights**2 @ (spread / sizes)) + UNSEEN_FAILS * heaviest**2
    size = max(1 / heaviest, rate * (1 - rate) / variance)
    low, high = beta_limits(rate * size, size, confidence)
    low, high = (sample.fixed + share * limit for limit in (min(low, rate), max(high, rate)))
    method = f"{confidence:.0%} stratified by case, Clopper-Pearson"
    return Estimate(sample.value, low, high, sample.n, method, ON_THESE_CASES)


def stratified_difference(
    strata: Sequence[Stratum], *, confidence: float = CONFIDENCE
) -> tuple[Estimate, float | None]:
    """How much more often B fails than A on these cases, and how likely so much is if there is no difference.

    Values are 1 where only B fails, -1 where only A does, 0 otherwise, one per pair of executions. Interval and p-value
    are one and the same Student's test of the mean over the cases, so they never disagree. It is not assumed that A
    and B are alike in each case: a case with d unequal pairs of n and a surplus of s has the variance
    (d (n + 1)² / n - s²) / (n² + n + 1) per pair, on average at least the true one, and `UNSEEN_PAIRS` are added.
    Where nothing is random the difference is a fact: the p-value is 0, or 1 if there is none.
    """
    sample = OpenStrata.of(strata)
    if sample is None:
        return Estimate.of_nothing(question=ON_THESE_CASES), None
    if not sample.values:
        return sample.exact(ON_THESE_CASES), float(sample.value == 0)
    sizes = sample.sizes
    surplus = np.array([values.sum() for values in sample.values])
    unequal = np.array([np.abs(values).sum() for values in sample.values])
    spread = (unequal * (sizes + 1) ** 2 / sizes - surplus**2) / (sizes**2 + sizes + 1)
    parts = sample.weights**2 * spread / sizes
    error = float(np.sqrt(parts.sum() + UNSEEN_PAIRS * sample.heaviest**2))
    freedom = freedom_of_sum(parts, sizes - 1)
    reach = student_quantile((1 + confidence) / 2, freedom) * error
    p_value = 2 * student_tail(abs(sample.value) / error, freedom)
    method = f"{confidence:.0%} stratified by case, paired, Student"
    low, high = max(sample.value - reach, -1.0), min(sample.value + reach, 1.0)
    return Estimate(sample.value, low, high, sample.n, method, ON_THESE_CASES), p_value


def freedom_of_sum(variances: Floats, freedoms: Floats) -> float:
    """Welch's and Satterthwaite's degrees of freedom of a sum of variances; without any variance it is no estimate."""
    total = float(variances.sum())
    return float("inf") if total == 0 else total**2 / float((variances**2 / np.maximum(freedoms, 1)).sum())
