import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.safety.corridor import CORRIDOR, REFERENCE, reference_of
from tightrope.errors import UnknownName, UsageError
from tightrope.outcome import Outcome
from tightrope.reference import BoundaryState, Reference
from tightrope.safety import (
    TestCase,
    TestSuite,
    action_coverage_suite,
    interval_suite,
    make_suite,
    parse_spec,
    random_suite,
    simple_suite,
)
from tightrope.testing import JUMP, WALK
from tightrope.trace import ActionTrace, Step, Trace

reference = reference_of(CORRIDOR)


def prefixes(suite: TestSuite) -> list[tuple[int, ...]]:
    return [case.prefix.actions for case in suite.cases]  # type: ignore[misc]


def test_simple_is_one_prefix_per_boundary_state() -> None:
    assert prefixes(simple_suite(reference)) == [REFERENCE[:2], REFERENCE[:4]]
    assert [case.boundary for case in simple_suite(reference).cases] == [0, 1]


def test_interval_takes_every_offset_within_the_reference() -> None:
    suite = interval_suite(reference, 1)
    assert [len(prefix) for prefix in prefixes(suite)] == [1, 2, 3, 3, 4, 5]
    assert [case.label for case in suite.cases] == ["-1", "+0", "+1"] * 2
    assert [len(prefix) for prefix in prefixes(interval_suite(reference, 5))] == [*range(8), *range(9)]
    assert interval_suite(reference, 0).cases == simple_suite(reference).cases


def test_coverage_replaces_the_last_k_actions_by_every_combination() -> None:
    suite = action_coverage_suite(reference, 2, (WALK, JUMP))
    combinations = list(itertools.product((WALK, JUMP), repeat=2))
    assert prefixes(suite) == [REFERENCE[: depth - 2] + pair for depth in (2, 4) for pair in combinations]
    assert [case.label for case in suite.cases[:4]] == ["0 0", "0 1", "1 0", "1 1"]


def test_k_larger_than_the_depth_gives_no_cases_and_the_suite_says_so() -> None:
    suite = action_coverage_suite(reference, 3, (WALK, JUMP))
    assert {case.boundary for case in suite.cases} == {1}
    assert suite.without_cases == (0,)
    assert len(action_coverage_suite(reference, 5, (WALK, JUMP))) == 0


def test_no_boundary_states_and_a_reference_of_one_action() -> None:
    bare = reference_of(CORRIDOR, depths=())
    assert [len(suite) for suite in (simple_suite(bare), interval_suite(bare, 1))] == [0, 0]
    assert len(action_coverage_suite(bare, 1, (0, 1))) == 0
    short = reference_of(CORRIDOR, (WALK,), depths=(0,))
    assert prefixes(simple_suite(short)) == [()]
    assert prefixes(interval_suite(short, 3)) == [(), (WALK,)]
    assert len(action_coverage_suite(short, 1, (0, 1))) == 0


def test_the_same_situation_is_the_same_case_in_every_suite() -> None:
    simple, coverage = simple_suite(reference), action_coverage_suite(reference, 1, (WALK, JUMP))
    assert {case.id for case in simple.cases} <= {case.id for case in interval_suite(reference, 1).cases}
    assert {case.id for case in simple.cases} <= {case.id for case in coverage.cases}
    assert simple.id != interval_suite(reference, 0).id


def test_ids_are_the_same_on_every_machine() -> None:
    assert [case.id for case in simple_suite(reference).cases] == ["88e49a870463039f", "0c1546f84e42f884"]


def test_random_suites_copy_number_and_lengths_and_depend_on_the_seed_alone() -> None:
    like = interval_suite(reference, 1)
    control = random_suite(CORRIDOR, len(like), seed=3, like=like)
    assert [len(case.prefix) for case in control.cases] == [len(case.prefix) for case in like.cases]
    assert control == random_suite(CORRIDOR, len(like), seed=3, like=like)
    assert control.id != random_suite(CORRIDOR, len(like), seed=4, like=like).id
    assert [case.boundary for case in control.cases] == list(range(6))
    assert len(random_suite(CORRIDOR, 0)) == 0
    assert all(1 <= len(case.prefix) <= 40 for case in random_suite(CORRIDOR, 50).cases)


def test_actions_of_numpy_are_the_same_actions() -> None:
    plain = action_coverage_suite(reference, 1, (0, 1))
    assert action_coverage_suite(reference, 1, np.arange(2)) == plain  # type: ignore[arg-type]
    assert action_coverage_suite(reference, 1, np.arange(2)).id == plain.id  # type: ignore[arg-type]
    boxes = action_coverage_suite(reference, 1, [np.array([0.5, 1.0]), [0.25, 0.0]])  # type: ignore[list-item]
    assert [case.added for case in boxes.cases[:2]] == [((0.5, 1.0),), ((0.25, 0.0),)]


def test_wrong_use_is_explained() -> None:
    with pytest.raises(UsageError, match="0 or more, not -1"):
        interval_suite(reference, -1)
    with pytest.raises(UsageError, match="k = 1 or more, not 0"):
        action_coverage_suite(reference, 0, (0, 1))
    with pytest.raises(UsageError, match="each once"):
        action_coverage_suite(reference, 1, (0, 0))
    with pytest.raises(UsageError, match="each once"):
        action_coverage_suite(reference, 1, ())
    with pytest.raises(UsageError, match=r"1,048,576 cases.*smaller k"):
        action_coverage_suite(reference_of(CORRIDOR, depths=(5,)), 5, range(16))
    with pytest.raises(UsageError, match="not -2"):
        random_suite(CORRIDOR, -2)


def test_short_names() -> None:
    for name in ("simple", "interval:1", "coverage:2", "random:7"):
        assert make_suite(name, reference, task=CORRIDOR).name == name
    assert make_suite("coverage:1", reference, actions=(JUMP,)).parameters["actions"] == (JUMP,)
    kind, number = parse_spec(" interval:2 ")
    assert (kind.usage, number) == ("interval:SIZE", 2)


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("intervall:1", UnknownName, "Did you mean 'interval'"),
        ("interval", UsageError, "'interval:2'"),
        ("interval:x", UsageError, "whole number"),
        ("simple:3", UsageError, "takes no number"),
        ("coverage:1", UsageError, "needs the task or the actions"),
        ("random:3", UsageError, "needs the task"),
    ],
)
def test_wrong_short_names_are_explained(spec: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make_suite(spec, reference)


def test_pytest_leaves_the_classes_alone() -> None:
    assert not TestCase.__test__
    assert not TestSuite.__test__


def unplayed_reference(actions: list[int], depths: list[int]) -> Reference:
    steps = tuple(Step(action, 0.0, number, Outcome.ONGOING) for number, action in enumerate(actions))
    states = (BoundaryState(depth=depth, key=depth, actions=(), proven=False, evidence={}) for depth in depths)
    return Reference(
        trace=Trace("start", steps),
        actions=ActionTrace("nowhere", 0, tuple(actions)),
        boundary_states=tuple(states),
        method="demonstration",
    )


@given(st.lists(st.sampled_from((WALK, JUMP)), min_size=1, max_size=9), st.integers(0, 4), st.integers(1, 3), st.data())
def test_counts_as_specified(actions: list[int], size: int, k: int, data: st.DataObject) -> None:
    """By the text of the method, whatever the reference; nothing is executed."""
    depths = sorted(data.draw(st.sets(st.integers(0, len(actions) - 1))))
    made = unplayed_reference(actions, depths)
    interval = interval_suite(made, size)
    assert len(interval) == sum(
        0 <= depth + offset <= len(actions) for depth in depths for offset in range(-size, size + 1)
    )
    coverage = action_coverage_suite(made, k, (0, 1, 2))
    assert len(coverage) == 3**k * sum(depth >= k for depth in depths)
    for case in (*interval.cases, *coverage.cases):
        assert case.prefix.actions[: case.kept] == tuple(actions[: case.kept])
