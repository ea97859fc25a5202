"""A gate that is looked at after every execution and stops as soon as it is decided.

An ordinary test may be looked at once: whoever looks after every execution and stops when it suits finds what is not
there. An e-process may be looked at always. It is the wealth of somebody who bets against a claim about the rate, at
odds that are fair if the claim is true; the chance that it ever grows twentyfold is then at most one in twenty (Ville
1939), so growing that much refutes the claim whenever it happens.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import inf, log, log1p

from scipy.special import betainc, betaln

from tightrope.display import Shown
from tightrope.statistics.estimate import ON_THESE_CASES, Estimate

ALPHA = 0.05
"""Either error of a gate, unless the caller says otherwise."""

PRIOR = (0.5, 2.0)
"""How the stake is spread over the rates one bets on, as a beta distribution cut off at the limit: most on rates near 0
and on moderate ones. It bears on how soon a gate is decided, never on how often wrongly."""

NARROWEST = 1e-12
"""As near to 0 and 1 as a limit is looked for."""


class Decision(StrEnum):
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
        self.decision: Decision | None = None

    def update(self, failed: bool | None) -> Decision | None:
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
        low = 0.0 if self.fails == 0 else self._crossing(self._against_within, NARROWEST, value)
        high = 1.0 if worst == self.n else self._crossing(self._against_above, worst / self.n, 1 - NARROWEST)
        method = f"either limit holds with {1 - self.alpha:.0%}, however early one stops"
        return Estimate(value, low, high, self.n, method, ON_THESE_CASES)

    def _decided(self) -> Decision | None:
        if self._above < 1 and (self.fails if self._above == 0 else self._won(self._against_within(self._above))):
            return Decision.ABOVE
        if self._within == 1:
            return Decision.WITHIN if self.n > self.unknown else None
        return Decision.WITHIN if self._within > 0 and self._won(self._against_above(self._within)) else None

    def _won(self, wealth: float) -> bool:
        return wealth >= -log(self.alpha)

    def _against_above(self, limit: float) -> float:
        """Logarithm of the wealth of who bets against a rate of ``limit`` or more; what is unknown has failed."""
        return _log_wealth(self.fails + self.unknown, self.n, limit, lambda a, b: float(betainc(a, b, limit)))

    def _against_within(self, limit: float) -> float:
        """Logarithm of the wealth of who bets against a rate of ``limit`` or less; what is unknown has passed."""
        return _log_wealth(self.fails, self.n, limit, lambda a, b: float(betainc(b, a, 1 - limit)))

    def _crossing(self, wealth: Callable[[float], float], low: float, high: float) -> float:
        """The limit against which the bet would just be won: at the rate seen nothing is won, at 0 and 1 all."""
        # A third of a second to import, and only whoever decides by a gate needs it.
        from scipy.optimize import brentq

        return float(brentq(lambda limit: max(wealth(limit), -1e6) + log(self.alpha), low, high, xtol=1e-9))


def _log_wealth(fails: int, n: int, limit: float, share: Callable[[float, float], float]) -> float:
    """What a stake spread over rates on one side of the limit has become: the mean of their likelihood ratios.

    ``share`` is the part of a beta distribution that lies on that side.
    """
    a, b = PRIOR
    left = share(fails + a, n - fails + b)
    if left <= 0:
        return -inf
    ratio = float(betaln(fails + a, n - fails + b) - betaln(a, b)) - fails * log(limit) - (n - fails) * log1p(-limit)
    return ratio + log(left) - log(share(a, b))
