"""Past the wrappers of ``gymnasium.make`` everything is as it would be through them."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit

import tightrope as tr
from tightrope.simulation import open_simulator
from tightrope.simulation.short_cut import speed_up_spaces, step_function


def pole(**options: Any) -> Any:
    return gym.make("CartPole-v1", disable_env_checker=True, **options)


def plain(result: Any) -> Any:
    observation, *rest = result
    return observation.tobytes(), *rest


@pytest.mark.parametrize("limit", [1, 3, 500])
def test_every_step_is_the_same_to_the_end_and_after_a_reset(limit: int) -> None:
    there, here = pole(max_episode_steps=limit), pole(max_episode_steps=limit)
    step = step_function(here)
    assert step.__qualname__ != here.step.__qualname__
    rng = np.random.default_rng(0)
    for seed in range(3):
        assert plain(there.reset(seed=seed)) == plain(here.reset(seed=seed))
        over = False
        while not over:
            action = int(rng.integers(2))
            expected, found = there.step(action), step(action)
            assert plain(expected) == plain(found)
            assert (there._elapsed_steps, there.unwrapped.steps_beyond_terminated) == (
                here._elapsed_steps,
                here.unwrapped.steps_beyond_terminated,
            )
            over = found[2] or found[3]


def test_a_step_before_the_first_reset_is_refused_as_ever() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        step_function(pole())(0)


@pytest.mark.parametrize("counter", ["_elapsed_steps", "_max_episode_steps", "_has_reset"])
def test_wrappers_that_count_under_other_names_are_left_alone(counter: str) -> None:
    env = gym.make("CartPole-v1", disable_env_checker=True)
    del vars(env.env if counter == "_has_reset" else env)[counter]  # type: ignore[attr-defined]
    assert step_function(env) == env.step


def test_calls_of_the_wrapper_itself_and_a_limit_that_is_changed_count() -> None:
    env = pole(max_episode_steps=4)
    step = step_function(env)
    env.reset(seed=0)
    assert [taken(action)[3] for taken, action in ((step, 0), (env.step, 1), (step, 0), (env.step, 1))] == [
        False,
        False,
        False,
        True,
    ]
    env.reset(seed=0)
    env._max_episode_steps = 2
    assert [step(action)[3] for action in (0, 1)] == [False, True]


def test_other_wrappers_are_gone_through() -> None:
    class Doubled(TimeLimit):
        def step(self, action: Any) -> Any:
            observation, reward, *rest = super().step(action)
            return observation, 2 * reward, *rest

    class Replaced(gym.RewardWrapper):
        def reward(self, reward: Any) -> Any:
            return 2 * reward

    patched = pole()
    original = patched.step
    patched.step = lambda action: (*original(action)[:1], 2.0, False, False, {})
    for env in (Doubled(pole().env, 500), Replaced(pole()), TimeLimit(Replaced(pole().env), 500), patched):
        env.reset(seed=0)
        assert step_function(env)(0)[1] == 2.0


VALUES: list[Any] = [
    *range(-3, 9), True, False, 1.0, 2.5, None, "1", (1,), 10**30, -(10**30),
    np.int64(1), np.int8(2), np.uint64(1), np.float64(1), np.array(1), np.array([1]), np.array(1.0),
]  # fmt: skip


@pytest.mark.parametrize(
    "space",
    [Discrete(1), Discrete(3), Discrete(4, start=-2), Discrete(3, start=2), Discrete(3, dtype=np.int8)],
    ids=str,
)
def test_a_space_contains_what_it_contained(space: Any) -> None:
    quick = copy.deepcopy(space)
    speed_up_spaces([SimpleNamespace(action_space=quick)])
    assert vars(quick)["contains"].func is not Discrete.contains
    for one in (quick, copy.deepcopy(quick), pickle.loads(pickle.dumps(quick))):
        assert [one.contains(value) for value in VALUES] == [space.contains(value) for value in VALUES]
        assert [value in one for value in VALUES] == [value in space for value in VALUES]
        assert (one, repr(one)) == (space, repr(space))


def test_a_space_that_is_changed_or_answers_in_its_own_way_is_asked_itself() -> None:
    class Odd(Discrete):
        def contains(self, x: Any) -> bool:
            return bool(x % 2)

    changed, odd, patched = Discrete(3), Odd(3), Discrete(3)
    patched.contains = lambda value: value == 7  # type: ignore[method-assign]
    speed_up_spaces([SimpleNamespace(one=changed, two=odd, three=patched)])
    changed.n = np.int64(5)
    assert [changed.contains(4), changed.contains(5)] == [True, False]
    assert [odd.contains(2), odd.contains(5)] == [False, True]
    assert [patched.contains(0), patched.contains(7)] == [False, True]


def test_a_simulator_looks_no_limits_up_and_its_environment_still_refuses_what_is_no_action(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulator = open_simulator(tr.make_task("CartPole-v1"))
    simulator.reset(0)
    with monkeypatch.context() as context:
        context.setattr(Discrete, "contains", None)
        simulator.advance(1)
    with pytest.raises(AssertionError):
        simulator.env.step(2)
    simulator.close()
