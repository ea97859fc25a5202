"""How far returns reach: what bounds the means of a few tests is known from all tests of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tightrope.performance.results import PrefixTest
from tightrope.statistics import ENOUGH_TO_KNOW_THE_RANGE, Earnings

KnownRange = tuple[float, float] | str | None
"""Least and greatest value; a text: why nobody can tell; None: too few were seen to tell."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Within what returns, and differences of returns, lie in a whole comparison."""

    agent: KnownRange
    traces: KnownRange
    difference: KnownRange

    @classmethod
    def of(
        cls, tests: Mapping[int, Sequence[PrefixTest]], resets: Sequence[PrefixTest], *, traces_deterministic: bool
    ) -> Reach:
        """From the tests at each prefix length; ``resets`` are those at 0 that do not share the agent's episodes.

        A test that was drawn twice shows nothing twice, and neither does a trace that always earns the same. What a
        fail is paid is the same whoever fails, so the agent's fails tell it of the traces and theirs of the agent.
        """
        drawn = {(length, test.trace): test for length, row in tests.items() for test in row}
        later = [test for (length, _), test in drawn.items() if length > 0]
        of_traces = {test.trace: test for test in drawn.values()} if traces_deterministic else drawn
        agents, traces = [*resets, *later], list(of_traces.values())
        told = earned((*agents, *traces))
        return cls(
            agent=_known([(test.agent_returns, test.agent_earnings) for test in agents], told),
            traces=_known([(test.trace_returns, test.trace_earnings) for test in traces], told),
            difference=_difference(later, told),
        )


def _known(sides: Sequence[tuple[Sequence[float], Earnings | None]], told: Earnings | None) -> KnownRange:
    joined = Earnings.joined(part for _, part in sides if part is not None)
    if joined is None or told is None or sum(len(returns) for returns, _ in sides) < ENOUGH_TO_KNOW_THE_RANGE:
        return None
    found = replace(joined, fails=told.fails).bounds
    return None if found[0] == found[1] else found


def _difference(tests: Sequence[PrefixTest], told: Earnings | None) -> KnownRange:
    """Agent less trace, from one prefix each."""
    paired = [test for test in tests if test.agent_returns and test.trace_returns]
    if len(paired) < ENOUGH_TO_KNOW_THE_RANGE:
        return None
    return hull(
        gap(test.agent_returns, test.agent_earnings, test.trace_returns, test.trace_earnings, told) for test in paired
    )


def gap(
    first: Sequence[float],
    first_earned: Earnings | None,
    second: Sequence[float],
    second_earned: Earnings | None,
    told: Earnings | None,
) -> KnownRange:
    """How far a return of the first lies from one of the second in one situation, should either end earlier than it
    was seen to while the other does as it does on average. ``told``: episodes that tell what a fail is paid."""
    reaches = [
        (fmean(returns),) * 2 if earned is None or told is None else replace(earned, fails=told.fails).bounds
        for returns, earned in ((first, first_earned), (second, second_earned))
    ]
    of_first, of_second = reaches
    if isinstance(of_first, str) or isinstance(of_second, str):
        return of_first if isinstance(of_first, str) else of_second
    at_first, at_second = fmean(first), fmean(second)
    ends = (of_first[0] - at_second, of_first[1] - at_second, at_first - of_second[0], at_first - of_second[1])
    return min(ends), max(ends)


def hull(parts: Iterable[KnownRange]) -> KnownRange:
    """Bounds of all of them; the reason if one has none."""
    bounds: list[tuple[float, float]] = []
    for part in parts:
        if isinstance(part, str):
            return part
        bounds += [] if part is None else [part]
    low, high = min((low for low, _ in bounds), default=0.0), max((high for _, high in bounds), default=0.0)
    return (low, high) if low < high else None


def earned(tests: Iterable[PrefixTest]) -> Earnings | None:
    """What all episodes of these tests had earned on the way."""
    return Earnings.joined(
        part for test in tests for part in (test.agent_earnings, test.trace_earnings) if part is not None
    )
