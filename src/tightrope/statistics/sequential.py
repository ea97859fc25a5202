"""A gate that is looked at after every execution and stops as soon as it is decided.

An ordinary test may be looked at once: whoever looks after every execution and stops when it suits finds what is not
there. An e-process may be looked at always. It is the wealth of somebody who bets against a claim about the rate, at
odds that are fair if the claim is true; the chance that it ever grows twentyfold is then at most one in twenty (Ville
1939), so growing that much refutes the claim whenever it happens. Less suffices: executions are whole ones, so wealth
jumps past the mark, and the chance is half of that. The gate works out how much less.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from math import inf, log, log1p, nextafter

import numpy as np
from scipy.special import betainc, betaln

from tightrope.display import Shown
from tightrope.statistics.bounded import Floats
from tightrope.statistics.estimate import ON_THESE_CASES, Estimate

ALPHA = 0.05
"""Either error of a gate, unless the caller says otherwise."""

Prior = tuple[float, float]
"""How the stake is spread over the rates one bets on, as a beta distribution cut off at the limit. It bears on how soon
a gate is decided, never on how often wrongly."""

BELOW: Prior = (0.5, 2.0)
"""Bets on rates within the limit: most on those near 0."""

ABOVE: Prior = (2.0, 4.0)
"""Bets on rates above it: most on those that ruin an agent. A rate of 0.3 is told from 0.05 after 7 executions, where
the prior of the other side takes 8."""

WORKED_OUT = 400
"""Executions for which errors are summed up one by one; for all that come later Ville's inequality is used."""

HALVINGS = 12
"""Of the range in which the mark is looked for: it is found to a thousandth."""

NARROWEST = 1e-12
"""As near to 0 and 1 as a limit is looked for."""


class SequentialDecision(StrEnum):
    """On which side of the limit the rate lies."""

    WITHIN = "within"
    ABOVE = "above"


class SequentialGate(Shown):
    """Whether a rate lies within a limit; told one execution after the other, it says when it knows.

    Each execution must fail with the rate in question, whatever the earlier ones did: draw the case anew each time.

    Args:
        limit: The rate that is still allowed.
        alpha: How often, at most, a rate at the limit is taken for one above it, and for one below it.
        beside: What is allowed beside the limit, where it is known to lie between two numbers only: a rate is within if
            it is within the limit and the first, above if it is above the limit and the second.
    """

    _shown = ("limit", "n", "fails", "unknown", "decision")

    def __init__(self, limit: float, alpha: float = ALPHA, *, beside: tuple[float, float] = (0.0, 0.0)) -> None:
        if not 0 <= limit <= 1:
            raise ValueError(f"a limit lies between 0 and 1, not {limit}")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha lies between 0 and 1, not {alpha}")
        self.limit, self.alpha = limit, alpha
        self._within, self._above = (min(limit + more, 1.0) for more in beside)
        self.n = self.fails = self.unknown = 0
        self.decision: SequentialDecision | None = None

    def update(self, failed: bool | None) -> SequentialDecision | None:
        """Tell what came of one more execution; None: it is not known, and counts against either decision."""
        self.n += 1
        self.fails += failed is True
        self.unknown += failed is None
        if self.decision is None:
            self.decision = self._decided()
        return self.decision

    @property
    def estimate(self) -> Estimate:
        """The rate so far. Either limit holds with probability 1 - alpha, whenever one stops to look."""
        if self.n == 0:
            return Estimate.of_nothing(question=ON_THESE_CASES)
        value, worst = self.fails / self.n, self.fails + self.unknown
        low = 0.0 if self.fails == 0 else self._crossing(self._against_within, NARROWEST, min(value, 1 - NARROWEST))
        high = (
            1.0
            if worst == self.n
            else self._crossing(self._against_above, max(worst / self.n, NARROWEST), 1 - NARROWEST)
        )
        # The mark for other limits is the twentyfold; for the gate's own, what decided it.
        if self.decision is SequentialDecision.ABOVE:
            low = min(max(low, nextafter(self._above, 1.0)), value)
        elif self.decision is SequentialDecision.WITHIN:
            high = max(min(high, self._within), worst / self.n)
        method = f"either limit holds with {1 - self.alpha:.0%}, however early one stops"
        return Estimate(value, low, high, self.n, method, ON_THESE_CASES)

    def _decided(self) -> SequentialDecision | None:
        if self._is_above():
            return SequentialDecision.ABOVE
        if self._within == 1:
            return SequentialDecision.WITHIN if self.n > self.unknown else None
        if self._within == 0:
            return None
        won = self._against_above(self._within) >= _mark(self._within, self.alpha, SequentialDecision.WITHIN)
        return SequentialDecision.WITHIN if won else None

    def _is_above(self) -> bool:
        if self._above in (0, 1):
            return self._above == 0 and self.fails > 0
        return self._against_within(self._above) >= _mark(self._above, self.alpha, SequentialDecision.ABOVE)

    def _against_above(self, limit: float) -> float:
        """Logarithm of the wealth of who bets against a rate of ``limit`` or more; what is unknown has failed."""
        return float(_log_wealth(np.array([self.fails + self.unknown]), self.n, limit, SequentialDecision.WITHIN)[0])

    def _against_within(self, limit: float) -> float:
        """Logarithm of the wealth of who bets against a rate of ``limit`` or less; what is unknown has passed."""
        return float(_log_wealth(np.array([self.fails]), self.n, limit, SequentialDecision.ABOVE)[0])

    def _crossing(self, wealth: Callable[[float], float], low: float, high: float) -> float:
        """The limit against which the bet would just be won: at the rate seen nothing is won, at 0 and 1 all."""
        # A third of a second to import, and only whoever decides by a gate needs it.
        from scipy.optimize import brentq

        return float(brentq(lambda limit: max(wealth(limit), -1e6) + log(self.alpha), low, high, xtol=1e-9))


def _log_wealth(fails: Floats, n: int, limit: float, bet: SequentialDecision) -> Floats:
    """What a stake spread over rates on one side of the limit has become: the mean of their likelihood ratios."""
    a, b = ABOVE if bet is SequentialDecision.ABOVE else BELOW
    left = _share(fails + a, n - fails + b, limit, bet)
    ratio = betaln(fails + a, n - fails + b) - betaln(a, b) - fails * log(limit) - (n - fails) * log1p(-limit)
    with np.errstate(divide="ignore"):
        wealth: Floats = np.where(left > 0, ratio + np.log(left), -inf) - np.log(_share(a, b, limit, bet))
    return wealth


def _share(a: Floats | float, b: Floats | float, limit: float, bet: SequentialDecision) -> Floats:
    """The part of a beta distribution that lies on the side of the limit one bets on."""
    return np.asarray(
        betainc(a, b, limit) if bet is SequentialDecision.WITHIN else betainc(b, a, 1 - limit), dtype=np.float64
    )


@lru_cache(maxsize=64)
def _mark(limit: float, alpha: float, bet: SequentialDecision) -> float:
    """Logarithm of the wealth at which the bet counts as won: the least that errs in at most ``alpha`` at the limit."""
    wealth = [_log_wealth(np.arange(n + 1.0), n, limit, bet) for n in range(1, WORKED_OUT + 1)]
    low, high = 0.0, -log(alpha)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _error(limit, wealth, middle) <= alpha else (middle, high)
    return high


def _error(limit: float, wealth: list[Floats], mark: float) -> float:
    """At most so often is the mark ever reached by a rate of ``limit``, with a look after every execution.

    Up to the last of ``wealth`` this is a sum over all numbers of fails; who has not won by then wins later with a
    chance of at most his wealth over the mark (Ville).
    """
    playing, won = np.ones(1), 0.0
    for after in wealth:
        playing = np.append(playing * (1 - limit), 0.0) + np.append(0.0, playing * limit)
        at_mark = after >= mark
        won += float(playing[at_mark].sum())
        playing[at_mark] = 0.0
    return won + float(playing @ np.exp(np.minimum(after - mark, 0.0)))
