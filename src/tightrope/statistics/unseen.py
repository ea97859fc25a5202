"""What remains unseen: how likely is the next execution to show a kind that nobody met yet?

Good and Turing estimate it from what was met once; Chao bounds the number of kinds from what was met once and twice.
Neither is a promise, so the upper limit comes from elsewhere. Go through the executions one after the other, round by
round, each round being one execution of every case. The chance of a kind that nobody met can only shrink, and only
when a new kind is met. Let m be what it is today, as a mean over the cases.

- In all n executions: the kinds met are at least as many as hits in n tries of chance m, so the Clopper-Pearson limit
  holds. Cases differ, but hits in tries with different chances lie closer to their mean (Hoeffding 1956).
- In the whole rounds since the last new kind, s executions: m is above 1 - a^(1/s) with probability a at most. For look
  at the last so many rounds that (1 - m)^s <= a, from the moment when the chance became m: if a new kind was met before
  them, what follows is the same question with less time left; if not, they pass without a hit with probability a.

Both hold with a = 2.5 % at once, and the lower one is told. Without any failure they are one, and a may be 5 %: chances
between the two limits for no hit let the others fail for no number of kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tightrope.display import Shown
from tightrope.statistics.estimate import CONFIDENCE, Estimate
from tightrope.statistics.quantiles import beta_quantile
from tightrope.statistics.words import THIN

NEXT_EXECUTION = "in the next execution"
"""One more execution of a case drawn from these, each alike."""


@dataclass(frozen=True, kw_only=True)
class Unseen(Shown):
    """How much is still to be found, after so many executions."""

    _shares = ("new_kind",)

    executions: int
    kinds: int
    """Different kinds of failure met."""
    once: int
    """Kinds met in one execution only."""
    twice: int
    """Kinds met in two executions."""
    since: int
    """Executions since the last new kind; all of them where none was met."""
    quiet: int
    """Those of them in whole rounds, each of which asks every case."""
    new_kind: Estimate
    """How likely the next execution is to show a new kind: Good and Turing's value, and a limit that holds."""
    by_quiet: bool = False
    """Whether that limit follows from the executions since the last new kind."""

    @property
    def at_least(self) -> float:
        """Chao's estimate of a lower bound on the number of kinds, those met included; one alone may be too high."""
        return self.kinds + self.once * (self.once - 1) / (2 * (self.twice + 1))

    def __str__(self) -> str:
        if self.new_kind.high is None:
            return f"what remains unseen is not known: {self.new_kind.method}"
        if self.new_kind.high == 0:
            return f"the next execution shows no new kind of failure ({self.new_kind.method})"
        limit = f"with probability at most {_percent(self.new_kind.high)}"
        if self.kinds == 0:
            return f"{_executions(self.executions)} without a failure: the next one is a failure {limit}"
        if self.by_quiet:
            return f"{_executions(self.quiet)} since the last new kind of failure: the next one is a new kind {limit}"
        kinds = "1 kind" if self.kinds == 1 else f"{self.kinds:,} kinds"
        return f"{kinds} of failure in {_executions(self.executions)}: the next one is a new kind {limit}"


def unseen_kinds(rounds: Iterable[Sequence[Hashable | None]], *, confidence: float = CONFIDENCE) -> Unseen:
    """What remains unseen after rounds of executions.

    Args:
        rounds: What each execution showed, None where it did not fail; a round has one execution of every case. A run
            of plain episodes is a sequence of rounds of one.
        confidence: Of the upper limit.
    """
    seen: Counter[Hashable] = Counter()
    executions = since = quiet = widest = 0
    for shown in rounds:
        met = len(seen)
        for kind in shown:
            executions += 1
            since = since + 1 if kind is None or kind in seen else 0
            if kind is not None:
                seen[kind] += 1
        widest = max(widest, len(shown))
        # A round that leaves cases out says nothing of them.
        quiet = 0 if len(seen) > met else quiet + len(shown) * (len(shown) == widest)
    counts = Counter(seen.values())
    new_kind, by_quiet = _new_kind(counts[1], len(seen), executions, quiet, confidence)
    return Unseen(
        executions=executions,
        kinds=len(seen),
        once=counts[1],
        twice=counts[2],
        since=since,
        quiet=quiet,
        new_kind=new_kind,
        by_quiet=by_quiet,
    )


def nothing_unseen(executions: int, kinds: int, *, why: str) -> Unseen:
    """Where nothing is random, the next execution repeats one that was seen."""
    return Unseen(
        executions=executions,
        kinds=kinds,
        once=0,
        twice=0,
        since=executions,
        quiet=executions,
        new_kind=Estimate(0.0, 0.0, 0.0, executions, why, NEXT_EXECUTION),
    )


def _new_kind(once: int, kinds: int, executions: int, quiet: int, confidence: float) -> tuple[Estimate, bool]:
    """How likely a new kind is, and whether the limit is that of the executions since the last one."""
    if executions == 0:
        return Estimate.of_nothing(question=NEXT_EXECUTION), False
    miss = 1 - confidence
    all_told, since = _from_kinds(kinds, executions, miss / 2), _from_quiet(quiet, miss / 2)
    by_quiet = kinds > 0 and since < all_told
    if kinds == 0:
        high, source = _from_quiet(executions, miss), f"{_executions(executions)} without a failure"
    elif by_quiet:
        high, source = since, f"{_executions(quiet)} since the last new kind"
    else:
        high, source = all_told, f"{kinds} kind{'' if kinds == 1 else 's'} in {_executions(executions)}"
    value = once / executions
    method = f"Good-Turing; {confidence:.0%} upper limit from {source}"
    return Estimate(value, 0.0, max(value, high), executions, method, NEXT_EXECUTION), by_quiet


@lru_cache(maxsize=1024)
def _from_kinds(kinds: int, executions: int, miss: float) -> float:
    return 1.0 if kinds == executions else beta_quantile(1 - miss, kinds + 1, executions - kinds)


def _from_quiet(quiet: int, miss: float) -> float:
    return 1.0 if quiet == 0 else 1 - float(miss ** (1 / quiet))


def _executions(number: int) -> str:
    return "1 execution" if number == 1 else f"{number:,} executions"


def _percent(share: float) -> str:
    """With two figures, rounded up: a limit must not look better than it is."""
    from decimal import ROUND_UP, Context, Decimal

    return f"{Context(prec=2, rounding=ROUND_UP).create_decimal(Decimal(share * 100)).normalize():f}{THIN}%"
