"""The map: the picture of the task that the reference, its boundary states and the fuzz traces are drawn on.

A task says where a situation lies (``position``) and may say what the ground looks like (``draw_map``), which is called
with the task, or with the task and the reference's action trace where it takes two arguments, and returns a level map:
``image`` (height, width, 3) and ``to_pixels(position)``. Without it the ground is plain, and y points up.
Whatever is not finite, a position or its pixels, is not drawn, and the line is broken there.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.report.charts.axes import axis
from tightrope.report.films.images import data_uri, png_bytes
from tightrope.report.results import MapAxis, MapLine, MapPicture, Point
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

PLAIN_WIDTH, PLAIN_HEIGHT, MARGIN = 1000.0, 300.0, 30.0
"""Pixels of a map without a picture."""
LEAST_MOVE = 2.0
"""Pixels a fuzz trace must move before its next point is kept: fifty traces of hundreds of steps stay small."""

ToPixels = Callable[[tuple[float, float]], tuple[float, float]]


def map_picture(
    task: Task, reference: ActionTrace, ways: Sequence[ArrayLike | None], fuzz: Sequence[ArrayLike] = ()
) -> MapPicture | None:
    """The map with the references and the fuzz traces on it; None where nothing of them has a place on it.

    Args:
        task: The task, which may draw the ground.
        reference: The way that the ground is drawn for.
        ways: The positions along each reference; None: not known.
        fuzz: The positions along each fuzz trace.
    """
    paths = [_points(positions) for positions in ways]
    if not any(np.isfinite(path).any() for path in paths):
        return None
    lines = [_points(line) for line in fuzz]
    ground, axes, letters = draw_ground(task, reference), None, ()
    if ground is None:
        to_pixels, axes = _plain(np.concatenate([*paths, *lines]), task.position_names)
        width, height, image = PLAIN_WIDTH, PLAIN_HEIGHT, None
    else:
        to_pixels = ground.to_pixels
        letters = tuple(getattr(ground, "letters", ()))
        height, width = map(float, ground.image.shape[:2])
        image = data_uri(png_bytes(np.ascontiguousarray(ground.image[..., :3], dtype=np.uint8)), "image/png")
    drawn = tuple(_line(path, to_pixels) for path in paths)
    if not any(any(line) for line in drawn):
        return None
    thinned = (_thinned(_line(line, to_pixels)) for line in lines)
    fuzzed = tuple(line for line in thinned if line)
    return MapPicture(width=width, height=height, image=image, ways=drawn, fuzz=fuzzed, axes=axes, letters=letters)


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
    points = np.array(positions, dtype=np.float64).reshape(-1, 2)
    # They stay in their places: boundary states find theirs by depth.
    points[~np.isfinite(points).all(axis=1)] = np.nan
    return points


def _plain(points: NDArray[np.float64], names: tuple[str, str]) -> tuple[ToPixels, tuple[MapAxis, MapAxis]]:
    """How positions lie on a plain ground that holds them all, and its axes."""
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    # A coordinate that never changes is drawn in the middle.
    flat = high <= low
    low, high = np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)
    span, inner = high - low, np.array([PLAIN_WIDTH - 2 * MARGIN, PLAIN_HEIGHT - 2 * MARGIN])

    def to_pixels(position: tuple[float, float]) -> tuple[float, float]:
        x, y = MARGIN + (np.asarray(position) - low) / span * inner
        return float(x), float(PLAIN_HEIGHT - y)

    def side(which: int) -> MapAxis:
        ticks = axis(float(low[which]), float(high[which]), ends=False)["ticks"]
        at = [to_pixels((tick["at"], tick["at"]))[which] for tick in ticks]
        return MapAxis(name=names[which], ticks=tuple(zip(at, (tick["text"] for tick in ticks), strict=True)))

    return to_pixels, (side(0), side(1))


def _line(points: NDArray[np.float64], to_pixels: ToPixels) -> MapLine:
    return tuple(_pixel((float(x), float(y)), to_pixels) for x, y in points)


def _pixel(position: tuple[float, float], to_pixels: ToPixels) -> Point | None:
    if not math.isfinite(position[0]):
        return None
    x, y = to_pixels(position)
    return (round(float(x), 1), round(float(y), 1)) if math.isfinite(x) and math.isfinite(y) else None


def _thinned(line: MapLine) -> MapLine:
    kept: list[Point | None] = []
    for point in line:
        last = kept[-1] if kept else None
        if point is None or last is None:
            # One None is enough to break the line, and at its start there is nothing to break.
            if point is not last:
                kept.append(point)
        elif abs(point[0] - last[0]) + abs(point[1] - last[1]) >= LEAST_MOVE:
            kept.append(point)
    return tuple(kept if kept and kept[-1] is not None else kept[:-1])
