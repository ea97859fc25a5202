"""Blame: what fails above what nobody can help, against worlds in which that is known."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

import tightrope as tr
from tests.exploration.mdps import best_survival, ice
from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, jumper, reference_of, walker
from tightrope.exploration.escapes import Survival
from tightrope.reference import Survivability
from tightrope.report.wording import THIN, estimate_text
from tightrope.runs.gates import Evidence, _fail_frequencies, judge_gate
from tightrope.runs.measurements import measured_fails
from tightrope.safety import (
    SuiteSurvival,
    action_coverage_suite,
    judge_suite,
    rate_without_doomed,
    run_suite,
    simple_suite,
)
from tightrope.safety.judging.avoidable import shown_part
from tightrope.simulation import open_simulator, play
from tightrope.statistics import Estimate, rate_estimate
from tightrope.testing import WALK, ConstantAgent, FunctionAgent, deterministic_table, tabular_task

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN
LENGTH = 20


@pytest.fixture(scope="module")
def lake() -> tuple[tr.Task, tr.TestSuite, dict[int, float], FunctionAgent]:
    """Slippery ice of 8 × 8, a suite around its boundary states, the best survival there is, and who achieves it."""
    task = tr.make_task("FrozenLake8x8-v1")
    world = ice(task)
    best, policy = best_survival(world.table, world.goals, world.unsafe, LENGTH)
    reference = tr.search(task, "dfs", budget=tr.Budget(steps=20_000), seed=3).reference
    # The longest horizon's choice in every cell: a policy that looks no further than it is watched.
    safest = FunctionAgent(lambda cell: policy[-1].get(int(cell), 0), "safest")
    return task, tr.action_coverage_suite(reference, 1, range(4)), best, safest


@pytest.fixture(scope="module")
def safest_run(lake) -> tr.SafetyResult:
    """What the safest does, and what anybody could, which does not hang on the agent: others take that from here."""
    task, suite, _, safest = lake
    return run_suite(task, safest, suite, repetitions=10, length=LENGTH)


def test_the_safest_policy_is_not_blamed_for_luck(safest_run) -> None:
    result = safest_run
    # It does fall: near a hole nobody can help it.
    assert result.fail_frequency.value > 0.02
    assert result.avoidable_fail_frequency.value <= 0.05
    assert result.avoidable_fail_frequency.low == 0.0


def test_a_careless_policy_is(lake, safest_run) -> None:
    task, suite, best, _ = lake
    known = safest_run.survival
    result = run_suite(task, ConstantAgent(2), suite, repetitions=30, length=LENGTH, survivable=known)
    judged = [case for case in result.distinct_cases if case.returns]
    # What is avoidable by value iteration, from the cells in which the agent really took over.
    cells = {case.case.id: int(cell) for case, cell in zip(judged, handed_over(task, judged), strict=True)}
    for case in judged:
        assert case.best_survival.low <= best[cells[case.case.id]] + 1e-9
    assert result.avoidable_fail_frequency.low > 0.1
    assert result.avoidable_fail_frequency.value < result.fail_frequency.value
    assert all(case.avoidable.low <= case.avoidable.value <= case.fail_frequency.value for case in judged)


def test_gates_are_on_what_is_avoidable(lake, safest_run) -> None:
    """The best there is passes a gate of 5 %, though it falls more often than that; a careless one does not."""
    task, suite, _, _ = lake
    best = safest_run
    assert best.fail_frequency.value > 0.05
    passed = judge_gate("", measured_fails("safest", "coverage:1", best.cases), 0.05)
    assert passed.passed is True
    assert passed.detail.startswith(f"avoidable fail frequency on these cases 0{THIN}% is within the allowed 5{THIN}%")
    assert f"in all it fails in {estimate_text(best.fail_frequency)}" in passed.detail
    careless = run_suite(task, ConstantAgent(2), suite, repetitions=10, length=LENGTH, survivable=best.survival)
    assert judge_gate("", measured_fails("right", "coverage:1", careless.cases), 0.05).passed is False


def test_a_prefix_left_to_chance_excuses_nobody(lake, safest_run) -> None:
    """What others did from the situation of a case says nothing about an agent that was somewhere else."""
    task, suite, _, safest = lake
    known = safest_run.survival
    elsewhere = run_suite(task, safest, suite, repetitions=3, length=LENGTH, fixed_prefix=False, survivable=known)
    measured = measured_fails("safest", "coverage:1", elsewhere.cases)
    assert measured.what == "fail frequency on these cases"
    assert measured.estimate == rate_without_doomed(elsewhere.cases)


def test_a_gate_that_stops_allows_what_nobody_can_help_beside_its_limit(lake, safest_run) -> None:
    task, suite, _, safest = lake
    how = {"length": LENGTH, "survivable": safest_run.survival}
    careless = tr.decide_gate(task, ConstantAgent(2), suite, 0.05, **how)
    assert careless.decision.passed is False
    assert careless.decision.fate.value > 0.02
    assert careless.decision.estimate.low > 0.05 + careless.decision.fate.high
    assert tr.decide_gate(task, safest, suite, 0.05, most=200, **how).decision.passed is not False
    assert tr.decide_gate(task, safest, suite, 0.3, **how).decision.passed is True
    again = tr.SafetyResult.from_json(careless.to_json())
    assert again.decision == careless.decision
    (gate,) = _fail_frequencies(Evidence(safety={"coverage:1": {"right": careless}}))
    assert "that no player avoids" in judge_gate("", gate, 0.05).detail


def handed_over(task: tr.Task, judged: list) -> list[int]:
    with closing(open_simulator(task)) as simulator:
        cells = []
        for case in judged:
            for _ in play(simulator, case.case.prefix):
                pass
            cells.append(int(simulator.observation))
        return cells


def test_on_deterministic_tasks_it_is_what_witnesses_and_proofs_say() -> None:
    slide = tabular_task(
        deterministic_table({0: [1, 2], 1: [3, 2], 3: [6, 2], 2: [4, 4], 4: [5, 5]}), {6}, {5}, name="slide"
    )
    reference = reference_of(slide, (0, 0, 0), (1, 2), bad=(1,), fuse=3)
    suite = action_coverage_suite(reference, 1, (0, 1))
    careful, careless = run_suite(slide, ConstantAgent(0), suite), run_suite(slide, ConstantAgent(1), suite)
    assert (careful.fail_frequency.value, careful.avoidable_fail_frequency.value) == (0.5, 0.0)
    # Of the cases that somebody passes it fails all; those that nobody passes are no company to hide in.
    assert (careless.fail_frequency.value, careless.avoidable_fail_frequency.value) == (1.0, 1.0)
    assert careless.avoidable_fail_frequency.low == careless.avoidable_fail_frequency.value
    assert careless.avoidable_fail_frequency.value == rate_without_doomed(careless.cases).value
    assert [case.avoidable.value for case in careless.cases] == [1.0, 0.0, 1.0, 0.0]
    assert [case.best_survival.value for case in careless.cases] == [1.0, 0.0, 1.0, 0.0]


def test_what_nobody_has_decided_counts_and_is_not_shown() -> None:
    suite = simple_suite(reference_of(CORRIDOR))
    episodes = [episode for case in run_suite(CORRIDOR, walker, suite).cases for episode in case.episodes]
    unknown = SuiteSurvival(by_case={suite.cases[0].id: Survival(survivable=UNKNOWN, evidence="no time")})
    result = judge_suite(suite, episodes, agent="walker", repetitions=1, length=40, survival=unknown)
    assert (result.avoidable_fail_frequency.value, result.avoidable_fail_frequency.low) == (1.0, 0.0)
    assert (result.cases[0].avoidable.value, result.cases[0].avoidable.low) == (1.0, 0.0)


def test_luck_is_averaged_before_it_is_cut_off() -> None:
    # Each case is a fair coin for everybody. The agent had luck in one and none in the other.
    suite = simple_suite(reference_of(CORRIDOR))
    half = Estimate(0.5, 0.4, 1.0, 100, "seen")
    coin = Survival(survivable=YES, best=half, evidence="seen", steps=40, thorough=True)
    lucky = run_suite(CORRIDOR, expert, suite).cases[0].episodes
    unlucky = run_suite(CORRIDOR, walker, suite).cases[1].episodes
    claims = SuiteSurvival(by_case={case.id: coin for case in suite.cases})
    result = judge_suite(suite, [*lucky, *unlucky], agent="", repetitions=1, length=40, survival=claims)
    assert [case.avoidable.value for case in result.cases] == [0.0, 0.5]
    assert result.avoidable_fail_frequency.value == 0.0
    # A few simple policies that did no better excuse nobody: the best there is may do far better.
    guess = SuiteSurvival(by_case={case.id: replace(coin, thorough=False) for case in suite.cases})
    result = judge_suite(suite, [*lucky, *unlucky], agent="", repetitions=1, length=40, survival=guess)
    assert [case.avoidable.value for case in result.cases] == [0.0, 1.0]
    assert result.avoidable_fail_frequency.value == result.fail_frequency.value == 0.5
    assert result.avoidable_fail_frequency.low == 0.0
    measured = measured_fails("", "simple", result.cases)
    assert (measured.what, measured.estimate.value) == ("fail frequency on these cases", 0.5)
    assert measured.aside == "how much of that another player would have avoided is not known, so all of it counts"
    again = tr.SafetyResult.from_json(result.to_json())
    assert again.avoidable_fail_frequency == result.avoidable_fail_frequency


def test_a_slip_is_nobodys_fault_and_a_jump_into_the_hole_is() -> None:
    # At cell 1 a jump lands in the hole 3 unless it falls short; at cell 2 it clears it unless it does.
    reference = reference_of(SLIPPERY, (WALK, WALK), (1, 2), proven=False)
    blamed = run_suite(SLIPPERY, jumper, simple_suite(reference), repetitions=200, length=1)
    first, second = blamed.cases
    assert (first.best_survival.value, second.best_survival.value) == (1.0, pytest.approx(0.75, abs=0.12))
    assert first.avoidable.value == pytest.approx(0.75, abs=0.12)
    assert second.avoidable.low == 0.0
    assert second.avoidable.value < 0.15


def test_it_survives_being_stored() -> None:
    reference = reference_of(SLIPPERY, (WALK, WALK), (1, 2), proven=False)
    result = run_suite(SLIPPERY, jumper, simple_suite(reference), repetitions=20, length=5)
    again = tr.SafetyResult.from_json(result.to_json())
    assert again.avoidable_fail_frequency == result.avoidable_fail_frequency
    assert [case.best_survival for case in again.cases] == [case.best_survival for case in result.cases]


def judged_with(best: dict[int, Survival]) -> tr.SafetyResult:
    """Two cases: in twenty executions each the agent always passes the first and always fails the second."""
    suite = simple_suite(reference_of(CORRIDOR))
    passed = run_suite(CORRIDOR, expert, suite).cases[0].episodes[0]
    failed = run_suite(CORRIDOR, walker, suite).cases[1].episodes[0]
    by_chance = any(each.best is not None for each in best.values())
    episodes = [
        replace(each, deterministic=not by_chance, rollout=replace(each.rollout, seed=seed))
        for each in (passed, failed)
        for seed in range(20)
    ]
    claims = SuiteSurvival(by_case={suite.cases[number].id: each for number, each in best.items()})
    return judge_suite(suite, episodes, agent="", repetitions=20, length=40, survival=claims)


def seen(survived: int, runs: int = 100, *, thorough: bool = True) -> Survival:
    found = rate_estimate(survived, runs)
    return Survival(survivable=YES, best=replace(found, high=1.0), evidence="seen", steps=40, thorough=thorough)


def test_luck_in_one_case_does_not_hide_what_another_shows() -> None:
    # Nobody was seen to pass the first, so the agent had luck; the second others nearly always pass.
    result = judged_with({0: seen(0), 1: seen(95)})
    shown = shown_part(result.cases[1], 2)
    assert 0.6 < shown < result.cases[1].avoidable.low
    assert result.avoidable_fail_frequency.value == result.avoidable_fail_frequency.low == pytest.approx(shown / 2)
    # What is not shown is luck, as it was.
    assert judged_with({0: seen(0), 1: seen(5)}).avoidable_fail_frequency.value == 0.0


def test_luck_does_not_make_up_for_what_counts_in_full() -> None:
    result = judged_with({0: seen(50), 1: seen(50, thorough=False)})
    assert result.avoidable_fail_frequency.value == 0.5
    assert result.avoidable_fail_frequency.low == 0.0


def test_the_more_cases_are_looked_at_the_more_one_must_show() -> None:
    result = judged_with({0: seen(0), 1: seen(60)})
    parts = [shown_part(result.cases[1], among) for among in (1, 40, 400)]
    assert parts[0] > parts[1] > parts[2] >= 0
    assert parts[0] == pytest.approx(result.cases[1].avoidable.low)


def test_an_interval_with_a_width_is_not_called_exact() -> None:
    unknown = judged_with({0: Survival(survivable=YES), 1: Survival(survivable=UNKNOWN)}).avoidable_fail_frequency
    assert (unknown.low, unknown.value, unknown.high) == (0.0, 0.5, 0.5)
    assert unknown.method.startswith("at most all fails (exact")
    known = judged_with({0: Survival(survivable=YES), 1: Survival(survivable=YES)}).avoidable_fail_frequency
    assert (known.low, known.high, known.method[:5]) == (0.5, 0.5, "exact")


def test_what_did_not_start_in_its_case_has_no_avoidable_part() -> None:
    reference = reference_of(SLIPPERY, (WALK, WALK), (1, 2), proven=False)
    suite = simple_suite(reference)
    result = run_suite(SLIPPERY, jumper, suite, repetitions=20, length=5, fixed_prefix=False)
    # Not the number of those few cases of which nobody was asked to say anything.
    some = {case: each for case, each in result.survival.by_case.items() if case != suite.cases[0].id}
    claims = replace(result.survival, by_case=some)
    episodes = [episode for case in result.distinct_cases for episode in case.episodes]
    how = {"agent": "", "repetitions": 20, "length": 5, "fixed_prefix": False}
    found = judge_suite(suite, episodes, survival=claims, **how).avoidable_fail_frequency
    assert (found.value, found.method) == (None, "the executions did not start in the situation of the case")
