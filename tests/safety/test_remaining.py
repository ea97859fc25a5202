"""What a suite has left to show."""

from __future__ import annotations

from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, reference_of, walker
from tightrope.safety import decide_gate, run_suite, simple_suite
from tightrope.statistics import unseen_kinds
from tightrope.testing import JUMP, WALK, RandomAgent

drunk = RandomAgent((WALK, JUMP), "drunk")


def test_where_nothing_is_random_nothing_new_comes() -> None:
    unseen = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR))).unseen
    assert (unseen.executions, unseen.kinds, unseen.new_kind.high) == (2, 2, 0.0)


def test_rounds_are_repetitions_and_kinds_are_groups() -> None:
    result = run_suite(CORRIDOR, drunk, simple_suite(reference_of(CORRIDOR)), repetitions=12, explain=True)
    first, second = result.cases
    assert first.fails
    assert second.fails
    kinds = {case.case.id: at for at, group in enumerate(result.failure_groups) for case in group.members}
    rounds = [
        [kinds[case.case.id] if case.verdicts[turn] == "fail" else None for case in (first, second)]
        for turn in range(12)
    ]
    assert result.unseen == unseen_kinds(rounds)
    assert result.unseen.executions == 24
    assert result.unseen.kinds == len(result.failure_groups)


def test_a_suite_without_a_fail_says_how_likely_the_next_one_is() -> None:
    result = run_suite(SLIPPERY, expert, simple_suite(reference_of(SLIPPERY, depths=(6,))), repetitions=30)
    assert result.fails == 0
    assert result.unseen.new_kind.high is not None
    assert 0.09 < result.unseen.new_kind.high < 0.11
    assert "without a failure" in str(result.unseen)


def test_a_gate_that_stopped_early_says_nothing_about_what_remains() -> None:
    result = decide_gate(CORRIDOR, drunk, simple_suite(reference_of(CORRIDOR)), limit=0.05, repetitions=60)
    assert result.stopped_early
    assert result.unseen.new_kind.value is None
