"""The worlds of gymnax whose goal and danger are known: ``gymnax:CartPole-v1`` and others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import require_extra
from tightrope.tasks.builtin.classic_control import (
    TOP_SPEED,
    WALL,
    cart_and_pole,
    place_and_speed,
    push_under_the_pole,
    tip,
)
from tightrope.tasks.jaxworlds.rows import import_jax
from tightrope.tasks.jaxworlds.rules import WorldRule, ended, rule_of
from tightrope.tasks.jaxworlds.tasks import jax_task
from tightrope.tasks.jaxworlds.world import Array, Moment, World
from tightrope.tasks.keys import LossyKey, rounded_key
from tightrope.tasks.task import Task

_POLE = rounded_key(0.1, 0.2, 0.02, 0.2)


def hit_the_wall(moment: Moment) -> Array:
    """The car stands at the left end of its track."""
    return moment.observation[0] <= WALL


def turned_too_fast(moment: Moment) -> Array:
    """The elbow turns faster than it is built for."""
    return abs(moment.observation[5]) > TOP_SPEED


@LossyKey
def pole_and_time(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The rounded situation and how long it has lasted: the goal is to last, so coming back is no cycle."""
    return (_POLE(env, observation, info), int(env.unwrapped.situation[1].time))


KNOWN: Mapping[str, WorldRule] = {
    "CartPole-v1": WorldRule(
        fields={
            "state_key": pole_and_time,
            "order_actions": push_under_the_pole,
            "action_names": ("left", "right"),
            "position": cart_and_pole,
        },
    ),
    "MountainCar-v0": WorldRule(
        goal=ended,
        unsafe=hit_the_wall,
        fields={
            "state_key": rounded_key(0.01, 0.001),
            "action_names": ("left", "none", "right"),
            "position": place_and_speed,
        },
    ),
    "Acrobot-v1": WorldRule(
        goal=ended,
        unsafe=turned_too_fast,
        fields={
            "state_key": rounded_key(0.2, 0.2, 0.2, 0.2, 0.5, 0.5),
            "action_names": ("-1", "none", "+1"),
            "position": tip,
        },
    ),
    "Asterix-MinAtar": WorldRule(),
    "Breakout-MinAtar": WorldRule(),
    "SpaceInvaders-MinAtar": WorldRule(),
}


def gymnax_task(name: str, *, max_episode_steps: int | None = None) -> Task:
    """A world of gymnax as a task.

    Args:
        name: As gymnax calls it.
        max_episode_steps: Its time limit; None: its own.
    """
    rule = rule_of("gymnax", KNOWN, name, max_episode_steps)
    return jax_task(partial(gymnax_world, name, max_episode_steps), name=f"gymnax:{name}", **rule.fields)


def gymnax_world(name: str, max_episode_steps: int | None = None) -> World:
    """A world of gymnax as it is, its own starting anew left out."""
    import_jax()
    gymnax = require_extra("gymnax", "gymnax", f"task gymnax:{name}")
    env, params = gymnax.make(name)
    if max_episode_steps is not None:
        params = params.replace(max_steps_in_episode=max_episode_steps)

    def reset(key: Array) -> tuple[Any, Array]:
        observation, state = env.reset_env(key, params)
        return state, observation

    def step(key: Array, state: Any, action: Array) -> Moment:
        observation, state, reward, terminated, _ = env.step_env(key, state, action, params)
        return Moment(state, observation, reward, terminated, env.is_truncated(state, params))

    rule = KNOWN[name]
    return World(
        name=f"gymnax:{name}",
        reset=reset,
        step=step,
        observation_space=_gymnasium_space(env.observation_space(params)),
        action_space=_gymnasium_space(env.action_space(params)),
        goal=rule.goal,
        unsafe=rule.unsafe,
        max_steps=int(params.max_steps_in_episode),
    )


def _gymnasium_space(space: Any) -> gym.Space[Any]:
    if hasattr(space, "n"):
        return gym.spaces.Discrete(int(space.n))
    low, high = (np.broadcast_to(np.asarray(limit, dtype=np.float32), space.shape) for limit in (space.low, space.high))
    return gym.spaces.Box(low, high, dtype=np.float32)
