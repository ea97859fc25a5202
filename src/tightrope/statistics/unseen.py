"""What remains unseen: how likely is the next execution to show a kind that nobody met yet?

Good and Turing estimate it from what was met once; Chao bounds the number of kinds from what was met once and twice.
Neither is a promise, so the upper limit comes from elsewhere. Go through the executions in the order of their rounds,
each round being one execution of every case. The chance that an execution shows a kind that no earlier round showed can
only shrink from round to round, as more is known. So those that did show one are at least as many as hits in as many
tries with today's chance would be, and the Clopper-Pearson limit for so many hits holds for today's chance. (Cases
differ: but hits in tries with different chances lie closer to their mean than with equal ones, Hoeffding 1956.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from tightrope.display import Shown
from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.quantiles import beta_quantile
from tightrope.statistics.words import THIN

NEXT_EXECUTION = "in the next execution"
"""One more execution of a case drawn from these, each alike."""


@dataclass(frozen=True, kw_only=True)
class Unseen(Shown):
    """How much is still to be found, after so many executions."""

    executions: int
    kinds: int
    """Different kinds of failure met."""
    once: int
    """Kinds met in one execution only."""
    twice: int
    """Kinds met in two executions."""
    since: int
    """Executions since the last new kind; all of them where none was met."""
    new_kind: Estimate
    """How likely the next execution is to show a new kind: Good and Turing's value, and a limit that holds."""

    @property
    def at_least(self) -> float:
        """Chao's estimate of a lower bound on the number of kinds, those met included; one alone may be too high."""
        return self.kinds + self.once * (self.once - 1) / (2 * (self.twice + 1))

    def __str__(self) -> str:
        if self.new_kind.high is None:
            return f"what remains unseen is not known: {self.new_kind.method}"
        if self.new_kind.high == 0:
            return f"the next execution shows no new kind of failure ({self.new_kind.method})"
        if self.kinds == 0:
            seen, next_one = f"{_executions(self.executions)} without a failure", "a failure"
        else:
            seen, next_one = f"{_executions(self.since)} since the last new kind of failure", "a new kind"
        return f"{seen}: the next one is {next_one} with probability at most {_percent(self.new_kind.high)}"


def unseen_kinds(rounds: Iterable[Sequence[Hashable | None]], *, confidence: float = CONFIDENCE) -> Unseen:
    """What remains unseen after rounds of executions.

    Args:
        rounds: What each execution showed, None where it did not fail; a round has one execution of every case. A run
            of plain episodes is a sequence of rounds of one.
        confidence: Of the upper limit.
    """
    seen: Counter[Hashable] = Counter()
    executions = new = since = 0
    for shown in rounds:
        known = frozenset(seen)
        for kind in shown:
            executions += 1
            since = since + 1 if kind is None or kind in seen else 0
            new += kind is not None and kind not in known
            if kind is not None:
                seen[kind] += 1
    counts = Counter(seen.values())
    return Unseen(
        executions=executions,
        kinds=len(seen),
        once=counts[1],
        twice=counts[2],
        since=since,
        new_kind=_new_kind(counts[1], new, executions, confidence),
    )


def nothing_unseen(executions: int, kinds: int, *, why: str) -> Unseen:
    """Where nothing is random, the next execution repeats one that was seen."""
    return Unseen(
        executions=executions,
        kinds=kinds,
        once=0,
        twice=0,
        since=executions,
        new_kind=Estimate(0.0, 0.0, 0.0, executions, why, NEXT_EXECUTION),
    )


def _new_kind(once: int, new: int, executions: int, confidence: float) -> Estimate:
    if executions == 0:
        return Estimate.of_nothing(question=NEXT_EXECUTION)
    high = 1.0 if new == executions else beta_quantile(confidence, new + 1, executions - new)
    value = once / executions
    method = f"Good-Turing; {confidence:.0%} upper limit from {new} of {executions} executions that showed a new kind"
    return Estimate(value, 0.0, max(value, high), executions, method, NEXT_EXECUTION)


def _executions(number: int) -> str:
    return "1 execution" if number == 1 else f"{number:,} executions"


def _percent(share: float) -> str:
    """With two figures, rounded up: a limit must not look better than it is."""
    from decimal import ROUND_UP, Context, Decimal

    return f"{Context(prec=2, rounding=ROUND_UP).create_decimal(Decimal(share * 100)).normalize():f}{THIN}%"
