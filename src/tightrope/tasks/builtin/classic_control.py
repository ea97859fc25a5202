"""CartPole, MountainCar, Acrobot: rounded keys for the search, exact states for proofs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from tightrope.tasks.builtin.making import elapsed_steps, ended, make_environment
from tightrope.tasks.keys import LossyKey, rounded_key
from tightrope.tasks.predicates import at_end_only
from tightrope.tasks.task import Task, Transition, Visit
from tightrope.trace import Action

DANGER = 0.2
"""From where CartPole's search begins to save itself, in radians of lean and what comes on top of it."""

WALL = -1.2
"""Left end of MountainCar's track, where it stops dead."""

TOP_SPEED = 8.0
"""Radians per second that Acrobot's joint may turn; swinging up quickly takes more, doing it with care about 6."""


def exact_state(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The numbers the physics goes on from."""
    return np.asarray(env.unwrapped.state, dtype=np.float64).tobytes()


def cart_pole(*, max_episode_steps: int = 500) -> Task:
    """Keep the pole upright to the time limit; dropping it or leaving the track is unsafe."""
    return Task(
        name="CartPole-v1",
        make_env=partial(make_environment, "CartPole-v1", max_episode_steps=max_episode_steps),
        goal=upright_to_the_end,
        unsafe=ended,
        state_key=pole_and_time,
        identity=exact_state,
        order_actions=push_under_the_pole,
        action_names=("left", "right"),
        observation_names=("position", "velocity", "angle", "angular velocity"),
        position=cart_and_pole,
        position_names=("cart position (m)", "pole angle (°)"),
    )


@at_end_only
def upright_to_the_end(transition: Transition) -> bool:
    """The time limit was reached with the pole upright."""
    return bool(transition.truncated and not transition.terminated)


_POLE = rounded_key(0.1, 0.2, 0.02, 0.2)


@LossyKey
def pole_and_time(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The rounded situation and how long it has lasted: the goal is to last, so coming back is no cycle."""
    return (_POLE(env, observation, info), elapsed_steps(env))


def push_under_the_pole(actions: Sequence[Action], path: Sequence[Visit], backtracks: int) -> Sequence[Action]:
    """When in danger, first towards the side to which cart and pole are falling; else as the last dead end suggests.

    Plain backtracking drowns long before the 500th step, and a search that is never in danger finds no boundary states.
    """
    (place, speed, lean, fall), _ = cast("tuple[tuple[int, int, int, int], int]", path[-1].key)
    danger = 0.02 * place + 0.08 * speed + 0.02 * lean + 0.06 * fall
    right_first = danger > 0 if abs(danger) >= DANGER else backtracks % 2 == 1
    return actions[::-1] if right_first else actions


def cart_and_pole(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Position of the cart, and angle of the pole in degrees."""
    return float(observation[0]), math.degrees(float(observation[2]))


def mountain_car(*, max_episode_steps: int = 200) -> Task:
    """Drive up to the flag; running into the wall on the left is unsafe."""
    return Task(
        name="MountainCar-v0",
        make_env=partial(make_environment, "MountainCar-v0", max_episode_steps=max_episode_steps),
        goal=ended,
        unsafe=hit_the_wall,
        state_key=rounded_key(0.01, 0.001),
        identity=exact_state,
        order_actions=push_with_the_motion,
        action_names=("left", "no push", "right"),
        observation_names=("position", "velocity"),
        position=place_and_speed,
        position_names=("car position", "speed (hundredths a step)"),
    )


def hit_the_wall(transition: Transition) -> bool:
    """The car stands at the left end of its track."""
    return bool(transition.observation[0] <= WALL)


def push_with_the_motion(actions: Sequence[Action], path: Sequence[Visit], backtracks: int) -> Sequence[Action]:
    """Try first to push where it moves already, which adds energy; the last number of the key is the speed."""
    speed: int = path[-1].key[-1]  # type: ignore[index]
    return actions if speed < 0 else tuple(reversed(actions))


def place_and_speed(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Place of the car and its speed in hundredths."""
    return float(observation[0]), 100 * float(observation[1])


def acrobot(*, max_episode_steps: int = 500) -> Task:
    """Swing the tip above the bar; turning the elbow faster than `TOP_SPEED` is unsafe."""
    return Task(
        name="Acrobot-v1",
        make_env=partial(make_environment, "Acrobot-v1", max_episode_steps=max_episode_steps),
        goal=ended,
        unsafe=turned_too_fast,
        state_key=rounded_key(0.2, 0.2, 0.2, 0.2, 0.5, 0.5),
        identity=exact_state,
        order_actions=push_with_the_motion,
        action_names=("-1", "no torque", "+1"),
        observation_names=(
            "cos of angle 1",
            "sin of angle 1",
            "cos of angle 2",
            "sin of angle 2",
            "speed 1",
            "speed 2",
        ),
        position=tip,
        position_names=("tip position (m)", "tip height (m)"),
    )


def turned_too_fast(transition: Transition) -> bool:
    """The elbow turns faster than it is built for."""
    return bool(abs(transition.observation[5]) > TOP_SPEED)


def tip(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where the tip of the lower link is, from the shoulder; y is upwards."""
    cosine1, sine1, cosine2, sine2 = (float(value) for value in observation[:4])
    cosine12, sine12 = cosine1 * cosine2 - sine1 * sine2, sine1 * cosine2 + cosine1 * sine2
    return sine1 + sine12, -cosine1 - cosine12
