"""The map: the picture of the task that the reference, its boundary states and the fuzz traces are drawn on.

A task says where a situation lies (``position``) and may say what the ground looks like (``draw_map``), which is called
with the task, or with the task and the reference's action trace where it takes two arguments, and returns a level map:
``image`` (height, width, 3) and ``to_pixels(position)``. Without it the ground is plain, and y points up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.report.images import data_uri, png_bytes
from tightrope.report.results import MapPicture, Point
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

PLAIN_WIDTH, PLAIN_HEIGHT, MARGIN = 1000.0, 300.0, 30.0
"""Pixels of a map without a picture."""
LEAST_MOVE = 2.0
"""Pixels a fuzz trace must move before its next point is kept: fifty traces of hundreds of steps stay small."""

ToPixels = Callable[[tuple[float, float]], tuple[float, float]]


def map_picture(
    task: Task, reference: ActionTrace, positions: ArrayLike | None, fuzz: Sequence[ArrayLike] = ()
) -> MapPicture | None:
    """The map with the reference and the fuzz traces on it; None for a task that has no positions."""
    path = _points(positions)
    if not len(path):
        return None
    lines = [line for line in map(_points, fuzz) if len(line)]
    ground = draw_ground(task, reference)
    if ground is None:
        to_pixels = _plain(np.concatenate([path, *lines]))
        width, height, image = PLAIN_WIDTH, PLAIN_HEIGHT, None
    else:
        to_pixels = ground.to_pixels
        height, width = map(float, ground.image.shape[:2])
        image = data_uri(png_bytes(np.ascontiguousarray(ground.image[..., :3], dtype=np.uint8)), "image/png")
    return MapPicture(
        width=width,
        height=height,
        image=image,
        reference=_line(path, to_pixels),
        fuzz=tuple(_thinned(_line(line, to_pixels)) for line in lines),
    )


def draw_ground(task: Task, reference: ActionTrace) -> Any:
    """The task's level map, or None where it draws none."""
    if task.draw_map is None:
        return None
    try:
        inspect.signature(task.draw_map).bind(task, reference)
    except TypeError:
        return task.draw_map(task)
    return task.draw_map(task, reference)


def _points(positions: ArrayLike | None) -> NDArray[np.float64]:
    if positions is None:
        return np.empty((0, 2))
    points = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
    return points[np.isfinite(points).all(axis=1)]


def _plain(points: NDArray[np.float64]) -> ToPixels:
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    inner = np.array([PLAIN_WIDTH - 2 * MARGIN, PLAIN_HEIGHT - 2 * MARGIN])
    # A coordinate that never changes is drawn in the middle.
    flat = np.where(high > low, 0.0, inner / 2)

    def to_pixels(position: tuple[float, float]) -> tuple[float, float]:
        x, y = MARGIN + flat + (np.asarray(position) - low) / span * inner
        return float(x), float(PLAIN_HEIGHT - y)

    return to_pixels


def _line(points: NDArray[np.float64], to_pixels: ToPixels) -> tuple[Point, ...]:
    pixels = (to_pixels((float(x), float(y))) for x, y in points)
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in pixels)


def _thinned(line: tuple[Point, ...]) -> tuple[Point, ...]:
    kept = [line[0]]
    for point in line[1:]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= LEAST_MOVE:
            kept.append(point)
    return tuple(kept)
