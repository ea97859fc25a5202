"""From repetitions of splitting to a probability with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightrope.risk.splitting import Repetition
from tightrope.statistics import CONFIDENCE, Estimate, rate_estimate
from tightrope.statistics.quantiles import student_quantile

Floats: TypeAlias = NDArray[np.float64]

MOST_ERROR = 0.35
"""Standard error of the mean of the repetitions over that mean, above which a few of them carry the number."""
SKEW = 0.8
"""How much further the upper limit reaches, for each unit of the repetitions' spread over their mean."""
MOST_ZEROS = 0.1
"""Share of repetitions that may end without a failure before their mean is believed less."""


def plain_estimate(failures: int, episodes: int) -> Estimate:
    """The share of plain episodes that failed."""
    return rate_estimate(failures, episodes)


def splitting_estimate(
    repetitions: Sequence[Repetition], plain_failures: int, plain_episodes: int
) -> tuple[Estimate, tuple[str, ...]]:
    """The mean of the repetitions with a 95 % interval, widened where they do not agree, and why."""
    estimates = np.array([repetition.estimate for repetition in repetitions])
    value, n = float(estimates.mean()), len(estimates)
    doubts = tuple(_doubts(repetitions, estimates))
    plain = rate_estimate(plain_failures, plain_episodes)
    low, high = _limits(estimates) if n > 1 and value > 0 else (0.0, 1.0)
    if not doubts and plain.low is not None and plain.low > high:
        doubts = (
            f"{plain_failures} of {plain_episodes} plain episodes failed, more than the repetitions tell: the guide "
            f"does not lead to every kind of failure; give a danger function that does",
        )
    if doubts or n < 2:
        high = max(value, plain.high if plain.high is not None else 1.0)
        method = f"{CONFIDENCE:.0%} Clopper-Pearson of the {plain_episodes} plain episodes among them"
        return Estimate(value, min(plain.low or 0.0, value), high, n, method), doubts
    method = f"{CONFIDENCE:.0%} lognormal over {n} repetitions of splitting"
    return Estimate(value, low, min(1.0, high), n, method), ()


def _doubts(repetitions: Sequence[Repetition], estimates: Floats) -> list[str]:
    doubts = []
    empty = int((estimates == 0).sum())
    if empty > MOST_ZEROS * len(estimates):
        doubts.append(
            f"{empty} of {len(estimates)} repetitions met no failure: the guide does not lead to harm; give a "
            f"danger function, or a larger budget"
        )
    mean = float(estimates.mean())
    if mean > 0 and float(estimates.std(ddof=1)) > MOST_ERROR * float(np.sqrt(len(estimates))) * mean:
        doubts.append(
            "the repetitions disagree: a few of them carry the number; give a danger function, or a larger budget"
        )
    if mean > 0 and all(repetition.roots == 1 for repetition in repetitions if repetition.estimate > 0):
        doubts.append(
            f"in every repetition all failures descend from one of its {repetitions[0].size} first episodes: a few "
            f"starts carry the number; give a danger function, or a larger budget"
        )
    return doubts


def _limits(estimates: Floats) -> tuple[float, float]:
    """A lognormal interval of the mean, its upper part stretched for skew.

    A repetition is a product of many factors, so a few large ones carry the mean and most samples lie below it. The
    stretch is what simulated repetitions need to be covered: those of splitting itself in 95 % and more, lognormal ones
    of any spread, which are worse, in 92 % and more, those counted that `MOST_ERROR` turns away.
    """
    mean, n = float(estimates.mean()), len(estimates)
    spread = float(estimates.std(ddof=1)) / mean
    reach = student_quantile((1 + CONFIDENCE) / 2, n - 1) * float(np.sqrt(np.log1p(spread**2 / n)))
    return mean * float(np.exp(-reach)), mean * float(np.exp(reach * (1 + SKEW * spread)))
