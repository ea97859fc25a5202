"""highway-env: driving among others; a collision is unsafe."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from tightrope.tasks.builtin.making import make_environment
from tightrope.tasks.keys import LossyKey
from tightrope.tasks.task import Task, Transition

LANE_LEFT, IDLE, LANE_RIGHT, FASTER, SLOWER = range(5)
FAST, SLOW = 0.02, 0.055
"""Seconds of a step, measured with 20 vehicles: by the environments that simulate 5 times a second, and 15 times."""
ACTION_NAMES = ("lane left", "idle", "lane right", "faster", "slower")


def highway(name: str, *, vehicles: int = 20) -> Task:
    """Drive to the end of the episode without a collision.

    ``vehicles``: others on the road. The environment's own 50 cost four times as much a step; a driver sees five.
    """
    seconds = FAST if "fast" in name else SLOW
    return _driving_task(name, arrived_in_time, {"vehicles_count": vehicles}, seconds * max(1.0, vehicles / 20))


def merge(name: str) -> Task:
    """Let another vehicle merge and drive on without a collision."""
    return _driving_task(name, passed_the_ramp, {}, FAST)


def _driving_task(name: str, goal: Any, config: Mapping[str, Any], step_seconds: float) -> Task:
    return Task(
        name=name,
        make_env=partial(make_environment, name, "highway_env", "highway", config=dict(config)),
        goal=goal,
        unsafe=collided,
        state_key=own_motion,
        identity=all_vehicles,
        # Fast first: a driver who only brakes meets nobody.
        actions=(FASTER, IDLE, LANE_LEFT, LANE_RIGHT, SLOWER),
        action_names=ACTION_NAMES,
        step_seconds=step_seconds,
        position=place,
        position_names=("distance along the road (m)", "position across the road (m)"),
    )


def collided(transition: Transition) -> bool:
    """The vehicle crashed."""
    return bool(transition.info.get("crashed", False))


def arrived_in_time(transition: Transition) -> bool:
    """The episode's time is over and nothing was hit."""
    return bool(transition.truncated and not collided(transition))


def passed_the_ramp(transition: Transition) -> bool:
    """The road ends and nothing was hit."""
    return bool(transition.terminated and not collided(transition))


@LossyKey
def own_motion(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Lane, place and speed of the tested vehicle in whole metres, not where the others are."""
    vehicle = env.unwrapped.vehicle
    return (*vehicle.lane_index, round(float(vehicle.position[0])), round(float(vehicle.speed)))


def all_vehicles(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Place, heading, speed and intention of every vehicle, and the time."""
    environment = env.unwrapped
    return environment.time, tuple(
        (
            vehicle.position.tobytes(),
            float(vehicle.heading),
            float(vehicle.speed),
            str(getattr(vehicle, "target_lane_index", None)),
            float(getattr(vehicle, "target_speed", 0.0)),
            float(getattr(vehicle, "timer", 0.0)),
        )
        for vehicle in environment.road.vehicles
    )


def place(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Where the tested vehicle is on the road, in metres."""
    x, y = env.unwrapped.vehicle.position
    return float(x), float(y)
