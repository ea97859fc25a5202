"""LunarLander and BipedalWalker. Box2D cannot be saved, so situations are put back by replay."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from tightrope.tasks.adapters.renewed import renewed_env
from tightrope.tasks.builtin.making import elapsed_steps, ended_rewarded, ended_unrewarded, make_environment
from tightrope.tasks.keys import LossyKey, rounded_key
from tightrope.tasks.predicates import at_end_only
from tightrope.tasks.task import Task, Transition, Visit
from tightrope.trace import Action

NOTHING, LEFT, MAIN, RIGHT = 0, 1, 2, 3
FALLEN = -100
"""BipedalWalker's reward for falling; at the end of its course it earns as much as for any other step."""
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
        goal=ended_rewarded,
        unsafe=ended_unrewarded,
        state_key=motion,
        order_actions=steer_for_the_pad,
        action_names=("no engine", "left engine", "main engine", "right engine"),
        observation_names=("x", "y", "x speed", "y speed", "angle", "spin", "left leg down", "right leg down"),
        position=place,
        position_names=("position relative to the pad", "height above the pad"),
    )


def bipedal_walker(*, hardcore: bool = False, max_episode_steps: int = 1600) -> Task:
    """Walk to the end of the course; falling is unsafe."""
    make = partial(
        make_environment,
        "BipedalWalker-v3",
        "Box2D",
        "box2d",
        hardcore=hardcore,
        max_episode_steps=max_episode_steps,
    )
    return Task(
        name="BipedalWalker-v3",
        # Its reset keeps the Box2D world, and what was in it decides last digits of what follows.
        make_env=partial(renewed_env, make),
        goal=came_to_the_end,
        unsafe=fell,
        state_key=gait,
        actions=paces(),
        position=whereabouts,
    )


@at_end_only
def came_to_the_end(transition: Transition) -> bool:
    """The course is over and nobody fell."""
    return bool(transition.terminated and transition.reward > FALLEN)


@at_end_only
def fell(transition: Transition) -> bool:
    """The hull touched the ground, or the walker went back beyond the start."""
    return bool(transition.terminated and transition.reward <= FALLEN)


def paces() -> tuple[Action, ...]:
    """Torques for two legs of hip and knee: rest, one leg against the other, both together."""
    rest: list[Action] = [(0.0,) * 4]
    against = [(hip, knee, -hip, -knee) for hip in (1.0, 0.0, -1.0) for knee in (1.0, 0.0, -1.0) if hip or knee]
    together = [(hip, knee, hip, knee) for hip in (1.0, -1.0) for knee in (1.0, -1.0)]
    return (*rest, *against, *together)


@LossyKey
def gait(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Place on the course, and the rounded posture and speed."""
    place = int(env.unwrapped.hull.position[0] / 0.2)
    return place, tuple(int(value // 0.1) for value in observation[:14])


def whereabouts(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where the hull is on the course; y is upwards."""
    x, y = env.unwrapped.hull.position
    return float(x), float(y)


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
