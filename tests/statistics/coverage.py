"""How often intervals cover the truth, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tightrope.statistics import Estimate

Sampler = Callable[[np.random.Generator], Any]


def coverage(
    sample: Sampler, truth: float, estimate: Callable[[Any], Estimate], *, rounds: int = 300, seed: int = 0
) -> float:
    """Share of simulated samples whose interval holds the truth; a sample without an interval counts as a miss."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(rounds):
        result = estimate(sample(rng))
        hits += result.low is not None and result.high is not None and result.low <= truth <= result.high
    return hits / rounds
