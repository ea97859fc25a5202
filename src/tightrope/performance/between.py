"""Two agents' returns from the same situations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tightrope.performance.reach import earned, gap
from tightrope.performance.results import PrefixTest, Robustness
from tightrope.statistics import Earnings, Estimate, Stratum, stratified_mean_estimate


def return_differences(a: Robustness, b: Robustness) -> Iterator[tuple[int, Estimate]]:
    """B's returns less A's, paired by fuzz trace, at every prefix length that both have."""
    of_b = {point.prefix_length: point for point in b.points}
    told = earned(test for curve in (a, b) for point in curve.points for test in point.tests)
    for point in a.points:
        other = of_b.get(point.prefix_length)
        if other is None:
            continue
        certain = point.agent_deterministic and other.agent_deterministic
        by_trace = {test.trace: test for test in other.tests}
        pairs = [(by_trace[test.trace], test) for test in point.tests if test.trace in by_trace]
        if point.prefix_length == 0:
            # From reset the tests of one start share its episodes: what is the same for both agents is there once.
            pairs = list({(new.agent_returns, old.agent_returns): (new, old) for new, old in pairs}.values())
        found = stratified_mean_estimate([_stratum(new, old, told, certain=certain) for new, old in pairs])
        if found.n:
            yield point.prefix_length, found


def _stratum(new: PrefixTest, old: PrefixTest, told: Earnings | None, *, certain: bool) -> Stratum:
    if not new.agent_returns or not old.agent_returns:
        return Stratum(values=())
    reach = gap(new.agent_returns, new.agent_earnings, old.agent_returns, old.agent_earnings, told)
    return Stratum(values=_gains(new.agent_returns, old.agent_returns), certain=certain, reach=reach)


def _gains(new: Sequence[float], old: Sequence[float]) -> list[float]:
    """Execution by execution; one that stands for all is set against each of the others."""
    if new and old and 1 in (len(new), len(old)):
        return [b - a for b in new for a in old]
    return [b - a for b, a in zip(new, old, strict=False)]
