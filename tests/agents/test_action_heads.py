from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from tests.agents.tasks import BITS, MOVES, SWITCHES, TORQUES
from tightrope.agents.behaviour import random_action
from tightrope.agents.networks.action_heads import (
    ActionHead,
    BernoulliHead,
    CategoricalHead,
    ContinuousHead,
    MultiCategoricalHead,
    head_for,
)
from tightrope.agents.networks.scores import checked
from tightrope.errors import AgentError, AgentFailure
from tightrope.seeding import generator


def frequencies(head, outputs, mask=None, draws: int = 4000):
    numbers = generator("draws")
    drawn = [head.drawn(outputs, mask, numbers) for _ in range(draws)]
    return {action: drawn.count(action) / draws for action in set(drawn)}


def test_the_best_action_is_the_first_of_the_highest_scores() -> None:
    head = CategoricalHead(gym.spaces.Discrete(3, start=5))
    scores = np.array([[0.0, 2.0, 2.0], [1.0, 0.0, -1.0]])
    assert head.best((scores,), [None, None]) == [6, 5]


def test_a_mask_rules_out_the_best() -> None:
    head = CategoricalHead(gym.spaces.Discrete(3))
    scores = np.array([[0.0, 2.0, 1.0]])
    assert head.best((scores,), [np.array([1, 0, 1])]) == [2]


def test_draws_follow_the_softmax_of_the_scores() -> None:
    head = CategoricalHead(gym.spaces.Discrete(3))
    found = frequencies(head, (np.log(np.array([[0.2, 0.5, 0.3]])),))
    assert found == pytest.approx({0: 0.2, 1: 0.5, 2: 0.3}, abs=0.03)


def test_masked_actions_are_never_drawn() -> None:
    head = CategoricalHead(gym.spaces.Discrete(3))
    found = frequencies(head, (np.log(np.array([[0.2, 0.5, 0.3]])),), mask=np.array([1, 0, 1]))
    assert found == pytest.approx({0: 0.4, 2: 0.6}, abs=0.03)


def test_each_dimension_of_several_choices_is_its_own() -> None:
    head = MultiCategoricalHead(SWITCHES)
    scores = np.array([[0.0, 3.0, 1.0, 2.0, 0.0]])
    assert head.best((scores,), [None]) == [(1, 0)]
    assert head.best((scores,), [(np.array([1, 0, 1]), np.array([0, 1]))]) == [(2, 1)]
    assert set(frequencies(head, (scores,))) <= {(i, j) for i in range(3) for j in range(2)}


def test_bits_follow_their_logits() -> None:
    head = BernoulliHead(BITS)
    logits = np.array([[5.0, -5.0, 0.0]])
    assert head.best((logits,), [None]) == [(1, 0, 0)]
    found = frequencies(head, (logits,))
    assert sum(share for action, share in found.items() if action[2]) == pytest.approx(0.5, abs=0.05)


def test_what_parts_add_up_to_is_as_likely_as_it_is_drawn() -> None:
    mask = (np.array([1, 0, 1]), np.array([1, 1]))
    for head, scores, ruled_out in (
        (MultiCategoricalHead(SWITCHES), np.array([[0.0, 3.0, 1.0, 1.0, 0.0]]), mask),
        (BernoulliHead(BITS), np.array([[1.0, -1.0, 0.0]]), None),
    ):
        wanted = head.preferences((scores,), ruled_out)
        assert wanted is not None
        assert sum(wanted.by_action.values()) == pytest.approx(1.0)
        assert wanted.by_action == pytest.approx(frequencies(head, (scores,), ruled_out), abs=0.04)


def test_a_list_nobody_would_read_is_not_made() -> None:
    head = BernoulliHead(gym.spaces.MultiBinary(7))
    assert head.preferences((np.zeros((1, 7)),), None) is None


def test_a_point_outside_the_box_is_clipped() -> None:
    assert ContinuousHead(TORQUES).best((np.array([[3.0, -1.0]], np.float32),), [None]) == [(2.0, 0.0)]


def test_a_squashed_point_is_scaled_to_the_box() -> None:
    head = ContinuousHead(TORQUES, spread=True, squashed=True)
    mean = np.array([[0.0, 100.0]], np.float32)
    assert head.best((mean, np.zeros_like(mean)), [None]) == [(0.0, 1.0)]


def test_draws_spread_by_the_standard_deviation() -> None:
    head = ContinuousHead(gym.spaces.Box(-100.0, 100.0, (1,)), spread=True)
    numbers = generator("spread")
    outputs = (np.array([[3.0]]), np.log(np.array([[2.0]])))
    drawn = np.array([head.drawn(outputs, None, numbers)[0] for _ in range(4000)])
    assert drawn.mean() == pytest.approx(3.0, abs=0.15)
    assert drawn.std() == pytest.approx(2.0, abs=0.1)


def test_wrong_width_names_both_sides() -> None:
    with pytest.raises(AgentFailure, match=r"\(3,\).*\(4,\)"):
        CategoricalHead(MOVES).best((np.zeros((1, 3)),), [None])


def test_nan_is_refused() -> None:
    with pytest.raises(AgentFailure, match="NaN"):
        checked(np.array([[np.nan, 0.0]]), (2,))


def test_a_mask_of_the_wrong_length_or_without_any_action_is_refused() -> None:
    head = CategoricalHead(MOVES)
    with pytest.raises(AgentFailure, match="3 entries for 4 actions"):
        head.best((np.zeros((1, 4)),), [np.ones(3)])
    with pytest.raises(AgentFailure, match="no action at all"):
        head.best((np.zeros((1, 4)),), [np.zeros(4)])


def test_networks_cannot_answer_for_every_space() -> None:
    with pytest.raises(AgentError, match="Python callable"):
        head_for(gym.spaces.Tuple([MOVES, MOVES]))


def test_actions_from_the_network_itself_cannot_be_drawn() -> None:
    head = ActionHead(MOVES)
    assert head.best((np.array([3, 1]),), [None, None]) == [3, 1]
    assert not head.distribution
    with pytest.raises(AgentFailure, match=r"3 was answered.*allows \[0\]"):
        head.best((np.array([3]),), [np.array([1, 0, 0, 0])])


@pytest.mark.parametrize("space", [MOVES, SWITCHES, BITS, TORQUES, gym.spaces.Discrete(3, start=4)])
def test_random_actions_are_actions_and_differ(space: gym.Space) -> None:
    numbers = generator("uniform")
    drawn = {random_action(space, numbers) for _ in range(60)}
    assert len(drawn) > 2
    for action in drawn:
        assert space.contains(action if isinstance(action, int) else np.array(action, space.dtype))


def test_an_unbounded_box_cannot_be_drawn_from() -> None:
    with pytest.raises(AgentError, match="epsilon"):
        random_action(gym.spaces.Box(-np.inf, np.inf, (2,)), generator(0))
