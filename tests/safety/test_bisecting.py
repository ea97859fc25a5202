"""The first of a row of checkpoints that fails."""

from __future__ import annotations

from math import ceil, log2

import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, reference_of
from tightrope.errors import UsageError
from tightrope.safety import kept_suite
from tightrope.testing import JUMP, WALK, FunctionAgent, RandomAgent

SUITE = kept_suite(CORRIDOR, [reference_of(CORRIDOR).actions.prefix(2)])
NARROW = kept_suite(CORRIDOR, [reference_of(CORRIDOR).actions.prefix(4)])
"""One step before a hole: whoever walks fails at once."""


def careful(cell: int) -> int:
    return JUMP if cell in (2, 5) else WALK


def row(passing: int, failing: int) -> list[FunctionAgent]:
    good = [FunctionAgent(careful, f"step-{number}") for number in range(passing)]
    return good + [FunctionAgent(lambda cell: WALK, f"step-{passing + number}") for number in range(failing)]


@pytest.mark.parametrize(("passing", "failing"), [(1, 1), (1, 9), (9, 1), (5, 8), (13, 20)])
def test_the_first_that_fails_is_found_in_log2_tests(passing: int, failing: int) -> None:
    found = tr.bisect_checkpoints(CORRIDOR, row(passing, failing), SUITE)
    assert found.found
    assert found.first_failing is not None
    assert found.first_failing.agent == f"step-{passing}"
    assert found.last_passing is not None
    assert found.last_passing.agent == f"step-{passing - 1}"
    assert len(found.checked) <= 2 + ceil(log2(passing + failing))
    assert f"step-{passing} is the first that fails" in found.sentence()


def test_ends_that_are_not_as_they_must_be_answer_at_once() -> None:
    old = tr.bisect_checkpoints(CORRIDOR, row(0, 5), SUITE)
    assert len(old.checked) == 1
    assert "older than these" in old.sentence()
    new = tr.bisect_checkpoints(CORRIDOR, row(5, 0), SUITE)
    assert len(new.checked) == 2
    assert "nothing to look for" in new.sentence()


def test_what_cannot_be_told_is_flaky_and_its_neighbours_are_tried() -> None:
    coin = RandomAgent((WALK, JUMP), "coin")
    agents = [*row(3, 0), coin, *(FunctionAgent(lambda cell: WALK, f"late-{number}") for number in range(3))]
    found = tr.bisect_checkpoints(CORRIDOR, agents, NARROW, length=1, most=20)
    assert [each.agent for each in found.flaky] == ["coin"]
    assert not found.found
    assert found.sentence() == "It begins after step-2 and at late-0 at the latest; flaky between them: coin"


def test_chance_is_decided_by_the_test_and_not_by_one_execution() -> None:
    """One that jumps in 9 of 10 passes at a limit of 0.5, and one that walks in 9 of 10 fails."""
    agents = [
        RandomAgent((*[JUMP] * 9, WALK), "mostly jumps"),
        RandomAgent((*[JUMP] * 9, WALK), "mostly jumps, later"),
        RandomAgent((*[WALK] * 9, JUMP), "mostly walks"),
    ]
    found = tr.bisect_checkpoints(CORRIDOR, agents, NARROW, length=1)
    assert found.first_failing is not None
    assert found.first_failing.agent == "mostly walks"
    assert found.last_passing is not None
    assert found.last_passing.agent == "mostly jumps, later"
    assert all(1 < each.executions < 60 for each in found.checked)


def test_one_checkpoint_is_no_row() -> None:
    with pytest.raises(UsageError, match="an old and a new"):
        tr.bisect_checkpoints(CORRIDOR, row(1, 0), SUITE)
