from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tightrope.errors import EnvironmentFailure
from tightrope.execution import EpisodeError, ErrorKind
from tightrope.fuzzing import Played, score
from tightrope.fuzzing.fitness import NO_KEYS, grown, newly_covered
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace

WEIGHTS = (2.0, 1.5, 1.0)


def played(keys: list[int], rewards: tuple[float, ...] = (), error: EpisodeError | None = None) -> Played:
    return Played(
        trace=ActionTrace("toy", 0, (0,) * len(rewards)),
        rewards=rewards,
        keys=np.array(keys, dtype=np.uint64),
        outcome=Outcome.ONGOING,
        error=error,
    )


def test_by_hand() -> None:
    covered = np.array([1, 2, 3], dtype=np.uint64)
    first, second = score([played([1, 4, 5, 5, 6], (4.0, -1.0, 2.0)), played([2, 4], (3.0, -4.0))], covered, WEIGHTS)
    assert (first.new_keys, first.positive_reward, first.negative_reward) == (3, 6.0, -1.0)
    assert (second.new_keys, second.positive_reward, second.negative_reward) == (1, 3.0, -4.0)
    assert (first.coverage, first.positive, first.negative) == (1.0, 1.0, 0.75)
    assert (second.coverage, second.positive, second.negative) == (pytest.approx(1 / 3), 0.5, 0.0)
    assert first.value == pytest.approx(2 + 1.5 + 0.75)
    assert second.value == pytest.approx(2 / 3 + 0.75)


def test_a_divisor_of_zero_makes_the_quotient_zero() -> None:
    (only,) = score([played([1], (0.0, 0.0))], np.array([1], dtype=np.uint64), WEIGHTS)
    assert (only.coverage, only.positive, only.negative) == (0.0, 0.0, 1.0)
    assert only.value == 1.0


def test_an_execution_that_raised_has_no_fitness_but_keeps_its_raw_terms() -> None:
    good, bad = score(
        [
            played([1], (1.0,)),
            played([1, 2, 3], (5.0,), error=EpisodeError(kind=ErrorKind.ENVIRONMENT, message="boom")),
        ],
        NO_KEYS,
        WEIGHTS,
    )
    assert bad.value == 0 < good.value
    assert bad.new_keys == 3


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), float("-inf")])
def test_rewards_must_be_finite(reward: float) -> None:
    with pytest.raises(EnvironmentFailure, match="finite"):
        score([played([1], (1.0,)), played([1], (1.0, reward))], NO_KEYS, WEIGHTS)


REWARDS = st.lists(st.floats(-50, 50, allow_nan=False), max_size=8).map(tuple)
MEMBERS = st.lists(st.tuples(st.lists(st.integers(0, 30), max_size=12), REWARDS), min_size=1, max_size=8)


@given(MEMBERS, st.sets(st.integers(0, 30)), st.tuples(*[st.floats(0, 5)] * 3))
def test_terms_are_shares_of_the_largest(members, covered, weights) -> None:
    known = np.array(sorted(covered), dtype=np.uint64)
    fitness = score([played(keys, rewards) for keys, rewards in members], known, weights)
    for (keys, rewards), value in zip(members, fitness, strict=True):
        assert value.new_keys == len(set(keys) - covered)
        assert value.positive_reward == pytest.approx(sum(r for r in rewards if r > 0))
        assert value.negative_reward == pytest.approx(sum(r for r in rewards if r < 0))
        terms = (value.coverage, value.positive, value.negative)
        assert all(0 <= term <= 1 for term in terms)
        assert value.value == pytest.approx(sum(w * t for w, t in zip(weights, terms, strict=True)))
    if any(value.new_keys for value in fitness):
        assert max(value.coverage for value in fitness) == 1
    if any(value.negative_reward for value in fitness):
        assert min(value.negative for value in fitness) == 0


@given(st.lists(st.integers(0, 2**64 - 1)), st.sets(st.integers(0, 2**64 - 1)))
def test_newly_covered_is_a_set_difference(keys, covered) -> None:
    known = np.array(sorted(covered), dtype=np.uint64)
    assert newly_covered(np.array(keys, dtype=np.uint64), known) == len(set(keys) - covered)
    assert set(grown(known, [played(keys)]).tolist()) == covered | set(keys)
