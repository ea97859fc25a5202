"""The whole level as one picture, stitched from what a trace sees on its way."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.tasks.levelmap import LevelMap
from tightrope.tasks.mario import ram
from tightrope.tasks.mario.pictures import SCREEN_HEIGHT, SCREEN_WIDTH
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

STRIDE = 8
"""Pixels of scrolling between two looks: few enough that new columns enter to the right of the clock."""
FEET_TO_ROW = 271.0
"""Picture row of Mario's middle at height 0: 255 - height is his box's top, 24 more his middle, and 8 rows are cut off
above the picture. Across, the 8 columns cut off at the left and the 8 to his middle cancel out."""

Columns = dict[int, NDArray[np.uint8]]


def draw_level(task: Task, trace: ActionTrace) -> LevelMap:
    """The area in which the trace sees most, as far as it goes; elsewhere it is black."""
    env = task.make_env()
    try:
        areas = _look_around(env, trace)
    finally:
        env.close()
    columns = max(areas.values(), key=len)
    image = np.zeros((SCREEN_HEIGHT, max(columns) + 1, 3), np.uint8)
    for place, column in columns.items():
        image[:, place] = column
    return LevelMap(image, origin=(0.0, FEET_TO_ROW), scale=(1.0, -1.0))


def _look_around(env: Any, trace: ActionTrace) -> dict[bytes, Columns]:
    """Area → level column → its pixels when it was first seen, which is at the right edge, where Mario never is."""
    areas: dict[bytes, Columns] = defaultdict(dict)
    reseeds = dict(trace.reseeds)
    env.reset(seed=trace.seed)
    _look(env, areas)
    for index, action in enumerate(trace.actions):
        if index in reseeds:
            env.unwrapped.reseed(reseeds[index])
        _, _, terminated, truncated, _ = env.step(action)
        _look(env, areas)
        if terminated or truncated:
            break
    return areas


def _look(env: Any, areas: dict[bytes, Columns]) -> None:
    # The picture on the screen was scrolled by the frame before it.
    before = env.unwrapped.save_state().moment.before
    columns, left = areas[before[ram.AREA_DATA]], ram.screen_left(before)
    if left + SCREEN_WIDTH - STRIDE in columns:
        return
    screen = env.render()
    for offset in range(screen.shape[1]):
        columns.setdefault(left + offset, screen[:, offset])
