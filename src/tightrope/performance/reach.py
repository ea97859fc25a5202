"""How far returns reach: what bounds the means of a few tests is known from all tests of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tightrope.performance.results import PrefixTest
from tightrope.statistics import seen_bounds

Bounds = tuple[float, float] | None
"""Least and greatest value; None: too few were seen to tell."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The least and the greatest of all returns, and of all differences, in a whole comparison."""

    agent: Bounds
    traces: Bounds
    difference: Bounds

    @classmethod
    def of(
        cls, tests: Mapping[int, Sequence[PrefixTest]], resets: Sequence[PrefixTest], *, traces_deterministic: bool
    ) -> Reach:
        """From the tests at each prefix length; ``resets`` are those at 0 that do not share the agent's episodes.

        A test that was drawn twice shows nothing twice, and neither does a trace that always earns the same.
        """
        drawn = {(length, test.trace): test for length, row in tests.items() for test in row}
        later = [test for (length, _), test in drawn.items() if length > 0]
        of_traces = {test.trace: test for test in drawn.values()} if traces_deterministic else drawn
        return cls(
            agent=seen_bounds([value for test in (*resets, *later) for value in test.agent_returns]),
            traces=seen_bounds([value for test in of_traces.values() for value in test.trace_returns]),
            difference=seen_bounds(
                [a - t for test in later if (a := test.agent_mean) is not None and (t := test.trace_mean) is not None]
            ),
        )
