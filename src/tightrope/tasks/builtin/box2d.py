"""LunarLander. Box2D cannot be saved, so situations are put back by replay."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from tightrope.tasks.builtin.making import elapsed_steps, ended_badly, ended_well, make_environment
from tightrope.tasks.keys import LossyKey, rounded_key
from tightrope.tasks.task import Task, Visit
from tightrope.trace import Action

NOTHING, LEFT, MAIN, RIGHT = 0, 1, 2, 3
ROUNDING = (0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.5, 0.5)


def lunar_lander(*, enable_wind: bool = False, max_episode_steps: int = 1000) -> Task:
    """Land between the flags; crashing or flying away is unsafe."""
    return Task(
        name="LunarLander-v3",
        make_env=partial(
            make_environment,
            "LunarLander-v3",
            "Box2D",
            "box2d",
            enable_wind=enable_wind,
            max_episode_steps=max_episode_steps,
        ),
        goal=ended_well,
        unsafe=ended_badly,
        state_key=motion,
        order_actions=steer_for_the_pad,
        action_names=("none", "left engine", "main engine", "right engine"),
        observation_names=("x", "y", "x speed", "y speed", "angle", "spin", "left leg down", "right leg down"),
        position=place,
        position_names=("place from the pad", "height above the pad"),
    )


_MOTION = rounded_key(*ROUNDING)


@LossyKey
def motion(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The rounded observation; on the ground also the time, since lying still until the engines sleep is no cycle."""
    touches = bool(observation[6] or observation[7])
    return _MOTION(env, observation, info), elapsed_steps(env) if touches else None


def steer_for_the_pad(actions: Sequence[Action], path: Sequence[Visit], backtracks: int) -> Sequence[Action]:
    """Try first what a proportional-derivative controller would do.

    It is Gymnasium's own heuristic with other factors: its own land half of the time on the default seed, these nearly
    always.
    """
    x, y, vx, vy, angle, spin, left_leg, right_leg = (
        value * step
        for value, step in zip(path[-1].key[0], ROUNDING, strict=True)  # type: ignore[index]
    )
    wanted_angle = min(0.45, max(-0.45, 0.86 * x + 1.48 * vx))
    turn = 0.35 * (wanted_angle - angle) - spin
    lift = 0.34 * (0.67 * abs(x) - y) - 0.56 * vy
    if left_leg or right_leg:
        turn, lift = 0.0, -0.56 * vy
    if lift > abs(turn) and lift > 0.05:
        first = MAIN
    elif turn < -0.05:
        first = RIGHT
    elif turn > 0.05:
        first = LEFT
    else:
        first = NOTHING
    return sorted(actions, key=lambda action: action != first)


def place(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where the lander is, from the pad; y is upwards."""
    return float(observation[0]), float(observation[1])
