"""Default candidates: few, of the space, different, and spanning it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from tightrope.errors import TaskError
from tightrope.tasks import action_decoder, encode_action
from tightrope.tasks.candidates import MOST_CANDIDATES, candidate_actions, every_action
from tightrope.tasks.spaces import mask_allows

SPACES: dict[str, gym.Space[Any]] = {
    "box": spaces.Box(-2.0, 2.0, (1,), np.float32),
    "images": spaces.Box(0, 255, (2, 2), np.uint8),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,)),
    "half bounded": spaces.Box(np.array([5.0, -np.inf]), np.array([np.inf, -3.0]), dtype=np.float64),
    "one point": spaces.Box(1.0, 1.0, (2,)),
    "many joints": spaces.Box(-1.0, 1.0, (17,), np.float32),
    "too many joints": spaces.Box(-1.0, 1.0, (400,), np.float32),
    "multi discrete": spaces.MultiDiscrete([3, 3]),
    "multi discrete that starts elsewhere": spaces.MultiDiscrete([3, 2], start=[1, -1]),
    "multi discrete in two dimensions": spaces.MultiDiscrete([[2, 3], [2, 2]]),
    "many choices": spaces.MultiDiscrete([50] * 6),
    "switches": spaces.MultiBinary(3),
    "board": spaces.MultiBinary((6, 6)),
    "tuple": spaces.Tuple((spaces.Discrete(3, start=1), spaces.MultiBinary(2))),
    "dict": spaces.Dict(turn=spaces.Discrete(3), push=spaces.Box(-1.0, 1.0, (2,), np.float32)),
    "nested": spaces.Dict(a=spaces.Tuple((spaces.Discrete(2), spaces.Dict(b=spaces.MultiDiscrete([2, 2]))))),
}


@pytest.mark.parametrize("name", SPACES)
def test_candidates_are_few_different_actions_of_the_space(name: str) -> None:
    space = SPACES[name]
    candidates = candidate_actions(space)
    assert 1 <= len(candidates) <= MOST_CANDIDATES
    assert len(set(candidates)) == len(candidates)
    decode = action_decoder(space)
    for action in candidates:
        assert space.contains(decode(action)), action
        assert encode_action(space, decode(action)) == action
        assert encode_action(space, action) == action


@pytest.mark.parametrize("name", SPACES)
def test_all_actions_are_listed_where_they_are_few_and_never_some_of_them(name: str) -> None:
    """What is proven of an action list is proven of the environment only if nothing is missing from it."""
    space = SPACES[name]
    number = number_of_actions(space)
    listed = every_action(space)
    if number > MOST_CANDIDATES:
        assert listed is None
    else:
        assert listed is not None
        assert len(set(listed)) == len(listed) == number
        assert all(space.contains(action_decoder(space)(action)) for action in listed)


def number_of_actions(space: gym.Space[Any]) -> float:
    match space:
        case spaces.Discrete():
            return int(space.n)
        case spaces.MultiDiscrete():
            return float(np.prod(space.nvec.astype(float)))
        case spaces.MultiBinary():
            return float(2 ** np.prod(space.shape))
        case spaces.Tuple():
            return float(np.prod([number_of_actions(part) for part in space.spaces]))
        case spaces.Dict():
            return float(np.prod([number_of_actions(part) for part in space.spaces.values()]))
    return np.inf


def test_what_the_candidates_are() -> None:
    assert candidate_actions(spaces.Discrete(40, start=2)) == tuple(range(2, 42))
    assert candidate_actions(SPACES["box"]) == ((-2.0,), (0.0,), (2.0,))
    assert candidate_actions(SPACES["one point"]) == ((1.0, 1.0),)
    assert candidate_actions(SPACES["unbounded"])[0] == (-1.0, -1.0)
    assert candidate_actions(SPACES["half bounded"])[0] == (5.0, -4.0)
    assert len(candidate_actions(SPACES["multi discrete"])) == 9
    assert len(candidate_actions(SPACES["dict"])) == 27
    joints = candidate_actions(SPACES["many joints"])
    assert joints[0] == (0.0,) * 17
    assert all(sum(value != 0.0 for value in action) == 1 for action in joints[1:])


def test_spaces_without_candidates_are_refused_in_words() -> None:
    with pytest.raises(TaskError, match="actions of Text spaces are not supported; wrap the environment"):
        candidate_actions(spaces.Dict(say=spaces.Text(5)))


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("dict", {"turn": 1}),
        ("dict", {"turn": 7, "push": [0.0, 0.0]}),
        ("dict", (1,)),
        ("tuple", (1,)),
        ("tuple", 3),
        ("multi discrete", (1, 3)),
        ("multi discrete", (1, 0.5)),
        ("multi discrete", "no"),
        ("switches", (0, 1, 2)),
        ("box", (np.nan,)),
        ("box", None),
    ],
)
def test_what_is_no_action_is_told(name: str, action: Any) -> None:
    with pytest.raises(TaskError, match="is not an action of"):
        encode_action(SPACES[name], action)


def test_masks_of_discrete_and_multi_discrete_spaces() -> None:
    assert [mask_allows(spaces.Discrete(3, start=1), [1, 0, 1], action) for action in (1, 2, 3)] == [True, False, True]
    space = SPACES["multi discrete that starts elsewhere"]
    mask = (np.array([1, 0, 1]), np.array([0, 1]))
    allowed = [action for action in candidate_actions(space) if mask_allows(space, mask, action)]
    assert allowed == [(1, 0), (3, 0)]
    assert [a for a in candidate_actions(space) if mask_allows(space, np.concatenate(mask), a)] == allowed
    assert mask_allows(SPACES["box"], [0], (0.0,))
