"""How long an agent is watched: chosen from the task, said, and judged at every shorter length as well."""

from __future__ import annotations

import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, reference_of, walker
from tightrope.errors import UsageError
from tightrope.exploration.watch_length import choose_watch
from tightrope.safety import judge_suite, run_suite, simple_suite
from tightrope.settings import LONGEST_WATCH
from tightrope.testing import WALK, ConstantAgent, deterministic_table, tabular_task

SUITE = simple_suite(reference_of(CORRIDOR))


def test_the_task_says_how_long() -> None:
    short = CORRIDOR.with_options(max_steps=60)
    assert (choose_watch(short, SUITE.longest_way).steps, choose_watch(short, SUITE.longest_way).why) == (
        60,
        "the task's time limit",
    )
    endless = choose_watch(CORRIDOR, SUITE.longest_way)
    assert endless.steps == 40, "the paper's 40, where twice the way through is less"
    assert "its reference is short" in endless.why
    assert choose_watch(CORRIDOR, 60).steps == 120
    assert choose_watch(CORRIDOR, 60).why.endswith("so twice as long as the reference")
    far = choose_watch(CORRIDOR, 1000)
    assert far.steps == LONGEST_WATCH
    assert far.why.endswith("less than twice as long as the reference, which takes 1000")
    long = choose_watch(CORRIDOR.with_options(max_steps=9000), SUITE.longest_way)
    assert long.steps == LONGEST_WATCH
    assert "9000" in long.why
    assert choose_watch(short, SUITE.longest_way, 7).steps == 7
    with pytest.raises(UsageError, match="length must be 1 or more"):
        choose_watch(short, SUITE.longest_way, 0)


@pytest.mark.parametrize(("name", "limit"), [("CartPole-v1", 500), ("FrozenLake-v1", 100), ("MountainCar-v0", 200)])
def test_time_limits_of_environments_are_known(name: str, limit: int) -> None:
    assert tr.make_task(name).time_limit == limit


def test_a_fail_that_comes_late_is_seen_by_default_and_not_by_forty_steps() -> None:
    """Two ways lead on from cell 1: one goes to harm, sixty steps later."""
    slow = {cell: [cell + 1, cell + 1] for cell in range(2, 62)}
    table = deterministic_table({0: [1, 1], 1: [63, 2], 63: [64, 64], **slow})
    task = tabular_task(table, {64}, {62}, name="late-harm").with_options(max_steps=100)
    suite = simple_suite(reference_of(task, (0, 0, 0), (1,), bad=(1,), fuse=61))
    lazy = ConstantAgent(1)
    assert run_suite(task, lazy, suite, length=40).fail_frequency.value == 0
    seen = run_suite(task, lazy, suite)
    assert (seen.length, seen.fail_frequency.value, seen.last_fail) == (100, 1.0, 61)
    curve = seen.fail_frequency_over_length
    assert {length: each.value for length, each in curve.items()} == {1: 0.0, 61: 1.0, 100: 1.0}
    assert seen.cases[0].survivable == "yes"
    # A case alone is watched as in its suite, whoever asks about it.
    [case] = suite.cases
    assert tr.explain(task, lazy, case).horizon == seen.length
    assert len(tr.shrink(task, lazy, case).prefix) == 1


def test_every_point_of_the_curve_is_what_a_shorter_watch_would_have_given() -> None:
    suite = simple_suite(reference_of(SLIPPERY, (WALK, WALK), (1, 2), proven=False))
    drunk = tr.load_agent(lambda cell: 0, SLIPPERY, name="drunk", epsilon=0.5)
    result = run_suite(SLIPPERY, drunk, suite, repetitions=40, length=30, survivable=False)
    curve = result.fail_frequency_over_length
    assert list(curve) == sorted(curve)
    assert curve[30] == result.fail_frequency
    values = [each.value for each in curve.values()]
    assert values == sorted(values), "who failed sooner has failed later"
    episodes = [episode for case in result.distinct_cases for episode in case.episodes]
    for length, each in curve.items():
        shorter = judge_suite(suite, episodes, agent="drunk", repetitions=40, length=length)
        assert shorter.fail_frequency == each
    stored = tr.SafetyResult.from_json(result.to_json())
    assert (stored.fail_frequency_over_length, stored.watch) == (curve, "the given length")


def test_where_nothing_fails_the_curve_is_flat() -> None:
    result = run_suite(CORRIDOR, expert, SUITE)
    assert result.last_fail is None
    assert {each.value for each in result.fail_frequency_over_length.values()} == {0.0}
    assert run_suite(CORRIDOR, walker, SUITE).last_fail == 1


def test_a_horizon_is_one_for_proofs_and_witnesses() -> None:
    """Doom after sixty steps is none within forty."""
    slow = {cell: [cell + 1, cell + 1] for cell in range(1, 60)}
    task = tabular_task(deterministic_table({0: [61, 1], **slow}), {61}, {60}, name="slow-doom")
    reference = reference_of(task, (0,), (0,), bad=(1,), fuse=60)
    lost = tr.TestSuite.on(reference, "simple", {}, [tr.TestCase.on(reference, 0, 0, (1,))])
    watched = {length: run_suite(task, ConstantAgent(1), lost, length=length).cases[0] for length in (40, 59, 80)}
    assert [str(case.survivable) for case in watched.values()] == ["yes", "no", "no"]
    assert [case.fails for case in watched.values()] == [0, 1, 1]
