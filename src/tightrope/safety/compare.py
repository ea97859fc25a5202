"""Two agents on the same suite, and what safety has to do with reward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.safety.judging.case_results import CaseResult, once_each
from tightrope.safety.judging.frequencies import JUDGED, by_reference, case_weights
from tightrope.safety.judging.results import SafetyResult
from tightrope.safety.suites.kept import KEPT, NO_SAMPLE
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.statistics import (
    IN_GENERAL,
    Estimate,
    PairCounts,
    Stratum,
    correlation_estimate,
    general_estimate,
    stratified_difference,
)
from tightrope.svg import Bar, shares_svg


@dataclass(frozen=True, kw_only=True)
class CaseDifference:
    """One case under both agents."""

    case: TestCase
    fail_frequency_a: Estimate
    fail_frequency_b: Estimate
    survivable: Survivability
    certain: bool
    """Nothing is random under either agent: a difference here is a fact, not a sample."""

    @property
    def difference(self) -> float:
        """How much more often B fails than A."""
        return (self.fail_frequency_b.value or 0.0) - (self.fail_frequency_a.value or 0.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class SafetyComparison(Shown):
    """Agent B against agent A, case by case."""

    _shown = ("agent_a", "agent_b", "suite", "difference", "p_value", "difference_in_general", "cases")
    _points = ("difference", "difference_in_general")

    agent_a: str
    agent_b: str
    suite: str
    difference: Estimate
    """On these cases: fail frequency of B less that of A, averaged as in the suite; above 0, B is less safe."""
    p_value: float | None
    """How likely a difference on these cases as great as this is by chance, if there is none; below 0.05 exactly where
    the interval of ``difference`` leaves out 0. Where nothing is random: 0, or 1 if there is none. None: no data."""
    difference_in_general: Estimate
    """In situations like these: the same over references. One alone gives no interval."""
    episodes: PairCounts
    """Fails of executions with common seeds; a deterministic case is one pair."""
    cases: tuple[CaseDifference, ...] = field(repr=False)
    """Cases judged under both, what got worse most first."""
    errors: int = 0
    """Executions that raised, of either agent: they are in none of the numbers, and might have been fails."""

    @property
    def exact(self) -> bool:
        """Whether nothing is random under either agent, so that the difference on these cases is a fact."""
        return bool(self.cases) and all(case.certain for case in self.cases)

    @property
    def worse(self) -> bool:
        """Whether B is shown to fail more often than A on these cases: the interval is above 0, or it is a fact."""
        return self.difference.above_zero

    @property
    def better(self) -> bool:
        """Whether B is shown to fail less often than A on these cases."""
        return self.difference.below_zero

    @property
    def worse_in_general(self) -> bool:
        """Whether B is shown to fail more often in situations like these; never with one reference."""
        return self.difference_in_general.above_zero

    @property
    def better_in_general(self) -> bool:
        """Whether B is shown to fail less often in situations like these; never with one reference."""
        return self.difference_in_general.below_zero

    @property
    def newly_failing(self) -> tuple[CaseDifference, ...]:
        """Cases that A passed every time and B fails, the most frequent first; a fact where the case is ``certain``."""
        return tuple(case for case in self.fails_more if case.fail_frequency_a.value == 0)

    @property
    def newly_fixed(self) -> tuple[CaseDifference, ...]:
        """Cases that A fails and B passed every time, the greatest gain first."""
        return tuple(case for case in self.fails_less if case.fail_frequency_b.value == 0)

    def _chart_svg(self) -> str:
        """The cases that B fails more often: both agents' shares, side by side."""
        both = [
            Bar(label=f"{case.case.id[:8]} {agent}", value=rate.value, low=rate.low, high=rate.high)
            for case in self.fails_more
            for agent, rate in ((self.agent_a, case.fail_frequency_a), (self.agent_b, case.fail_frequency_b))
        ]
        return shares_svg(both, f"cases that {self.agent_b} fails more often than {self.agent_a}") if both else ""

    @property
    def fails_more(self) -> tuple[CaseDifference, ...]:
        """Cases in which B failed more often than A, by chance or not."""
        return tuple(case for case in self.cases if case.difference > 0)

    @property
    def fails_less(self) -> tuple[CaseDifference, ...]:
        """Cases in which B failed less often than A, by chance or not, the greatest gain first."""
        return tuple(case for case in reversed(self.cases) if case.difference < 0)


def compare_safety(result_a: SafetyResult, result_b: SafetyResult) -> SafetyComparison:
    """Set B against A on the cases they share; common seeds make each pair of executions meet the same randomness.

    Args:
        result_a: The result of the agent to compare with.
        result_b: The result of the agent in question.
    """
    _check_comparable(result_a, result_b)
    judged_a, judged_b = _judged_by_both(result_a, result_b)
    of_b = {case.case.id: case for case in judged_b}
    distinct = {case.case.id: (case, of_b[case.case.id]) for case in once_each(judged_a)}
    pairs = {case_id: list(_paired_fails(a, b)) for case_id, (a, b) in distinct.items()}
    difference, p_value = stratified_difference(_strata(judged_a, of_b, pairs))
    return SafetyComparison(
        agent_a=result_a.agent,
        agent_b=result_b.agent,
        suite=result_a.suite.name,
        difference=difference,
        p_value=p_value,
        difference_in_general=(
            Estimate.of_nothing(NO_SAMPLE, IN_GENERAL)
            if result_a.suite.kind == KEPT
            else _in_general(judged_a, of_b, pairs, result_a.suite)
        ),
        episodes=PairCounts.of(pair for of_case in pairs.values() for pair in of_case),
        cases=tuple(sorted((_difference(a, b) for a, b in distinct.values()), key=lambda case: -case.difference)),
        errors=sum(case.errors for result in (result_a, result_b) for case in result.distinct_cases),
    )


def correlation(results: Iterable[SafetyResult]) -> Estimate:
    """Pearson's coefficient of fail frequency and mean return over agents and suites; n counts the agents.

    Args:
        results: Those of several agents, on one suite or more.
    """
    points = [
        (result.fail_frequency.value, result.mean_return.value, (result.suite.task, result.agent)) for result in results
    ]
    known = [(fails, gain, agent) for fails, gain, agent in points if fails is not None and gain is not None]
    return correlation_estimate(
        [fails for fails, _, _ in known], [gain for _, gain, _ in known], [agent for _, _, agent in known]
    )


def _check_comparable(a: SafetyResult, b: SafetyResult) -> None:
    for result in (a, b):
        if result.stopped_early:
            raise UsageError(
                f"the results cannot be paired: that of {result.agent!r} stopped as soon as its gate was decided; run "
                f"both agents on the whole suite"
            )
    if a.suite.task != b.suite.task:
        raise UsageError(
            f"the results cannot be paired: the tasks differ, {a.suite.task} for {a.agent!r} and {b.suite.task} for "
            f"{b.agent!r}; run both agents on the same task"
        )
    for name, of_a, of_b in (
        ("suite", a.suite.id, b.suite.id),
        ("length", a.length, b.length),
        ("seed", a.seed, b.seed),
        ("fixed_prefix", a.fixed_prefix, b.fixed_prefix),
    ):
        if of_a != of_b:
            raise UsageError(
                f"the results cannot be paired: {name} is {of_a!r} for {a.agent!r} and {of_b!r} for {b.agent!r}; run "
                f"both agents on the same suite with the same length, seed and fixed_prefix"
            )


Pairs = dict[str, list[tuple[bool, bool]]]


def _judged_by_both(a: SafetyResult, b: SafetyResult) -> tuple[list[CaseResult], list[CaseResult]]:
    """The cases with executions that can be paired, under A and under B, in the suite's order."""
    both = [pair for pair in zip(a.cases, b.cases, strict=True) if next(_paired_fails(*pair), None) is not None]
    return [of_a for of_a, _ in both], [of_b for _, of_b in both]


def _strata(cases: Iterable[CaseResult], of_b: dict[str, CaseResult], pairs: Pairs) -> list[Stratum]:
    """One stratum per case: 1 where only B fails, -1 where only A does."""
    return [
        Stratum(
            values=[float(b) - float(a) for a, b in pairs[case.case.id]],
            weight=weight,
            certain=case.deterministic and of_b[case.case.id].deterministic,
        )
        for case, weight in case_weights(cases)
    ]


def _in_general(cases: list[CaseResult], of_b: dict[str, CaseResult], pairs: Pairs, suite: TestSuite) -> Estimate:
    """Over references, but for those that are here because an agent failed on them: they are no sample."""
    groups = by_reference(cases, by_case=suite.by_case)
    sample = [group for group in groups if group[0].case.reference not in suite.chosen]
    values = [stratified_difference(_strata(group, of_b, pairs))[0].value for group in sample]
    known = [value for value in values if value is not None]
    unit = "random case" if suite.by_case else "reference"
    return general_estimate(known, bounds=(-1.0, 1.0), unit=unit, left_out=len(groups) - len(sample))


def _difference(a: CaseResult, b: CaseResult) -> CaseDifference:
    return CaseDifference(
        case=a.case,
        fail_frequency_a=a.fail_frequency,
        fail_frequency_b=b.fail_frequency,
        survivable=_agreed(a, b),
        certain=a.deterministic and b.deterministic,
    )


def _paired_fails(a: CaseResult, b: CaseResult) -> Iterator[tuple[bool, bool]]:
    """Fails of the executions that share a seed; one that stands for all is paired with every one of the other."""
    verdicts_a, verdicts_b = _by_seed(a), _by_seed(b)
    if not verdicts_a or not verdicts_b:
        return
    seeds = [seed for seed in verdicts_a if seed in verdicts_b]
    if a.deterministic and b.deterministic:
        seeds = seeds[:1]
    elif a.deterministic:
        seeds, verdicts_a = list(verdicts_b), dict.fromkeys(verdicts_b, next(iter(verdicts_a.values())))
    elif b.deterministic:
        seeds, verdicts_b = list(verdicts_a), dict.fromkeys(verdicts_a, next(iter(verdicts_b.values())))
    for seed in seeds:
        yield verdicts_a[seed] is Verdict.FAIL, verdicts_b[seed] is Verdict.FAIL


def _by_seed(case: CaseResult) -> dict[int, Verdict]:
    return {
        episode.rollout.seed: verdict
        for episode, verdict in zip(case.episodes, case.verdicts, strict=True)
        if verdict in JUDGED
    }


def _agreed(a: CaseResult, b: CaseResult) -> Survivability:
    known = {case.survivable for case in (a, b)} - {Survivability.UNKNOWN}
    if not known and any(map(_is_passed_for_sure, (a, b))):
        # Where nothing is random, who passes it has shown how.
        return Survivability.YES
    return known.pop() if len(known) == 1 else Survivability.UNKNOWN


def _is_passed_for_sure(case: CaseResult) -> bool:
    return case.deterministic and bool(case.returns) and not case.fails
