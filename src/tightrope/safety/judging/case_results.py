"""What one case, and one boundary state, showed about an agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tightrope.display import Shown
from tightrope.execution import Episode
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.safety.judging.avoidable import avoidable_part
from tightrope.safety.suites.suite import TestCase
from tightrope.statistics import ON_THESE_CASES, Estimate, Stratum, rate_estimate, stratified_mean_estimate
from tightrope.trace import Action

NOT_ASKED = Survival(survivable=Survivability.UNKNOWN, evidence="not asked")


@dataclass(frozen=True, kw_only=True, repr=False)
class CaseResult(Shown):
    """One case under one agent."""

    _shown = ("case", "fail_frequency", "survivable", "best_survival", "mean_return")
    _shares = ("fail_frequency", "best_survival")

    case: TestCase
    episodes: tuple[Episode, ...] = field(repr=False)
    """Its executions, in order of repetition; one where it stands for all."""
    verdicts: tuple[Verdict, ...]
    """The judgement on each episode."""
    returns: tuple[float, ...] = field(repr=False)
    """Reward from hand-over on of each execution that passed or failed; of one where it stands for all."""
    survival: Survival = NOT_ASKED

    def __str__(self) -> str:
        return f"case {self.case.id[:8]}: fails in {self.fail_frequency:share}"

    @cached_property
    def fail_frequency(self) -> Estimate:
        """Share of fails among the executions that passed or failed."""
        fails = min(self.fails, 1) if self.deterministic else self.fails
        return rate_estimate(fails, len(self.returns), deterministic=self.deterministic).answering(ON_THESE_CASES)

    @cached_property
    def mean_return(self) -> Estimate:
        """Reward from hand-over on."""
        only = Stratum(values=self.returns, certain=self.deterministic, failed=self.failed)
        return stratified_mean_estimate([only])

    @cached_property
    def failed(self) -> tuple[bool, ...]:
        """Whether it failed, for each execution that ``returns`` has the reward of."""
        judged = [verdict is Verdict.FAIL for verdict in self.verdicts if verdict in (Verdict.PASS, Verdict.FAIL)]
        return tuple(judged[: len(self.returns)])

    @property
    def deterministic(self) -> bool:
        """Whether one execution stands for all repetitions."""
        return bool(self.episodes) and all(episode.deterministic for episode in self.episodes)

    @property
    def executed(self) -> tuple[Episode, ...]:
        """The episodes that were really executed: one where it stands for all."""
        return self.episodes[:1] if self.deterministic else self.episodes

    @property
    def invalid(self) -> bool:
        """Whether every execution of the prefix met a terminal situation."""
        return bool(self.verdicts) and all(verdict is Verdict.INVALID for verdict in self.verdicts)

    @property
    def survivable(self) -> Survivability:
        """Whether anyone could survive from here."""
        return self.survival.survivable

    @property
    def witness(self) -> tuple[Action, ...] | None:
        """Actions from hand-over on that survive."""
        return self.survival.witness

    @property
    def best_survival(self) -> Estimate:
        """How often somebody survives from this very situation: the lower limit is proven by simulation, or exact."""
        return Estimate.of_nothing("not asked") if self.survival.best is None else self.survival.best

    @cached_property
    def avoidable(self) -> Estimate:
        """The part of its fail frequency that somebody would have avoided."""
        return avoidable_part(self)

    @cached_property
    def counts(self) -> Counter[Verdict]:
        """How often each verdict was given."""
        return Counter(self.verdicts)

    @property
    def fails(self) -> int:
        """Executions in which the agent failed."""
        return self.counts[Verdict.FAIL]

    @property
    def ended_early(self) -> int:
        """Executions whose prefix ended before hand-over, in a case that is not invalid: neither pass nor fail."""
        return 0 if self.invalid else self.counts[Verdict.INVALID]

    @property
    def errors(self) -> int:
        """Executions in which agent or environment raised."""
        return self.counts[Verdict.ERROR]

    @property
    def first_error(self) -> str:
        """What went wrong in the first execution that raised; empty when none did."""
        return next((episode.error.message for episode in self.episodes if episode.error is not None), "")

    @property
    def failing_episodes(self) -> tuple[Episode, ...]:
        """The executions in which the agent failed; ``.trace`` of each replays without the agent."""
        pairs = zip(self.episodes, self.verdicts, strict=True)
        return tuple(episode for episode, verdict in pairs if verdict is Verdict.FAIL)


@dataclass(frozen=True, kw_only=True, repr=False)
class BoundaryResult(Shown):
    """One boundary state under one agent: the mean over its cases, invalid ones left out."""

    _shown = ("place", "depth", "cases", "fail_frequency", "survivable_fail_frequency", "mean_return")
    _shares = ("fail_frequency", "survivable_fail_frequency")

    number: int
    depth: int | None
    """Depth on the reference; None for a random case, which stands for itself."""
    cases: tuple[CaseResult, ...] = field(repr=False)
    fail_frequency: Estimate
    survivable_fail_frequency: Estimate
    mean_return: Estimate

    @property
    def place(self) -> int:
        """Its number everywhere people read one: #1 is the first."""
        return self.number + 1


def once_each(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """The cases without repetition; one that several boundary states share is called by the first everywhere."""
    found: dict[str, CaseResult] = {}
    for case in cases:
        found.setdefault(case.case.id, case)
    return list(found.values())
