"""MuJoCo walkers: getting somewhere is the goal, falling (of the cheetah: onto its back) is unsafe."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.builtin.making import ended, make_environment
from tightrope.tasks.keys import KeyFunction, LossyKey
from tightrope.tasks.spaces import span_box
from tightrope.tasks.task import Task, Transition
from tightrope.trace import Action

WALKER_JOINTS = ("right thigh", "right leg", "right foot", "left thigh", "left leg", "left foot")
STEP_SECONDS = {"Hopper-v5": 0.0001, "Walker2d-v5": 0.0001, "HalfCheetah-v5": 0.00005}
"""Of a step, which ``hold`` multiplies: stated, so that every machine spends the same on them."""
CHEETAH_JOINTS = ("back thigh", "back shin", "back foot", "front thigh", "front shin", "front foot")


class Hold(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Plays every action several times and adds up the reward."""

    def __init__(self, env: Any, times: int) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, times=times)
        gym.Wrapper.__init__(self, env)
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


def hopper(*, distance: float = 1.0, hold: int = 1) -> Task:
    """Hop so many metres; falling is unsafe. ``hold``: steps an action is held."""
    torques = span_box(gym.spaces.Box(-1.0, 1.0, (3,), np.float32), levels=3)
    task = _walker_task("Hopper-v5", distance, hold, sorted(torques, key=_rest_first), posture(0.05, 0.1, 0.5))
    return replace(task, observation_names=_names("thigh", "leg", "foot"))


def walker2d(*, distance: float = 1.0, hold: int = 2) -> Task:
    """Walk so many metres; falling is unsafe. ``hold``: steps an action is held; with 1 a search takes much longer."""
    task = _walker_task("Walker2d-v5", distance, hold, strides(), posture(0.1, 0.2, 1.0))
    return replace(task, observation_names=_names(*WALKER_JOINTS))


def half_cheetah(*, distance: float = 5.0, hold: int = 2, lean: float = 1.5) -> Task:
    """Run so many metres; leaning by more than ``lean`` radians is unsafe. ``hold``: steps an action is held."""
    task = _walker_task("HalfCheetah-v5", distance, hold, strides(), posture(0.2, 0.2, 1.0))
    return replace(task, unsafe=partial(leans_too_far, lean), observation_names=_names(*CHEETAH_JOINTS))


def leans_too_far(lean: float, transition: Transition) -> bool:
    """Nose up or nose down by more than so many radians: on the way to lying on its back."""
    return bool(abs(transition.observation[1]) > lean)


def _names(*joints: str) -> tuple[str, ...]:
    """What Gymnasium documents: all positions but the way that the body has come, then the speeds of the same."""
    speeds = (f"{joint} speed" for joint in joints)
    return ("height", "lean", *joints, "forward speed", "upward speed", "lean speed", *speeds)


def strides() -> tuple[Action, ...]:
    """Torques for two legs of hip, knee and ankle: rest, one leg against the other, both together.

    All combinations of three levels would be 729 actions.
    """
    actions: list[Action] = [(0.0,) * 6]
    actions += [(hip, knee, 0.0, -hip, -knee, 0.0) for hip in (1.0, -1.0) for knee in (1.0, -1.0)]
    for torque in (1.0, -1.0):
        actions += [
            (torque, 0.0, 0.0, -torque, 0.0, 0.0),
            (0.0, torque, 0.0, 0.0, torque, 0.0),
            (0.0, 0.0, torque, 0.0, 0.0, torque),
            (0.0, 0.0, torque, 0.0, 0.0, -torque),
            (torque, 0.0, 0.0, torque, 0.0, 0.0),
        ]
    return tuple(actions)


def _rest_first(action: Any) -> list[bool | float]:
    return [part for torque in action for part in (torque != 0, -torque)]


def _walker_task(name: str, distance: float, hold: int, actions: Sequence[Action], state_key: KeyFunction) -> Task:
    return Task(
        name=name,
        make_env=partial(_environment, name, hold),
        goal=partial(came_far_enough, distance),
        unsafe=ended,
        state_key=state_key,
        identity=exact_state,
        actions=actions,
        step_seconds=STEP_SECONDS[name] * hold,
        position=place,
        position_names=("distance (m)", "height (m)"),
    )


def _environment(name: str, hold: int) -> Any:
    env = make_environment(name, "mujoco", "mujoco")
    return env if hold == 1 else Hold(env, hold)


def came_far_enough(distance: float, transition: Transition) -> bool:
    """So many metres from the start."""
    return bool(transition.info.get("x_position", 0.0) >= distance)


def posture(place: float, joints: float, speed: float) -> KeyFunction:
    """A key of place, joints and body speed, rounded to these steps in metres, radians, and both per second."""

    def state_key(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
        data = env.unwrapped.data
        parts = (data.qpos[:1] / place, data.qpos[1:] / joints, data.qvel[:3] / speed)
        return tuple(np.floor(np.concatenate(parts)).astype(int).tolist())

    return LossyKey(state_key)


def exact_state(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Positions, speeds and what the solver starts from."""
    data = env.unwrapped.data
    return tuple(part.tobytes() for part in (data.qpos, data.qvel, data.qacc_warmstart))


def place(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Distance and height of the body, in metres."""
    return float(env.unwrapped.data.qpos[0]), float(env.unwrapped.data.qpos[1])
