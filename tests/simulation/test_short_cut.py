"""Past the wrappers of ``gymnasium.make`` everything is as it would be through them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from tightrope.simulation.short_cut import step_function


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
