"""The whole level as one picture, stitched from what a trace sees on its way."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope import ActionTrace, Simulator, Task
from tightrope.extending import play
from tightrope_mario.game import ram
from tightrope_mario.game.pictures import SCREEN_HEIGHT, SCREEN_WIDTH

STRIDE = 8
"""Pixels of scrolling between two looks: few enough that new columns enter to the right of the clock."""
GAP = 16
"""Black columns between two areas. Mario may be drawn in them: the last look can miss the area's last few columns."""
FEET_TO_ROW = 271.0
"""Picture row of Mario's middle at height 0: 255 - height is his box's top, 24 more his middle, and 8 rows are cut off
above the picture. Across, the 8 columns cut off at the left and the 8 to his middle cancel out."""
AREAS = 1 << 16
NO_AREA = 0
"""What positions tell that were stored before they told the area; they are taken for the largest one drawn."""

Columns = dict[int, NDArray[np.uint8]]


class AreaStrip(NamedTuple):
    """Where an area lies in the picture."""

    left: int
    """Its first column in the picture."""
    first: int
    """The same column in the area."""
    width: int


@dataclass(frozen=True, eq=False)
class AreaMap:
    """The areas a trace passes side by side, and where positions lie on them."""

    image: NDArray[np.uint8]
    """Height × width × 3."""
    strips: Mapping[int, AreaStrip]
    """By area."""

    def to_pixels(self, position: tuple[float, float]) -> tuple[float, float]:
        """Where a position lies on the image; not a number where its area, or its part of it, is not drawn."""
        x, area = math.floor(position[0]), round(position[0] % 1 * AREAS)
        strip = self.strips.get(area)
        if strip is None or not 0 <= x - strip.first < strip.width + GAP:
            return math.nan, math.nan
        return float(strip.left + x - strip.first), FEET_TO_ROW - position[1]


def with_area(x: int, area: int) -> float:
    """A place and its area in one number: x is whole, so the area is its fraction, in parts of `AREAS`."""
    return x + area / AREAS


def draw_level(task: Task, trace: ActionTrace) -> AreaMap:
    """The areas that the trace passes, first visited first, each as far as it is seen; elsewhere it is black."""
    with closing(Simulator(task, task.make_env(), None)) as simulator:
        areas = _look_around(simulator, trace)
    strips, left = {}, 0
    for area, columns in areas.items():
        strips[area] = AreaStrip(left, min(columns), max(columns) + 1 - min(columns))
        left += strips[area].width + GAP
    image = np.zeros((SCREEN_HEIGHT, left - GAP, 3), np.uint8)
    for area, columns in areas.items():
        for place, column in columns.items():
            image[:, strips[area].left + place - strips[area].first] = column
    strips[NO_AREA] = strips[max(areas, key=lambda area: len(areas[area]))]
    return AreaMap(image, strips)


def _look_around(simulator: Simulator, trace: ActionTrace) -> dict[int, Columns]:
    """Area → level column → its pixels when it was first seen, which is at the right edge, where Mario never is."""
    areas: dict[int, Columns] = defaultdict(dict)
    for _ in play(simulator, trace):
        _look(simulator.env, areas)
    return areas


def _look(env: Any, areas: dict[int, Columns]) -> None:
    # The picture on the screen was scrolled by the frame before it.
    before = env.unwrapped.save_state().moment.before
    columns, left = areas[ram.area(before)], ram.screen_left(before)
    if left + SCREEN_WIDTH - STRIDE in columns:
        return
    screen = env.render()
    for offset in range(screen.shape[1]):
        columns.setdefault(left + offset, screen[:, offset])
