"""MiniGrid: lava crossings (deterministic) and moving obstacles (random)."""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from tightrope.errors import UnknownName
from tightrope.tasks.builtin.making import ended_rewarded, ended_unrewarded, make_environment
from tightrope.tasks.keys import LossyKey
from tightrope.tasks.levelmap import LevelMap, grid_map
from tightrope.tasks.task import Task

LAVA_CROSSINGS = (
    "MiniGrid-LavaCrossingS9N1-v0",
    "MiniGrid-LavaCrossingS9N2-v0",
    "MiniGrid-LavaCrossingS9N3-v0",
    "MiniGrid-LavaCrossingS11N5-v0",
    "MiniGrid-LavaGapS5-v0",
    "MiniGrid-LavaGapS6-v0",
    "MiniGrid-LavaGapS7-v0",
)
DYNAMIC_OBSTACLES = (
    "MiniGrid-Dynamic-Obstacles-5x5-v0",
    "MiniGrid-Dynamic-Obstacles-Random-5x5-v0",
    "MiniGrid-Dynamic-Obstacles-6x6-v0",
    "MiniGrid-Dynamic-Obstacles-Random-6x6-v0",
    "MiniGrid-Dynamic-Obstacles-8x8-v0",
    "MiniGrid-Dynamic-Obstacles-16x16-v0",
)
OBSERVATIONS = {"dict": None, "image": "ImgObsWrapper", "flat": "FlatObsWrapper", "full": "FullyObsWrapper"}

TURN_LEFT, TURN_RIGHT, FORWARD = 0, 1, 2
COLOURS = {"wall": (110, 116, 125), "lava": (226, 120, 60), "goal": (118, 184, 118), "ball": (120, 150, 210)}


def lava_crossing(name: str, *, observation: str = "dict") -> Task:
    """Reach the green square; lava is unsafe."""
    return _grid_task(name, observation, state_key=pose, identity=None)


def dynamic_obstacles(name: str, *, observation: str = "dict") -> Task:
    """Reach the green square between moving balls; touching one is unsafe."""
    return _grid_task(name, observation, state_key=pose_alone, identity=pose_and_obstacles)


def _grid_task(name: str, observation: str, **fields: Any) -> Task:
    if observation not in OBSERVATIONS:
        raise UnknownName("MiniGrid observation", observation, OBSERVATIONS)
    return Task(
        name=name,
        make_env=partial(_environment, name, observation),
        goal=ended_rewarded,
        unsafe=ended_unrewarded,
        # Forward first: turning on the spot is the longest way to anywhere.
        actions=(FORWARD, TURN_RIGHT, TURN_LEFT),
        action_names=("turn left", "turn right", "forward"),
        position=place,
        draw_map=draw_grid,
        **fields,
    )


def _environment(name: str, observation: str) -> Any:
    env = make_environment(name, "minigrid", "minigrid")
    wrapper = OBSERVATIONS[observation]
    return env if wrapper is None else getattr(importlib.import_module("minigrid.wrappers"), wrapper)(env)


def pose(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Where the walker stands and looks; nothing else changes in a lava crossing."""
    grid = env.unwrapped
    return int(grid.agent_pos[0]), int(grid.agent_pos[1]), int(grid.agent_dir)


@LossyKey
def pose_alone(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """Where the walker stands and looks, not where the obstacles are."""
    return pose(env, observation, info)


def pose_and_obstacles(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The whole situation."""
    obstacles = tuple((int(ball.cur_pos[0]), int(ball.cur_pos[1])) for ball in env.unwrapped.obstacles)
    return pose(env, observation, info), obstacles


def place(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Column and row."""
    x, y = env.unwrapped.agent_pos
    return float(x), float(y)


def draw_grid(task: Task) -> LevelMap:
    """The grid from above as it is at reset."""
    env = task.open_env()
    env.reset(seed=task.seed)
    grid = env.unwrapped.grid  # type: ignore[attr-defined]
    cells = [[grid.get(column, row) for column in range(grid.width)] for row in range(grid.height)]
    env.close()
    return grid_map([["" if cell is None else cell.type for cell in row] for row in cells], COLOURS)
