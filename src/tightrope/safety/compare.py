"""Two agents on the same suite, and what safety has to do with reward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.safety.results import CaseResult, SafetyResult
from tightrope.safety.suites import TestCase
from tightrope.statistics import Estimate, PairCounts, clustered_rate_estimate, correlation_estimate

JUDGED = (Verdict.PASS, Verdict.FAIL)


@dataclass(frozen=True, kw_only=True)
class CaseDifference:
    """One case under both agents."""

    case: TestCase
    fail_frequency_a: Estimate
    fail_frequency_b: Estimate
    survivable: Survivability

    @property
    def difference(self) -> float:
        """How much more often B fails than A."""
        return (self.fail_frequency_b.value or 0.0) - (self.fail_frequency_a.value or 0.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class SafetyComparison(Shown):
    """Agent B against agent A, case by case."""

    _shown = ("agent_a", "agent_b", "suite", "difference", "p_value", "cases")

    agent_a: str
    agent_b: str
    suite: str
    difference: Estimate
    """Fail frequency of B less that of A, averaged as in the suite: above 0, B is less safe."""
    episodes: PairCounts
    """Fails of executions with common seeds; a deterministic case is one pair."""
    cases: tuple[CaseDifference, ...] = field(repr=False)
    """Cases judged under both, what got worse most first."""
    errors: int = 0
    """Executions that raised, of either agent: they are in none of the numbers, and might have been falls."""

    @property
    def p_value(self) -> float | None:
        """Exact McNemar test over the paired executions; None when there are none."""
        return self.episodes.p_value

    @property
    def worse(self) -> tuple[CaseDifference, ...]:
        """Cases in which B fails more often than A."""
        return tuple(case for case in self.cases if case.difference > 0)

    @property
    def better(self) -> tuple[CaseDifference, ...]:
        """Cases in which B fails less often than A, the greatest gain first."""
        return tuple(case for case in reversed(self.cases) if case.difference < 0)


def compare_safety(result_a: SafetyResult, result_b: SafetyResult) -> SafetyComparison:
    """Set B against A on the cases they share; common seeds make each pair of executions meet the same randomness.

    Args:
        result_a: The agent to compare with.
        result_b: The agent in question.
    """
    _check_comparable(result_a, result_b)
    pairs = list(_pairs(result_a, result_b))
    groups: dict[int, list[float]] = defaultdict(list)
    for a, b in pairs:
        groups[a.case.boundary].append((b.fail_frequency.value or 0.0) - (a.fail_frequency.value or 0.0))
    distinct = {a.case.id: (a, b) for a, b in pairs}.values()
    differences = [
        CaseDifference(
            case=a.case,
            fail_frequency_a=a.fail_frequency,
            fail_frequency_b=b.fail_frequency,
            survivable=_agreed(a, b),
        )
        for a, b in distinct
    ]
    return SafetyComparison(
        agent_a=result_a.agent,
        agent_b=result_b.agent,
        suite=result_a.suite.name,
        difference=clustered_rate_estimate(list(groups.values()), bounds=(-1.0, 1.0)),
        episodes=PairCounts.of(pair for a, b in distinct for pair in _paired_fails(a, b)),
        cases=tuple(sorted(differences, key=lambda case: -case.difference)),
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


def _pairs(result_a: SafetyResult, result_b: SafetyResult) -> Iterator[tuple[CaseResult, CaseResult]]:
    for a, b in zip(result_a.cases, result_b.cases, strict=True):
        if a.fail_frequency.value is not None and b.fail_frequency.value is not None:
            yield a, b


def _paired_fails(a: CaseResult, b: CaseResult) -> Iterator[tuple[bool, bool]]:
    """Fails of the executions that share a seed; one that stands for all is paired with every one of the other."""
    verdicts_a, verdicts_b = _by_seed(a), _by_seed(b)
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
    return known.pop() if len(known) == 1 else Survivability.UNKNOWN
