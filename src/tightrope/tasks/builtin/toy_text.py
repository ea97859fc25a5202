"""FrozenLake, CliffWalking, Taxi: small tables, exact keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium as gym

from tightrope.tasks.builtin.making import ended, ended_rewarded, ended_unrewarded, make_environment
from tightrope.tasks.levelmap import LevelMap, grid_map
from tightrope.tasks.task import Task, Transition

LAKE_COLOURS = {"H": (62, 108, 160), "S": (205, 226, 205), "G": (118, 184, 118)}
CLIFF_COLOURS = {"C": (96, 78, 70), "S": (205, 226, 205), "G": (118, 184, 118)}
TAXI_COLOURS = {"R": (226, 150, 140), "G": (150, 205, 150), "Y": (236, 220, 140), "B": (150, 170, 226)}


def frozen_lake(name: str, *, map_name: str, is_slippery: bool = True) -> Task:
    """Cross the ice; a hole is unsafe."""
    return Task(
        name=name,
        make_env=partial(make_environment, name, map_name=map_name, is_slippery=is_slippery),
        goal=ended_rewarded,
        unsafe=ended_unrewarded,
        action_names=("left", "down", "right", "up"),
        observation_names=("cell",),
        position=lake_position,
        draw_map=lake_map,
    )


def frozen_lake_4x4(*, map_name: str = "4x4", is_slippery: bool = True) -> Task:
    """FrozenLake-v1 with the options of its Gymnasium environment."""
    return frozen_lake("FrozenLake-v1", map_name=map_name, is_slippery=is_slippery)


def frozen_lake_8x8(*, map_name: str = "8x8", is_slippery: bool = True) -> Task:
    """FrozenLake8x8-v1 with the options of its Gymnasium environment."""
    return frozen_lake("FrozenLake8x8-v1", map_name=map_name, is_slippery=is_slippery)


def lake_position(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Column and row."""
    row, column = divmod(int(observation), env.unwrapped.ncol)
    return float(column), float(row)


def lake_map(task: Task) -> LevelMap:
    """The lake from above."""
    env = task.open_env()
    rows = [[letter.decode() for letter in row] for row in env.unwrapped.desc]  # type: ignore[attr-defined]
    env.close()
    return grid_map(rows, LAKE_COLOURS)


def cliff_walking(name: str, *, is_slippery: bool | None = None) -> Task:
    """Walk along the cliff; stepping off it is unsafe, though the environment only sends the walker back."""
    options: dict[str, Any] = {} if is_slippery is None else {"is_slippery": is_slippery}
    return Task(
        name=name,
        make_env=partial(make_environment, name, **options),
        goal=ended,
        unsafe=fell_off_the_cliff,
        # Down first: the reference then runs along the edge, where the narrow places are.
        actions=(2, 1, 0, 3),
        action_names=("up", "right", "down", "left"),
        observation_names=("cell",),
        position=cliff_position,
        draw_map=cliff_map,
    )


def fell_off_the_cliff(transition: Transition) -> bool:
    """The penalty of 100."""
    return transition.reward <= -100


def cliff_position(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Column and row."""
    row, column = divmod(int(observation), env.unwrapped.shape[1])
    return float(column), float(row)


def cliff_map(task: Task) -> LevelMap:
    """The cliff from above."""
    rows = ["." * 12] * 3 + ["S" + "C" * 10 + "G"]
    return grid_map(rows, CLIFF_COLOURS)


class WithoutMask(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Hides which actions are legal, so that illegal ones can be tried."""

    def __init__(self, env: Any) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, without the mask."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {name: value for name, value in info.items() if name != "action_mask"}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, without the mask."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {k: v for k, v in info.items() if k != "action_mask"}


def taxi(name: str, *, masked: bool = False) -> Task:
    """Bring the passenger home; picking up or setting down where that is illegal is unsafe.

    ``masked=True`` keeps the environment's action mask, under which nothing illegal can be done.
    """
    return Task(
        name=name,
        make_env=partial(_taxi_environment, name, masked),
        goal=ended,
        unsafe=did_something_illegal,
        action_names=("south", "north", "east", "west", "pick up", "drop off"),
        position=taxi_position,
        draw_map=taxi_map,
    )


def _taxi_environment(name: str, masked: bool) -> Any:
    env = make_environment(name)
    return env if masked else WithoutMask(env)


def did_something_illegal(transition: Transition) -> bool:
    """The penalty of 10."""
    return transition.reward <= -10


def taxi_position(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Column and row of the taxi."""
    row, column, _, _ = env.unwrapped.decode(int(observation))
    return float(column), float(row)


def taxi_map(task: Task) -> LevelMap:
    """The town from above, with its four stops."""
    return grid_map(["R...G", ".....", ".....", ".....", "Y..B."], TAXI_COLOURS)
