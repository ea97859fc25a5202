"""The best player known meets the luck of the executions, so that nobody is blamed for luck; small suites get more."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

import tightrope as tr
from tests.exploration.mdps import Mdp, best_survival, ice
from tests.safety.corridor import CORRIDOR, SLIPPERY, jumper, reference_of, walker
from tightrope.errors import FormatError
from tightrope.execution import Engine
from tightrope.safety import (
    SafetyResult,
    action_coverage_suite,
    decide_gate,
    find_survival,
    judge_suite,
    run_suite,
    simple_suite,
)
from tightrope.safety.judging.same_luck import failed_beside_best
from tightrope.safety.judging.storage import survival_from_json, survival_to_json
from tightrope.safety.suites.executions import executions_to_tell, weights_of
from tightrope.testing import JUMP, WALK, FunctionAgent

SLIPPERY_REFERENCE = reference_of(SLIPPERY, (WALK, WALK), (1, 2), proven=False)


def safest_of(world: Mdp, length: int) -> FunctionAgent:
    _, policy = best_survival(world.table, world.goals, world.unsafe, length)
    return FunctionAgent(lambda cell: policy[-1].get(int(cell), 0), "safest")


@pytest.fixture(scope="module")
def unlucky() -> SafetyResult:
    """The safest policy on a small suite of the slippery lake, with default settings."""
    task = tr.make_task("FrozenLake-v1")
    reference = tr.search(task, budget=tr.Budget(steps=60_000), seed=0).reference
    return run_suite(task, safest_of(ice(task), 100), action_coverage_suite(reference, 1, range(4)))


def test_the_safest_policy_is_not_blamed_on_small_suites(unlucky) -> None:
    """With ten executions and luck of their own for those it is compared with, it was blamed for 0.07 here."""
    results = [unlucky]
    task = tr.make_task("FrozenLake-v1")
    for seed in range(1, 5):
        reference = tr.search(task, budget=tr.Budget(steps=60_000), seed=seed).reference
        results.append(run_suite(task, safest_of(ice(task), 100), simple_suite(reference), seed=seed))
    assert all(result.fail_frequency.value > 0.03 for result in results)
    assert [result.avoidable_fail_frequency.value for result in results] == pytest.approx([0.0] * 5, abs=0.025)
    assert [result.avoidable_fail_frequency.low for result in results] == [0.0] * 5


def test_each_execution_stands_beside_a_run_with_its_luck(unlucky) -> None:
    """Luck of its own would let one fail where the other does not in 2 p (1 - p) of the executions."""
    pairs = [pair for case in unlucky.distinct_cases if case.returns for pair in failed_beside_best(case)]
    apart, failed = sum(a != b for a, b in pairs), sum(a for a, _ in pairs)
    assert failed > 30
    assert apart < failed / 3


def test_who_survives_best_is_blamed_for_nothing() -> None:
    """The jumper is the one that was found to do best at the second case, and the same executions are counted."""
    reference = reference_of(SLIPPERY, (WALK, WALK), (2,), proven=False)
    result = run_suite(SLIPPERY, jumper, simple_suite(reference), length=1, seed=5)
    (case,) = result.cases
    assert 0.1 < case.fail_frequency.value < 0.4
    assert case.avoidable.value == result.avoidable_fail_frequency.value == 0.0
    assert case.best_survival.value == pytest.approx(1 - case.fail_frequency.value, abs=1e-12)


def test_small_suites_are_executed_more_often_where_luck_is_set_off() -> None:
    suite = simple_suite(SLIPPERY_REFERENCE)
    result = run_suite(SLIPPERY, jumper, suite, length=5)
    # 0.25 / (2 × 313) is just less than 0.02².
    assert result.repetitions == result.survival.executions == 313
    assert {len(case.episodes) for case in result.cases} == {313}
    assert result.avoidable_fail_frequency.n == 626
    assert run_suite(SLIPPERY, jumper, suite, repetitions=10, length=5).repetitions == 10
    # Nothing is compared with anybody, or nothing is random: ten, and one.
    assert run_suite(SLIPPERY, jumper, suite, length=5, survivable=False).repetitions == 10
    firm = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR)))
    assert (firm.repetitions, firm.fail_frequency.n) == (10, 2)


def test_a_gate_waits_no_longer_for_what_never_begins() -> None:
    """A prefix that ends early does so in every execution: no more of them are made where there are more."""
    suite = action_coverage_suite(SLIPPERY_REFERENCE, 1, (WALK, JUMP))
    known = run_suite(SLIPPERY, jumper, suite, repetitions=1, length=5)
    ends = {case.case.id for case in known.cases if case.invalid}
    assert ends
    gated = decide_gate(SLIPPERY, jumper, suite, 0.3, length=5, survivable=known.survival)
    assert gated.repetitions > 200
    assert [len(case.episodes) for case in gated.cases if case.case.id in ends] == [10]


def test_how_often_follows_from_the_weights_and_what_may_be_spent() -> None:
    even = {str(number): Fraction(1, 40) for number in range(40)}
    assert executions_to_tell(even, 10**6) == 16
    assert executions_to_tell({"heavy": Fraction(1, 2), **{str(n): Fraction(1, 80) for n in range(40)}}, 10**6) == 161
    # Never fewer than usual, whatever may be spent.
    assert executions_to_tell(even, 480) == 12
    assert executions_to_tell(even, 0) == executions_to_tell({}, 10**6) == 10
    cases = action_coverage_suite(reference_of(CORRIDOR), 1, (0, 1)).cases
    assert sum(weights_of(cases).values()) == 1


def test_what_was_seen_with_other_luck_is_compared_as_before() -> None:
    suite = simple_suite(SLIPPERY_REFERENCE)
    known = run_suite(SLIPPERY, jumper, suite, length=5, seed=1).survival
    other = run_suite(SLIPPERY, jumper, suite, length=5, seed=2, survivable=known)
    assert all(failed_beside_best(case) is None for case in other.cases)
    (case, _) = other.cases
    assert case.avoidable.value == pytest.approx(case.fail_frequency.value - (1 - case.best_survival.value))
    assert other.avoidable_fail_frequency.value == pytest.approx(
        sum(each.fail_frequency.value - (1 - each.best_survival.value) for each in other.cases) / 2
    )


def test_a_shorter_watch_is_not_excused_by_what_the_best_fail_later() -> None:
    """What the best fail within eight steps was taken for fate within one, too."""
    suite = simple_suite(SLIPPERY_REFERENCE)
    result = run_suite(SLIPPERY, jumper, suite, length=8)
    assert result.avoidable_fail_frequency.value < result.fail_frequency.value
    episodes = [episode for case in result.cases for episode in case.episodes]
    shorter = judge_suite(
        suite, episodes, agent="jumper", repetitions=result.repetitions, length=1, survival=result.survival
    )
    # Nobody knows how many the best fail within one step: all of it counts, and what is shown is less.
    assert shorter.avoidable_fail_frequency.value == shorter.fail_frequency.value
    assert shorter.avoidable_fail_frequency.low < shorter.fail_frequency.low
    assert all(case.best_survival.low <= 1 for case in shorter.cases)


def test_it_is_stored_and_judged_again_alike(unlucky) -> None:
    again = SafetyResult.from_json(json.loads(json.dumps(unlucky.to_json())))
    assert again.avoidable_fail_frequency == unlucky.avoidable_fail_frequency
    assert [case.avoidable for case in again.cases] == [case.avoidable for case in unlucky.cases]
    assert survival_from_json(survival_to_json(unlucky.survival)) == unlucky.survival


@pytest.mark.parametrize("change", [{"runs": "012"}, {"runs": [1, 0]}, {"runs": "1" * 100_001}, {"seed": 0.5}])
def test_damaged_runs_are_refused(unlucky, change: dict[str, object]) -> None:
    data = survival_to_json(unlucky.survival)
    case = next(case for case, known in data["cases"].items() if known.get("runs"))
    data["cases"][case].update(change)
    with pytest.raises(FormatError, match="damaged"):
        survival_from_json(data)


def test_a_damaged_number_of_executions_is_refused(unlucky) -> None:
    for told in (0, 1.5, "10", 10**9):
        with pytest.raises(FormatError, match="damaged"):
            survival_from_json({**survival_to_json(unlucky.survival), "executions": told})


def test_the_same_runs_on_every_back_end() -> None:
    suite = simple_suite(SLIPPERY_REFERENCE)
    with Engine(SLIPPERY, {"jumper": jumper}) as inline:
        first = find_survival(inline, suite, 5, seed=3)
    with Engine(SLIPPERY, {"jumper": jumper}, backend="processes", workers=2) as processes:
        assert find_survival(processes, suite, 5, seed=3) == first
    assert {len(known.runs) for known in first.by_case.values()} == {first.executions}


def test_runs_that_are_too_few_for_a_smaller_suite_are_made_anew() -> None:
    suite = simple_suite(SLIPPERY_REFERENCE)
    with Engine(SLIPPERY, {"jumper": jumper}) as engine:
        known = find_survival(engine, suite, 5)
        few = {case: replace(each, runs=each.runs[:20]) for case, each in known.by_case.items()}
        found = find_survival(engine, suite, 5, known=[replace(known, by_case=few)])
        other = find_survival(engine, suite, 5, seed=1, known=[known])
        kept = find_survival(engine, suite, 5, known=[known])
    assert {len(each.runs) for each in found.by_case.values()} == {313}
    assert {each.seed for each in other.by_case.values()} == {1}
    assert kept.by_case == known.by_case
