"""MuJoCo walkers: getting somewhere is the goal, falling is unsafe."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.builtin.making import ended, make_environment
from tightrope.tasks.task import Task, Transition
from tightrope.trace import Action

HOLD = 4
"""Steps an action is held, so that a search has a chance to move a limb."""


class Hold(gym.Wrapper[Any, Any, Any, Any]):
    """Plays every action several times and adds up the reward."""

    def __init__(self, env: Any, times: int) -> None:
        super().__init__(env)
        self.times = times

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Hold the action, at most to the end of the episode."""
        total = 0.0
        for _ in range(self.times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


def hopper(*, distance: float = 1.0, hold: int = HOLD) -> Task:
    """Hop so many metres; falling is unsafe."""
    return _walker_task("Hopper-v5", distance, hold, _corners(3))


def walker2d(*, distance: float = 1.0, hold: int = HOLD) -> Task:
    """Walk so many metres; falling is unsafe."""
    return _walker_task("Walker2d-v5", distance, hold, _corners(6))


def _corners(joints: int) -> tuple[Action, ...]:
    """No torque, then full torque on one joint at a time."""
    rest = (0.0,) * joints
    single = [
        tuple(sign if joint == index else 0.0 for index in range(joints))
        for joint in range(joints)
        for sign in (1.0, -1.0)
    ]
    return (rest, *single)


def _walker_task(name: str, distance: float, hold: int, actions: Sequence[Action]) -> Task:
    return Task(
        name=name,
        make_env=partial(_environment, name, hold),
        goal=partial(came_far_enough, distance),
        unsafe=ended,
        state_key=posture,
        identity=exact_state,
        actions=actions,
        position=place,
    )


def _environment(name: str, hold: int) -> Any:
    env = make_environment(name, "mujoco", "mujoco")
    return env if hold == 1 else Hold(env, hold)


def came_far_enough(distance: float, transition: Transition) -> bool:
    """So many metres from the start."""
    return bool(transition.info.get("x_position", 0.0) >= distance)


def posture(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Place to the decimetre, joints to 0.2 radians, and how fast the body moves."""
    data = env.unwrapped.data
    place = np.floor(data.qpos[:1] / 0.1)
    joints = np.floor(data.qpos[1:] / 0.2)
    speed = np.floor(data.qvel[:3] / 1.0)
    return tuple(np.concatenate([place, joints, speed]).astype(int).tolist())


posture.lossy = True  # type: ignore[attr-defined]


def exact_state(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Positions, speeds and what the solver starts from."""
    data = env.unwrapped.data
    return tuple(part.tobytes() for part in (data.qpos, data.qvel, data.qacc_warmstart))


def place(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Distance and height of the body, in metres."""
    return float(env.unwrapped.data.qpos[0]), float(env.unwrapped.data.qpos[1])
