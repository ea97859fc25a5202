"""The worlds of brax in which something can be harmed: ``brax:hopper`` and others. The goal is to last."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import require_extra
from tightrope.tasks.builtin.mujoco import strides
from tightrope.tasks.jaxworlds.rows import import_jax, key_of
from tightrope.tasks.jaxworlds.rules import WorldRule, rule_of
from tightrope.tasks.jaxworlds.tasks import jax_task
from tightrope.tasks.jaxworlds.world import Array, Moment, World
from tightrope.tasks.keys import KeyFunction, LossyKey
from tightrope.tasks.task import Task

LIMIT = 1000
"""Steps of an episode, as brax itself and Gymnasium's worlds of the same names have them."""
LEAN = 1.5
"""Radians, as in HalfCheetah-v5: more is on the way to lying on its back. brax itself never ends that world."""


def leans_too_far(moment: Moment) -> Array:
    """Nose up or nose down by more than it can get up from."""
    return abs(moment.observation[1]) > LEAN


def posture(joints: float, speed: float) -> KeyFunction:
    """A key of joints, body speed and time; to last is the goal, so coming back is no cycle.

    Args:
        joints: In radians, or metres, what joints are rounded to.
        speed: What speeds are rounded to, both per second.
    """

    def state_key(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
        body, time = env.unwrapped.situation[1]
        q, qd = body.pipeline_state.q, body.pipeline_state.qd
        parts = np.concatenate([q / joints, qd[:3] / speed])
        return (int(time), *np.floor(parts).astype(int).tolist())

    return LossyKey(state_key)


def place(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Distance and height of the body, in metres."""
    body, _ = env.unwrapped.situation[1]
    return float(body.pipeline_state.x.pos[0, 0]), float(body.pipeline_state.x.pos[0, 2])


def cart_and_pole(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where the cart stands, and how the pole on it leans."""
    body, _ = env.unwrapped.situation[1]
    return float(body.pipeline_state.q[0]), float(body.pipeline_state.q[1])


_WALKER = {"state_key": posture(0.2, 1.0), "position": place, "position_names": ("distance (m)", "height (m)")}
_POLE = {"state_key": posture(0.02, 0.2), "position": cart_and_pole, "position_names": ("cart (m)", "pole (rad)")}
KNOWN: Mapping[str, WorldRule] = {
    "halfcheetah": WorldRule(unsafe=leans_too_far, fields={**_WALKER, "actions": strides()}),
    "hopper": WorldRule(fields={**_WALKER, "state_key": posture(0.1, 0.5)}),
    "inverted_double_pendulum": WorldRule(fields=_POLE),
    "inverted_pendulum": WorldRule(fields=_POLE),
    "walker2d": WorldRule(fields={**_WALKER, "actions": strides()}),
}


def brax_task(name: str, *, max_episode_steps: int = LIMIT) -> Task:
    """A world of brax as a task.

    Args:
        name: As brax calls it.
        max_episode_steps: Its time limit, which is what has to be reached.
    """
    rule = rule_of("brax", KNOWN, name, max_episode_steps)
    return jax_task(partial(brax_world, name, max_episode_steps), name=f"brax:{name}", **rule.fields)


def brax_world(name: str, max_episode_steps: int = LIMIT) -> World:
    """A world of brax as it is, without the wrappers that count its steps and start it anew."""
    jax = import_jax()
    env = require_extra("brax.envs", "brax", f"task brax:{name}").get_environment(name)

    def reset(key: Array) -> tuple[Any, Array]:
        state = env.reset(key)
        return (state, np.int32(0)), state.obs

    def step(key: Array, state: Any, action: Array) -> Moment:
        body, time = state
        body, time = env.step(body, action), time + 1
        return Moment((body, time), body.obs, body.reward, body.done > 0, time >= max_episode_steps)

    # Looked at without being run: brax's own answer begins an episode, uncompiled, for every question.
    _, observation = jax.eval_shape(reset, key_of(0))
    return World(
        name=f"brax:{name}",
        reset=reset,
        step=step,
        observation_space=gym.spaces.Box(-np.inf, np.inf, observation.shape, np.float32),
        action_space=gym.spaces.Box(-1.0, 1.0, (env.action_size,), np.float32),
        goal=KNOWN[name].goal,
        unsafe=KNOWN[name].unsafe,
        max_steps=max_episode_steps,
    )
