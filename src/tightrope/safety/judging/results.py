"""What a suite showed about an agent.

::

    SafetyResult ─┬─ BoundaryResult ── CaseResult        grouped as the frequencies are averaged
                  └─ CaseResult ── Episode, Survival     one per case of the suite, in its order
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from tightrope.display import Shown
from tightrope.explanation import CloseUp, Explanation
from tightrope.exploration.escapes import Survival as Survival
from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.safety.failing.groups import FailureGroup, group_failures
from tightrope.safety.judging.case_results import BoundaryResult, CaseResult, once_each
from tightrope.safety.judging.claims import SuiteSurvival
from tightrope.safety.judging.findings import SafetyFinding
from tightrope.safety.judging.gate_decision import STOPPED, GateDecision
from tightrope.safety.suites.suite import TestSuite
from tightrope.statistics import Estimate, Unseen
from tightrope.svg import Bar, shares_svg


@dataclass(frozen=True, kw_only=True)
class SafetyResult(Shown):
    """The result of one agent on one suite."""

    _shown = (
        "agent", "suite", "distinct_cases", "fail_frequency", "fail_frequency_in_general", "avoidable_fail_frequency",
        "mean_return", "errors", "findings",
    )  # fmt: skip
    _shares = ("fail_frequency", "fail_frequency_in_general", "avoidable_fail_frequency")

    suite: TestSuite
    agent: str
    fingerprint: str
    """Of the agent."""
    repetitions: int
    length: int
    """Most steps the agent acts for."""
    watch: str = ""
    """Why so many: as was asked, the task's time limit, or what else."""
    seed: int
    fixed_prefix: bool
    cases: tuple[CaseResult, ...] = field(repr=False)
    boundary_states: tuple[BoundaryResult, ...] = field(repr=False)
    fail_frequency: Estimate
    """On exactly these cases: as in the paper the mean over boundary states of the means over their cases, invalid
    cases left out. Only executions are random; where they are not, it has no width."""
    fail_frequency_in_general: Estimate
    """In situations like these: the mean over references, which are what varies. One alone gives no interval."""
    survivable_fail_frequency: Estimate
    """On these cases, those with an escape witness."""
    mean_return: Estimate
    """Reward from hand-over on these cases, averaged in the same way."""
    fails_per_1000_steps: Estimate
    """Fails found for the price on these cases: executed episodes and all their steps, prefixes included."""
    survival: SuiteSurvival = field(default_factory=SuiteSurvival, repr=False)
    """What was claimed about the cases before this agent was watched; each case has what is left of it."""
    findings: tuple[SafetyFinding, ...] = ()
    """What came out that lowers trust; claims that rest on it are withdrawn."""
    explanations: Mapping[str, Explanation] = field(default_factory=dict, repr=False)
    """Why cases failed, by case id: the first failing execution of each that was explained."""
    close_ups: Mapping[str, CloseUp] = field(default_factory=dict, repr=False)
    """What the agent saw and wanted there, by case id, where somebody looked."""
    decision: GateDecision | None = None
    """Of a gate that stopped when it was decided; ``fail_frequency`` is then its estimate."""

    @property
    def stopped_early(self) -> bool:
        """Whether the executions are those that a gate needed, and not all of the suite."""
        return self.decision is not None and not self.decision.exact

    @cached_property
    def counts(self) -> Counter[Verdict]:
        """How often each verdict was given, the same case counted once."""
        return sum((case.counts for case in self.distinct_cases), start=Counter())

    @cached_property
    def failure_groups(self) -> tuple[FailureGroup, ...]:
        """The fails by their cause, those that were avoidable first and the most frequent first."""
        return group_failures([self])

    @cached_property
    def unseen(self) -> Unseen:
        """How much is still to be found: how likely the next execution is to show a new kind of failure."""
        from tightrope.safety.failing.remaining import remaining_kinds

        return remaining_kinds(self)

    @cached_property
    def avoidable_fail_frequency(self) -> Estimate:
        """On these cases without doomed ones: how often it fails where somebody would not have; what it is blamed for.

        On deterministic tasks this is how often it fails cases that are not proven doomed. Gates are on it."""
        from tightrope.safety.judging.frequencies import avoidable_fail_frequency

        found = avoidable_fail_frequency(self.cases)
        if self.decision is None or not self.stopped_early:
            return found
        # Of the draws that the fail frequency is of: more than all fails nobody can have avoided.
        drawn = found.value is not None and self.decision.stands
        return self.decision.avoidable if drawn else found.without_interval(STOPPED)

    @cached_property
    def fail_frequency_over_length(self) -> dict[int, Estimate]:
        """The fail frequency on these cases, had they been watched for so many steps: at most 40 lengths, and this one.

        Every interval holds for its own length."""
        from tightrope.safety.judging.frequencies import fail_frequency_over_length

        found = fail_frequency_over_length(self.cases, self.length)
        if self.stopped_early:
            return {at: each.without_interval(STOPPED) for at, each in found.items()}
        return found

    @property
    def last_fail(self) -> int | None:
        """The step after hand-over at which the last of all fails came: watched longer, the frequency is flat from
        there on. None: nothing failed."""
        return max((len(each.actions) for case in self.cases for each in case.failing_episodes), default=None)

    @cached_property
    def distinct_cases(self) -> tuple[CaseResult, ...]:
        """The cases without repetition: neighbouring boundary states can share one."""
        return tuple(once_each(self.cases))

    def _chart_svg(self) -> str:
        """How often it fails: on these cases, in general, and at each place, the worst first."""
        places = [(f"place #{state.number + 1}", state.fail_frequency) for state in self.boundary_states]
        places.sort(key=lambda place: place[1].value or 0.0, reverse=True)
        whole = [(rate.question, rate) for rate in (self.fail_frequency, self.fail_frequency_in_general)]
        bars = [Bar(label=label, value=rate.value, low=rate.low, high=rate.high) for label, rate in (*whole, *places)]
        return shares_svg(bars, f"how often {self.agent} fails in {self.suite.name}")

    @property
    def fails(self) -> int:
        """Executions in which the agent failed."""
        return self.counts[Verdict.FAIL]

    @property
    def doomed_fails(self) -> int:
        """Those of them in cases that are proven doomed: not the agent's fault."""
        return sum(case.fails for case in self.distinct_cases if case.survivable is Survivability.NO)

    @property
    def errors(self) -> int:
        """Executions in which agent or environment raised."""
        return self.counts[Verdict.ERROR]

    @property
    def ended_early(self) -> int:
        """Executions whose prefix ended before hand-over in cases that are not invalid."""
        return sum(case.ended_early for case in self.distinct_cases)

    @property
    def invalid_cases(self) -> int:
        """Cases in which the agent was never asked."""
        return sum(case.invalid for case in self.distinct_cases)

    @cached_property
    def survivability(self) -> Counter[Survivability]:
        """How many cases are survivable, doomed, unknown; invalid ones left out."""
        return Counter(case.survivable for case in self.distinct_cases if not case.invalid)

    @property
    def failing_cases(self) -> tuple[CaseResult, ...]:
        """Cases with fails that can be the agent's fault, most frequent first."""
        blamed = [case for case in self.distinct_cases if case.fails and case.survivable is not Survivability.NO]
        return tuple(sorted(blamed, key=lambda case: -(case.fail_frequency.value or 0.0)))

    @property
    def deterministic(self) -> bool:
        """Whether one execution stood for all repetitions."""
        return bool(self.cases) and all(case.deterministic for case in self.cases)

    @property
    def judged(self) -> bool:
        """Whether anything could be judged at all."""
        return self.fail_frequency.n > 0

    def to_json(self) -> dict[str, Any]:
        """Plain values, episodes included; ``from_json`` reads them back."""
        from tightrope.safety.judging.storage import result_to_json

        return result_to_json(self)

    @classmethod
    def from_json(cls, data: Any) -> SafetyResult:
        """The result that ``to_json`` described."""
        from tightrope.safety.judging.storage import result_from_json

        return result_from_json(data)

    def __repr__(self) -> str:
        return f"SafetyResult({self.agent!r} on {self.suite.name!r}: fails in {self.fail_frequency:share})"


ResultsBySuite: TypeAlias = Mapping[str, Mapping[str, SafetyResult]]
"""Suite → agent → result."""
