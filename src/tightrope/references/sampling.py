"""How often to sample an action whose effect is random."""

from __future__ import annotations

import math

from tightrope.errors import UsageError

CONFIDENCE, MIN_PROBABILITY = 0.9, 0.1
"""The paper's example, and the default on stochastic tasks: 22 repetitions."""


def repetitions(confidence: float = CONFIDENCE, min_probability: float = MIN_PROBABILITY) -> int:
    """Samples enough to see every successor that is not too rare: rep(c, p).

    Args:
        confidence: The probability with which all of them are seen.
        min_probability: The probability of the rarest successor that must not be missed.
    """
    if not 0 <= confidence < 1:
        raise UsageError(f"confidence must be at least 0 and below 1, not {confidence}; no sample size gives certainty")
    if not 0 < min_probability <= 1:
        raise UsageError(f"min_probability must be above 0 and at most 1, not {min_probability}")
    if min_probability == 1 or confidence == 0:
        return 1
    # log1p keeps small probabilities exact; the tolerance forgives rounding where the quotient is a whole number.
    return max(1, math.ceil(math.log1p(-confidence) / math.log1p(-min_probability) - 1e-9))
