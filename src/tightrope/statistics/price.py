"""What fails cost to find: so many per thousand steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.statistics.bounded import Floats
from tightrope.statistics.estimate import CONFIDENCE, ON_THESE_CASES, Estimate
from tightrope.statistics.quantiles import student_quantile
from tightrope.statistics.strata import EXACT, Stratum, stratified_rate_estimate


def events_per_steps(
    strata: Sequence[Stratum],
    steps: Sequence[Sequence[float]],
    *,
    fixed: float,
    longest: float,
    per: float = 1000.0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Events per ``per`` steps on exactly these cases, every execution counted once.

    ``strata`` say in which executions the event happened, ``steps`` how long each took, ``fixed`` is the number of
    steps that do not hang on events (prefixes), ``longest`` the most that an execution can take.

    Events end executions, so their rate and the length of executions move together: steps are taken as a function of
    the rate, by the mean lengths with and without the event, and the limits of the rate are carried through it. How
    lengths vary besides is added in quadrature, with what may have been missed of them.
    """
    filled = [(s, np.asarray(taken, dtype=np.float64)) for s, taken in zip(strata, steps, strict=True) if len(s.values)]
    if not filled:
        return Estimate.of_nothing(question=ON_THESE_CASES)
    rate = stratified_rate_estimate(
        [Stratum(values=s.values, weight=len(s.values), certain=s.certain) for s, _ in filled], confidence=confidence
    )
    assert rate.value is not None
    assert rate.low is not None
    assert rate.high is not None
    length = _Length.of(
        np.concatenate([np.asarray(s.values, dtype=np.float64) for s, _ in filled]),
        np.concatenate([taken for _, taken in filled]), fixed, longest,
    )  # fmt: skip
    if length.at(rate.value) <= 0:
        return Estimate.of_nothing(question=ON_THESE_CASES)
    value = rate.value / length.at(rate.value)
    if all(s.certain for s, _ in filled):
        return Estimate(per * value, per * value, per * value, rate.n, EXACT, ON_THESE_CASES)
    shorter, longer = length.off(rate.value, confidence)
    low = value - np.hypot(value - rate.low / length.at(rate.low), value * longer)
    high = value + np.hypot(rate.high / length.at(rate.high) - value, value * shorter)
    method = f"{confidence:.0%} stratified by case, steps following from the rate"
    return Estimate(
        per * value, per * max(float(low), 0.0), per * min(float(high), 1.0), rate.n, method, ON_THESE_CASES
    )


@dataclass(frozen=True)
class _Length:
    """How long an execution takes on average, given how often the event happens."""

    fixed: float
    with_event: float
    without: float
    longest: float
    spread: float
    """Standard error of the mean length that is left when it is known which executions had the event."""
    n: int

    @classmethod
    def of(cls, events: Floats, steps: Floats, fixed: float, longest: float) -> _Length:
        happened = events > 0
        # Where one of the two was never seen: as short as an event can be, as long as an execution can be.
        with_event = float(steps[happened].mean()) if happened.any() else 1.0
        without = float(steps[~happened].mean()) if not happened.all() else longest
        left = steps - np.where(happened, with_event, without)
        spread = float(np.sqrt((left**2).sum() / (steps.size * max(steps.size - 2, 1))))
        return cls(fixed / steps.size, with_event, without, longest, spread, steps.size)

    def at(self, rate: float) -> float:
        """The mean length at this rate."""
        return self.fixed + rate * self.with_event + (1 - rate) * self.without

    def off(self, rate: float, confidence: float) -> tuple[float, float]:
        """By which factors a rate per step may be too low and too high because lengths vary."""
        reach = student_quantile((1 + confidence) / 2, max(self.n - 2, 1)) * self.spread
        missed = -float(np.log((1 - confidence) / 2)) / self.n
        whole = self.at(rate)
        varying = whole - self.fixed
        shorter = min(float(np.hypot(reach, missed * (varying - 1))), max(varying - 1, 0.0))
        longer = float(np.hypot(reach, missed * (self.longest - varying)))
        return shorter / (whole - shorter), longer / (whole + longer)
