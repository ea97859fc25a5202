"""A small world that can be seen: a pond with a hole, on a grid, with pictures and a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.tasks.task import Task, Transition
from tightrope.trace import ActionTrace

WIDTH = 12
HOLE = 9


class Pond(gym.Env[Any, Any]):
    """Walk right (0) or stay (1); the hole is unsafe."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.Discrete(WIDTH)
        self.cell = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.cell += action == 0
        return self.cell, 1.0, self.cell == HOLE, False, {}

    def render(self) -> Any:
        assert self.render_mode == "rgb_array"
        return pond_picture(self.cell)


class BlindPond(Pond):
    """The same, but it cannot be rendered."""

    metadata = {"render_modes": []}  # noqa: RUF012


def pond_picture(cell: int | None = None) -> np.ndarray:
    picture = np.full((24, WIDTH * 16 + 1, 3), (200, 225, 240), np.uint8)
    picture[4:20, HOLE * 16 : HOLE * 16 + 16] = (30, 60, 90)
    if cell is not None:
        picture[6:18, cell * 16 + 2 : cell * 16 + 14] = (220, 90, 40)
    return picture


@dataclass(frozen=True)
class PondMap:
    image: np.ndarray

    def to_pixels(self, position: tuple[float, float]) -> tuple[float, float]:
        return position[0] * 16 + 8, 12 - position[1]


def draw_pond(task: Task) -> PondMap:
    return PondMap(pond_picture())


def in_the_hole(transition: Transition) -> bool:
    return bool(transition.observation == HOLE)


def nowhere(transition: Transition) -> bool:
    return False


def where(env: Any, observation: Any, info: Any) -> tuple[float, float]:
    return float(observation), 0.0


def pond_task(env: type[Pond] = Pond, **changes: Any) -> Task:
    fields = {"unsafe": in_the_hole, "position": where, "draw_map": draw_pond, **changes}
    return Task(name="pond", make_env=env, goal=nowhere, **fields)


def fall_in(task: Task) -> ActionTrace:
    return ActionTrace(task.label, 0, (0,) * HOLE)
