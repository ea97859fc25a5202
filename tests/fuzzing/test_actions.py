from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing.worlds import rail_task
from tightrope.errors import TaskError
from tightrope.fuzzing import ActionSource, action_source
from tightrope.tasks import action_decoder
from tightrope.testing import corridor_task

MIXED = gym.spaces.Dict(
    {
        "buttons": gym.spaces.MultiBinary(2),
        "gear": gym.spaces.MultiDiscrete([3, 4]),
        "both": gym.spaces.Tuple((gym.spaces.Discrete(3, start=5), gym.spaces.Box(-2, 3, (2,), np.float32))),
        "dial": gym.spaces.Box(0, 7, (2,), np.int32),
    }
)


@given(st.integers(0, 10**6))
def test_every_action_drawn_or_perturbed_is_one_of_the_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = ActionSource(MIXED, None)
    decode = action_decoder(MIXED)
    drawn = source.draw(rng)
    for action in (drawn, source.perturb(drawn, rng), source.near(drawn, rng)):
        decoded = decode(action)
        assert MIXED.contains(decoded), decoded


@given(st.integers(0, 10**6))
def test_unbounded_boxes_can_be_drawn_from(seed: int) -> None:
    space = gym.spaces.Box(np.array([-np.inf, 0.0]), np.array([np.inf, np.inf]), dtype=np.float64)
    action = ActionSource(space, None).draw(np.random.default_rng(seed))
    assert space.contains(action_decoder(space)(action))


def test_a_perturbed_continuous_action_stays_near() -> None:
    source, rng = action_source(rail_task()), np.random.default_rng(0)
    moves = [source.perturb((0.0,), rng)[0] for _ in range(2000)]  # type: ignore[index]
    assert abs(np.std(moves) - 0.2) < 0.02  # a tenth of the range -1 … 1


def test_half_of_the_runs_in_a_continuous_space_are_perturbations() -> None:
    source, rng = action_source(rail_task()), np.random.default_rng(0)
    near = sum(abs(source.near((0.9,), rng)[0] - 0.9) < 0.6 for _ in range(2000))  # type: ignore[index]
    assert 0.6 < near / 2000 < 0.75  # all perturbations, and the third of the uniform draws that falls there


def test_the_task_lists_the_actions_unless_others_are_given() -> None:
    assert action_source(corridor_task()).listed == (0, 1)
    assert action_source(corridor_task(actions=(1,))).listed == (1,)
    assert action_source(corridor_task(actions=(1,)), [0]).listed == (0,)
    assert action_source(rail_task()).listed is None
    with pytest.raises(TaskError, match="not an action"):
        action_source(corridor_task(), [7])


def test_other_is_another_action_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    assert {action_source(corridor_task()).other(0, rng) for _ in range(20)} == {1}
    assert action_source(corridor_task(), [1]).other(1, rng) == 1


def test_masks_leave_only_what_they_allow() -> None:
    source = ActionSource(gym.spaces.Discrete(3, start=1), (1, 2, 3))
    assert source.within([1, 0, 1]).listed == (1, 3)
    assert source.within([0, 0, 0]).listed == (1, 2, 3)
    assert source.within(None) is source
