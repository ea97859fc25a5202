"""Returns on exactly these cases: means without known bounds, stratified by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tightrope.statistics.bounded import ENOUGH_TO_KNOW_THE_RANGE, Bounds, Floats
from tightrope.statistics.estimate import CONFIDENCE, ON_THESE_CASES, Estimate
from tightrope.statistics.quantiles import student_quantile
from tightrope.statistics.strata import OpenStrata, Stratum, freedom_of_sum

NEVER_FAILED = "no execution failed, so what a fail would earn is not known: no interval"
ALWAYS_FAILED = "every execution failed, so what a pass would earn is not known: no interval"


def stratified_mean_estimate(strata: Sequence[Stratum], *, confidence: float = CONFIDENCE) -> Estimate:
    """The weighted mean of the means of these cases, for values without known bounds (returns).

    Student's interval is too narrow where one execution in ten ends far off. So it is widened, on each side and in
    quadrature, by what an execution as far from its case's mean as the farthest one seen would do if it happened so
    rarely that it was missed. That takes enough executions to show how far they reach: with fewer there is no interval.

    Where it is said which executions failed, a case that never did may do so yet, and then earn what the fails of other
    cases earn; where a stratum says how far another execution may reach, that takes the place of the farthest one seen.
    If none failed at all there is no interval: 110 executions that fail once in fifty show no fail in one
    sample of nine, and the mean is not in an interval that is made of passes.
    """
    sample = OpenStrata.of(strata)
    if sample is None:
        return Estimate.of_nothing(question=ON_THESE_CASES)
    if not np.isfinite(sample.value):
        return Estimate.of_nothing("not all values are finite", ON_THESE_CASES)
    if not sample.values:
        return sample.exact(ON_THESE_CASES)
    kinds = _Kinds.of(strata)
    open_strata = [stratum for stratum in strata if len(stratum.values) and not stratum.certain]
    blocks = _blocks(sample, open_strata, kinds)
    unknown = next((stratum.reach for stratum in open_strata if isinstance(stratum.reach, str)), None)
    why = _why_no_interval(sample, blocks) or unknown or kinds.why_no_interval
    if why is not None:
        return Estimate(sample.value, None, None, sample.n, why, ON_THESE_CASES)
    low, high = _limits(sample, blocks, [*kinds.seen, *filter(None, map(_reach, open_strata))], confidence)
    method = f"{confidence:.0%} stratified by case, Student, widened for what may have been missed"
    return Estimate(sample.value, low, high, sample.n, method, ON_THESE_CASES)


@dataclass(frozen=True)
class _Kinds:
    """What executions that fail earn, and what those that do not: the least and the greatest; None: none was seen."""

    told: bool
    fails: Bounds | None
    passes: Bounds | None

    @classmethod
    def of(cls, strata: Sequence[Stratum]) -> _Kinds:
        told = [stratum for stratum in strata if stratum.failed is not None]
        seen = [pair for stratum in told for pair in zip(stratum.values, stratum.failed or (), strict=True)]
        fails, passes = ([value for value, failed in seen if failed is kind] for kind in (True, False))
        return cls(
            told=bool(told),
            fails=(min(fails), max(fails)) if fails else None,
            passes=(min(passes), max(passes)) if passes else None,
        )

    @property
    def seen(self) -> list[Bounds]:
        """What either kind was seen to earn."""
        return [bounds for bounds in (self.fails, self.passes) if bounds is not None]

    @property
    def why_no_interval(self) -> str | None:
        if not self.told or (self.fails and self.passes):
            return None
        return ALWAYS_FAILED if self.fails else NEVER_FAILED

    def unseen_in(self, stratum: Stratum) -> Bounds | None:
        """What the kind earns elsewhere that no execution of this case was of."""
        if not stratum.failed or len(set(stratum.failed)) > 1:
            return None
        return self.passes if stratum.failed[0] else self.fails


@dataclass(frozen=True)
class _Block:
    """How the values of one stratum lie around their mean; strata of one execution make a block together."""

    variance: float
    """What it adds to the variance of the whole."""
    freedom: float
    below: float
    above: float
    """The farthest values, from the mean of all others."""

    def reaching(self, mean: float, bounds: Bounds | None) -> _Block:
        """The same if an execution might also earn what lies within the bounds."""
        if bounds is None:
            return self
        return replace(self, below=min(self.below, bounds[0] - mean), above=max(self.above, bounds[1] - mean))


def _blocks(sample: OpenStrata, strata: Sequence[Stratum], kinds: _Kinds) -> list[_Block]:
    pairs = list(zip(sample.weights, sample.values, strict=True))
    blocks = [
        _Block(
            variance=float(weight**2 * values.var(ddof=1) / values.size),
            freedom=values.size - 1,
            below=float(values.min() - values.mean()) * values.size / (values.size - 1),
            above=float(values.max() - values.mean()) * values.size / (values.size - 1),
        )
        .reaching(float(values.mean()), kinds.unseen_in(stratum))
        .reaching(float(values.mean()), _reach(stratum))
        for (weight, values), stratum in zip(pairs, strata, strict=True)
        if values.size > 1
    ]
    single = [(weight, float(values[0])) for weight, values in pairs if values.size == 1]
    return [*blocks, *_block_of_single(single, pairs)] if single else blocks


def _reach(stratum: Stratum) -> Bounds | None:
    return None if isinstance(stratum.reach, str) else stratum.reach


def _block_of_single(single: list[tuple[float, float]], pairs: list[tuple[float, Floats]]) -> list[_Block]:
    """Cases executed once show their spread only among each other; a lone one is taken for as wild as the wildest."""
    if len(single) == 1:
        wildest = max((float(values.var(ddof=1)) for _, values in pairs if values.size > 1), default=0.0)
        return [_Block(variance=single[0][0] ** 2 * wildest, freedom=1, below=0.0, above=0.0)]
    weights, values = (np.array(part) for part in zip(*single, strict=True))
    k = len(single)
    off = (values - weights @ values / weights.sum()) * k / (k - 1)
    variance = float(weights**2 @ off**2) * (k - 1) / k
    return [_Block(variance=variance, freedom=k - 1, below=float(off.min()), above=float(off.max()))]


def _why_no_interval(sample: OpenStrata, blocks: Sequence[_Block]) -> str | None:
    if sample.sizes.sum() < ENOUGH_TO_KNOW_THE_RANGE:
        return f"fewer than {ENOUGH_TO_KNOW_THE_RANGE} executions: no interval"
    if all(block.variance == block.below == block.above == 0 for block in blocks):
        return "all executions of a case earn the same: no interval can be made of them"
    return None


def _limits(
    sample: OpenStrata, blocks: Sequence[_Block], reaches: Sequence[Bounds], confidence: float
) -> tuple[float, float]:
    variances = np.array([block.variance for block in blocks])
    freedom = freedom_of_sum(variances, np.array([block.freedom for block in blocks]))
    reach = student_quantile((1 + confidence) / 2, freedom) * float(np.sqrt(variances.sum()))
    # An execution of chance e is missed by n executions with probability (1 - e)ⁿ, about exp(-e n).
    missed = -float(np.log((1 - confidence) / 2)) * sample.heaviest
    low = sample.value - float(np.hypot(reach, missed * min(block.below for block in blocks)))
    high = sample.value + float(np.hypot(reach, missed * max(block.above for block in blocks)))
    # A mean lies nowhere that no execution has been or may be.
    share = float(sample.weights.sum())
    seen = [*reaches, *((float(v.min()), float(v.max())) for v in sample.values)]
    least, greatest = min(low for low, _ in seen), max(high for _, high in seen)
    return max(low, sample.fixed + share * least), min(high, sample.fixed + share * greatest)
