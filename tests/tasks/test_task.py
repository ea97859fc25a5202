"""Tasks, names, keys and actions: what they accept, and what they say when they do not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tightrope.errors import TaskError, UnknownName, UsageError
from tightrope.tasks import (
    Task,
    action_decoder,
    encode_action,
    freeze,
    info_key,
    make_task,
    observation_bytes,
    parts_key,
    register_task,
    rounded_key,
    span_box,
)
from tightrope.tasks.levelmap import LevelMap, grid_map
from tightrope.tasks.spaces import action_list
from tightrope.testing import corridor_task

PENDULUM: dict[str, Any] = {
    "name": "pendulum",
    "make_env": lambda: gym.make("Pendulum-v1"),
    "goal": lambda transition: False,
    "unsafe": lambda transition: False,
}


def test_a_task_lists_all_actions_of_a_discrete_space() -> None:
    assert corridor_task().search_actions == (0, 1)
    assert corridor_task(actions=[1]).search_actions == (1,)
    shifted = gym.spaces.Discrete(3, start=-1)
    assert action_list("task", shifted, None) == (-1, 0, 1)


def test_a_continuous_space_has_candidates() -> None:
    assert Task(**PENDULUM).search_actions == ((-2.0,), (0.0,), (2.0,))
    task = Task(**PENDULUM, actions=span_box(gym.spaces.Box(-2.0, 2.0, (1,)), levels=2))
    assert task.search_actions == ((-2.0,), (2.0,))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"goal": 3}, "goal must be callable"),
        ({"actions": []}, "actions is empty"),
        ({"max_steps": 0}, "max_steps must be 1 or more"),
    ],
)
def test_tasks_that_break_a_rule(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        Task(**{**PENDULUM, **fields})


@pytest.mark.parametrize("actions", [[0, 7], [0, 0], ["left"]])
def test_actions_outside_the_space_or_named_twice(actions: list[Any]) -> None:
    with pytest.raises(TaskError):
        corridor_task(actions=actions).search_actions  # noqa: B018 - the property raises


def test_labels_name_the_options() -> None:
    assert make_task("CartPole-v1").label == "CartPole-v1"
    task = make_task("FrozenLake-v1", map_name="4x4", is_slippery=False)
    assert task.label == "FrozenLake-v1(is_slippery=False, map_name='4x4')"
    assert task.registered
    assert repr(task) == f"Task({task.label})"


def test_names_near_and_far() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'FrozenLake-v1'"):
        make_task("FrozenLak-v1")
    with pytest.raises(UnknownName, match="There is no task named 'qqqqqqq'"):
        make_task("qqqqqqq")


def test_a_gymnasium_id_without_goal_and_unsafe_shows_how_to_give_them() -> None:
    with pytest.raises(TaskError, match="what is unsafe in 'Pendulum-v1'") as error:
        make_task("Pendulum-v1")
    assert "tightrope.Task(name='Pendulum-v1'" in str(error.value)


@pytest.fixture
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tightrope.tasks.registry._registered", {})


@pytest.mark.usefixtures("nothing_registered")
def test_registering_a_task() -> None:
    def build(*, length: int = 5) -> Task:
        return corridor_task(length, holes=())

    register_task("my-corridor", build)
    register_task("my-corridor", build)
    task = make_task("my-corridor", length=7)
    assert (task.name, task.options, task.registered) == ("my-corridor", {"length": 7}, True)
    with pytest.raises(UsageError, match="registered already"):
        register_task("my-corridor", lambda: corridor_task())
    with pytest.raises(UsageError, match="'CartPole-v1' is registered already"):
        register_task("CartPole-v1", build)
    with pytest.raises(UnknownName, match="'length'"):
        make_task("my-corridor", lenght=7)


ENVS = """
import gymnasium
import tightrope
import tightrope.testing

class Raw(gymnasium.Env):
    pass

raw = Raw()
number = 7

def make_raw():
    return Raw()

def nothing():
    pass

def raising(level):
    return {"1-1": 1}[level]

def refusing():
    raise tightrope.errors.TaskError("no such level")

task = tightrope.testing.corridor_task()
"""


@pytest.fixture
def envs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "tightrope_test_envs.py").write_text(ENVS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("tightrope_test_envs", None)


@pytest.mark.usefixtures("envs")
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "Raw",
            {},
            r"^'tightrope_test_envs:Raw' is a gymnasium\.Env, not a Task; .*tightrope\.Task\(name=…, make_env=…",
        ),
        ("raw", {}, r"raw' is a gymnasium\.Env, not a Task"),
        ("make_raw", {}, r"make_raw' returned a gymnasium\.Env, not a Task"),
        ("number", {}, "number' is 7, not a Task"),
        ("nothing", {}, "nothing' returned None, not a Task"),
        ("raising", {"level": "x"}, r"^the task function 'tightrope_test_envs:raising' raised KeyError: 'x'$"),
        ("refusing", {}, "^no such level$"),
    ],
)
def test_what_a_module_holds_that_is_no_task(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        make_task(f"tightrope_test_envs:{name}", **options)


@pytest.mark.usefixtures("envs")
def test_a_task_of_a_module_is_taken() -> None:
    assert make_task("tightrope_test_envs:task").search_actions == (0, 1)


@pytest.mark.usefixtures("nothing_registered")
def test_a_registered_builder_that_raises_is_named() -> None:
    def build() -> Task:
        raise ValueError("no level")

    register_task("broken-corridor", build)
    with pytest.raises(TaskError, match=r"^the task function 'broken-corridor' raised ValueError: no level$") as caught:
        make_task("broken-corridor")
    assert isinstance(caught.value.__cause__, ValueError)


# ------------------------------------------------------------------------------------------------------------- keys


def test_frozen_observations_are_equal_only_if_identical() -> None:
    first = {"image": np.arange(4), "pair": (1, np.float32(0.5)), "text": "go"}
    second = {"text": "go", "pair": (1, np.float32(0.5)), "image": np.arange(4)}
    assert freeze(first) == freeze(second)
    assert hash(freeze(first)) == hash(freeze(second))
    second["image"][0] = 9  # type: ignore[index]
    assert freeze(first) != freeze(second)


def test_keys_that_throw_something_away_say_so() -> None:
    assert corridor_task().key_is_exact
    assert not corridor_task(state_key=rounded_key(1.0)).key_is_exact
    assert not corridor_task(state_key=parts_key(0)).key_is_exact
    assert not corridor_task(state_key=info_key("x")).key_is_exact
    assert corridor_task(state_key=info_key("x", lossy=False)).key_is_exact


def test_rounded_keys() -> None:
    key = rounded_key(0.5, 10)
    assert key(None, np.array([0.7, 14.0]), {}) == (1, 1)
    assert rounded_key(2)(None, np.array([3.1, -3.1]), {}) == (2, -2)
    with pytest.raises(UsageError, match="got 2 steps for an observation of 3 numbers"):
        key(None, np.zeros(3), {})
    with pytest.raises(UsageError, match="positive steps"):
        rounded_key(0.0)


def test_keys_of_parts() -> None:
    observation = {"pose": np.array([1.0, 2.0]), "items": ({"n": 3},)}
    assert parts_key(("pose", 1), ("items", 0, "n"))(None, observation, {}) == (2.0, 3)
    assert info_key("x", "y")(None, None, {"x": 1, "y": np.array([2])}) == (1, np.array([2]).tobytes())
    with pytest.raises(UsageError, match="at least one"):
        parts_key()
    with pytest.raises(UsageError, match="at least one"):
        info_key()
    assert observation_bytes(None, 3, {}) == 3


# ---------------------------------------------------------------------------------------------------------- actions

SPACES = [
    gym.spaces.Discrete(4, start=2),
    gym.spaces.Box(-1.0, 1.0, (2, 3), np.float32),
    gym.spaces.MultiDiscrete([3, 2]),
    gym.spaces.MultiBinary(4),
    gym.spaces.Tuple((gym.spaces.Discrete(2), gym.spaces.Box(0, 1, (2,)))),
    gym.spaces.Dict(turn=gym.spaces.Discrete(3), push=gym.spaces.Box(0, 1, (1,))),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
@given(seed=st.integers(0, 1000))
def test_actions_go_there_and_back(space: gym.Space[Any], seed: int) -> None:
    space.seed(seed)
    action = space.sample()
    encoded = encode_action(space, action)
    assert hash(encoded) is not None
    decoded = action_decoder(space)(encoded)
    assert space.contains(decoded)
    assert encode_action(space, decoded) == encoded


@pytest.mark.parametrize(
    ("space", "action"),
    [(SPACES[0], 1), (SPACES[0], "a"), (SPACES[1], np.zeros(3)), (SPACES[1], np.full((2, 3), np.nan))],
)
def test_what_is_no_action(space: gym.Space[Any], action: Any) -> None:
    with pytest.raises(TaskError, match="is not an action of"):
        encode_action(space, action)


def test_spaces_that_are_not_supported() -> None:
    with pytest.raises(TaskError, match="not supported"):
        action_decoder(gym.spaces.Text(3))
    with pytest.raises(TaskError, match="bounded on both sides"):
        span_box(gym.spaces.Box(-np.inf, np.inf, (1,)))
    with pytest.raises(TaskError, match="2 or more levels"):
        span_box(gym.spaces.Box(-1, 1, (1,)), levels=1)


def test_spanning_a_box() -> None:
    actions = span_box(gym.spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]), dtype=np.float64), levels=3)
    assert len(actions) == 9
    assert actions[0] == (-1.0, 0.0)
    assert actions[-1] == (1.0, 2.0)


# ------------------------------------------------------------------------------------------------------------- maps


def test_maps_place_positions() -> None:
    level = LevelMap(np.zeros((10, 20, 3), np.uint8), origin=(1.0, 9.0), scale=(2.0, -2.0))
    assert level.to_pixels((3.0, 4.0)) == (7.0, 1.0)
    grid = grid_map(["#.", ".#"], {"#": (1, 2, 3)})
    x, y = grid.to_pixels((1, 0))
    assert grid.image[int(y), int(x)].tolist() != [1, 2, 3]
    x, y = grid.to_pixels((1, 1))
    assert grid.image[int(y), int(x)].tolist() == [1, 2, 3]
