"""When each failure that a search has found was lost, and who survives there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tightrope.budget import Meter
from tightrope.execution import Engine
from tightrope.failures.causes import most_likely_first
from tightrope.failures.moments import find_moments
from tightrope.failures.result import FoundFailure
from tightrope.simulation.conformance.examination import REPLAY

AT_A_TIME = 4


def with_moments(engine: Engine, agent: str, found: Sequence[FoundFailure], meter: Meter) -> list[FoundFailure]:
    """The failures with the moments they were lost, the most likely first while the budget lasts."""
    ordered, done = most_likely_first(found), list[FoundFailure]()
    while len(done) < len(ordered) and not meter.spent:
        # What has to be replayed is dear: a few that are known are worth more than many begun.
        count = 1 if engine.conformance.method == REPLAY else AT_A_TIME
        part = ordered[len(done) : len(done) + count]
        left = meter.remaining().steps
        limit = math.inf if left is None else left
        moments, steps = find_moments(engine, [each.episode for each in part], [agent], limit=limit)
        meter.spend(steps)
        done += [replace(each, moment=moment, looked=True) for each, moment in zip(part, moments, strict=True)]
    return done + ordered[len(done) :]
