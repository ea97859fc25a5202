"""When each failure that a search has found was lost, and who survives there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tightrope.budget import Meter
from tightrope.execution import Engine
from tightrope.failures.causes import most_likely_first
from tightrope.failures.moments import look_back
from tightrope.failures.result import FoundFailure
from tightrope.simulation.conformance.examination import REPLAY

AT_A_TIME = 4
USUAL = 4_000
"""Steps that the moment of one failure takes at most, mostly."""


def with_moments(engine: Engine, agent: str, found: Sequence[FoundFailure], meter: Meter) -> list[FoundFailure]:
    """The failures with the moments they were lost, the most likely of those not looked at first while steps last."""
    known = [each for each in found if each.looked]
    ordered, done = most_likely_first([each for each in found if not each.looked]), list[FoundFailure]()
    while len(done) < len(ordered) and not meter.spent:
        left = meter.remaining().steps
        # A few that are known are worth more than many begun.
        count = (
            1 if engine.conformance.method == REPLAY or (left is not None and left < AT_A_TIME * USUAL) else AT_A_TIME
        )
        part = ordered[len(done) : len(done) + count]
        looks, steps = look_back(
            engine, [each.episode for each in part], [agent], limit=math.inf if left is None else left
        )
        meter.spend(steps)
        done += [
            replace(each, moment=look.moment, looked=look.finished) for each, look in zip(part, looks, strict=True)
        ]
    return known + done + ordered[len(done) :]
