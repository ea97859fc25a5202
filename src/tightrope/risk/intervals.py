"""From repetitions of splitting to a probability with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightrope.risk.splitting import Repetition
from tightrope.statistics import CONFIDENCE, Estimate, rate_estimate
from tightrope.statistics.quantiles import student_quantile

Floats: TypeAlias = NDArray[np.float64]

MOST_SEEN, MOST_TOLD = 0.35, 0.5
"""Standard error of the mean of the repetitions over that mean, above which a few of them carry the number: as they
tell it themselves, and as their families do, which are more."""
MORE_THAN_TOLD = 2.4
"""Times the variance that their families tell, above which repetitions differ by more than chance: five of them
do in 5 of 100 cases."""
SKEW_SEEN, SKEW_TOLD = 0.8, 0.6
"""How much further the upper limit reaches, for each unit of the repetitions' spread over their mean, where the
repetitions tell it; of the standard error, where their families do."""
MOST_ZEROS = 0.1
"""Share of repetitions that may end without a failure before their mean is believed less."""


def plain_estimate(failures: int, episodes: int) -> Estimate:
    """The share of plain episodes that failed."""
    return rate_estimate(failures, episodes)


def splitting_estimate(
    repetitions: Sequence[Repetition], plain_failures: int, plain_episodes: int
) -> tuple[Estimate, tuple[str, ...]]:
    """The mean of the repetitions with a 95 % interval, widened where they do not agree, and why."""
    plain = rate_estimate(plain_failures, plain_episodes)
    if not repetitions:
        return plain, (
            "no repetition of splitting was finished: they cost far more than the first trial; give a danger "
            "function, or a larger budget",
        )
    estimates = np.array([repetition.estimate for repetition in repetitions])
    value, n = float(estimates.mean()), len(estimates)
    error = _error(repetitions, estimates) if n > 1 and value > 0 else None
    doubts = tuple(_doubts(repetitions, estimates, error))
    if n < 2:
        doubts += (
            "only one repetition of splitting was finished: they cost far more than the first trial; give a "
            "danger function, or a larger budget",
        )
    low, high = (0.0, 1.0) if error is None else error.limits(value)
    if not doubts and plain.low is not None and plain.low > high:
        doubts = (
            f"{plain_failures} of {plain_episodes} plain episodes failed, more than the repetitions suggest: the guide "
            f"does not lead to every kind of failure; give a danger function that does",
        )
    if doubts:
        high = max(value, plain.high if plain.high is not None else 1.0)
        method = f"{CONFIDENCE:.0%} Clopper-Pearson of the {plain_episodes} plain episodes among them"
        return Estimate(value, min(plain.low or 0.0, value), high, n, method), doubts
    method = f"{CONFIDENCE:.0%} lognormal over {n} repetitions of splitting"
    return Estimate(value, low, min(1.0, high), n, method), ()


def _doubts(repetitions: Sequence[Repetition], estimates: Floats, error: _Error | None) -> list[str]:
    doubts = []
    empty = int((estimates == 0).sum())
    if empty > MOST_ZEROS * len(estimates):
        doubts.append(
            f"{empty} of {len(estimates)} repetitions met no failure: the guide does not lead to harm; give a "
            f"danger function, or a larger budget"
        )
    if error is not None and error.relative > error.most:
        doubts.append(
            f"its standard error is {error.relative:.0%} of the number: the repetitions disagree, or they rest on "
            f"a few families of episodes; give a danger function, or a larger budget"
        )
    if error is not None and all(repetition.roots == 1 for repetition in repetitions if repetition.estimate > 0):
        doubts.append(
            f"in every repetition all failures descend from one of its {repetitions[0].size} first episodes: it "
            f"rests on a few starts; give a danger function, or a larger budget"
        )
    return doubts


@dataclass(frozen=True)
class _Error:
    """How far the mean of the repetitions may be off."""

    relative: float
    """Its standard error over the mean."""
    known: int
    """Degrees of freedom of that."""
    stretch: float
    """How much further the upper limit reaches than the lower one."""
    most: float
    """What it may be at most for the number to be believed."""

    def limits(self, mean: float) -> tuple[float, float]:
        """A lognormal interval, its upper part stretched for skew.

        A repetition is a product of many factors, so a few large ones carry the mean and most samples lie below it. The
        stretch is what simulated repetitions need to be covered: those of splitting itself in 95 % and more, lognormal
        ones of any spread, which are worse, in 92 % and more, those counted that `MOST_SEEN` turns away.
        """
        reach = student_quantile((1 + CONFIDENCE) / 2, self.known) * float(np.sqrt(np.log1p(self.relative**2)))
        return mean * float(np.exp(-reach)), mean * float(np.exp(reach * self.stretch))


def _error(repetitions: Sequence[Repetition], estimates: Floats) -> _Error:
    """As the families tell it, which see more than a few repetitions do; as these do where they differ by more."""
    mean, n = float(estimates.mean()), len(estimates)
    seen = float(estimates.std(ddof=1)) / mean
    told = float(np.sqrt(np.mean([repetition.variance for repetition in repetitions]))) / mean
    # What a tree knows are its branches from the root: one alone could not differ from anything.
    branches = sum(max(0, repetition.roots - 1) for repetition in repetitions)
    if seen**2 > MORE_THAN_TOLD * told**2 or branches < n:
        return _Error(seen / float(np.sqrt(n)), n - 1, 1 + SKEW_SEEN * seen, MOST_SEEN)
    error = told / float(np.sqrt(n))
    return _Error(error, branches, 1 + SKEW_TOLD * error, MOST_TOLD)
