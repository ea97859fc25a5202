from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tightrope.report import map_picture
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace
from tightrope_mario.all_levels import level_task, level_trace
from tightrope_mario.game import ram
from tightrope_mario.game.map import AREAS, GAP, with_area
from tightrope_mario.game.task import mario_task

GROUND = slice(208, None)
"""Rows below Mario's feet: nothing moves there."""
BONUS_ROOM = 0xAD7B
"""The area below 1-1's fourth pipe."""
RUN = (0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def walk() -> ActionTrace:
    return ActionTrace("mario", 0, RUN)


def test_screens_are_stitched_without_a_seam() -> None:
    task = mario_task()
    picture = task.draw_map(task, walk())  # type: ignore[misc]
    env = task.make_env()
    env.reset(seed=0)
    for action in RUN:
        env.step(action)
        left = ram.screen_left(env.unwrapped.save_state().moment.before)  # type: ignore[attr-defined]
        columns = picture.image[GROUND, left : left + 232]
        assert np.array_equal(env.render()[GROUND, : columns.shape[1]], columns)  # type: ignore[index]


def test_mario_is_drawn_where_his_position_says() -> None:
    task = mario_task()
    picture = task.draw_map(task, ActionTrace("mario", 0))  # type: ignore[misc]
    env = task.make_env()
    observation, info = env.reset(seed=0)
    x, y = map(int, picture.to_pixels(task.position(env, observation, info)))  # type: ignore[misc]
    sky, around = picture.image[60, 60], picture.image[y - 8 : y + 8, x - 8 : x + 8]
    assert (around != sky).any(axis=2).mean() > 0.5


def test_the_picture_reaches_as_far_as_the_trace_sees() -> None:
    task = mario_task()
    start = task.draw_map(task, ActionTrace("mario", 0))  # type: ignore[misc]
    later = task.draw_map(task, walk())  # type: ignore[misc]
    assert start.image.shape == (224, 240, 3)
    assert later.image.shape[1] > 270


def area_of(position: tuple[float, float]) -> int:
    return round(position[0] % 1 * AREAS)


def played(task: Task, trace: ActionTrace) -> tuple[Any, list[tuple[float, float]]]:
    """The environment after the trace, and the positions on the way."""
    assert task.position is not None
    env = task.make_env()
    observation, info = env.reset(seed=trace.seed)
    positions = [task.position(env, observation, info)]
    for action in trace.actions:
        observation, _, _, _, info = env.step(action)
        positions.append(task.position(env, observation, info))
    return env, positions


@pytest.fixture(scope="module")
def pipe_level() -> tuple[Task, ActionTrace, Any, Any, list[tuple[float, float]]]:
    """1-2, which ends in another area than it begins in."""
    task, trace = level_task("1-2"), level_trace("1-2")
    env, positions = played(task, trace)
    return task, trace, task.draw_map(task, trace), env, positions  # type: ignore[misc]


def test_the_areas_on_the_way_lie_side_by_side(pipe_level: Any) -> None:
    _, _, picture, env, positions = pipe_level
    pixels = np.array([picture.to_pixels(position) for position in positions])
    steps = np.flatnonzero([area_of(first) != area_of(second) for first, second in pairwise(positions)])
    assert steps.tolist() == [292], "one pipe"
    below, above = (picture.strips[area_of(positions[index])] for index in (0, -1))
    assert below.left == below.first == 0
    assert above.left == below.width + GAP
    assert not picture.image[:, below.width : above.left].any()
    assert picture.image.shape[1] == above.left + above.width
    assert pixels[:293, 0].max() < below.width
    assert pixels[293:, 0].min() >= above.left
    assert pixels[:, 0].max() < picture.image.shape[1]
    # The flagpole's area is stitched in the right place.
    left = above.left + ram.screen_left(env.unwrapped.save_state().moment.before) - above.first
    columns = picture.image[GROUND, left:]
    assert columns.shape[1] > 200
    assert np.array_equal(env.render()[GROUND, : columns.shape[1]], columns)


def test_every_situation_of_the_reference_is_on_the_map(pipe_level: Any) -> None:
    task, trace, _, _, positions = pipe_level
    picture = map_picture(task, trace, [positions])
    assert picture is not None
    assert len(picture.ways[0]) == len(trace) + 1
    assert None not in picture.ways[0]


def test_what_the_trace_never_saw_has_no_place(pipe_level: Any) -> None:
    _, _, picture, _, positions = pipe_level
    below = area_of(positions[0])
    bonus_room, warp_zone = (with_area(40, BONUS_ROOM), 79.0), (with_area(2900, below), 79.0)
    assert np.isnan(picture.to_pixels(bonus_room)).all()
    assert np.isnan(picture.to_pixels(warp_zone)).all()
    # Another level's beginning, as it really is.
    other = mario_task()
    start = other.draw_map(other, ActionTrace("mario", 0))  # type: ignore[misc]
    assert np.isnan(start.to_pixels(positions[0])).all()
    assert np.isfinite(start.to_pixels(played(other, ActionTrace("mario", 0))[1][0])).all()


def test_a_trace_into_a_bonus_room_is_broken_there(pipe_level: Any) -> None:
    task, trace, _, _, positions = pipe_level
    room = [(with_area(40 + x, BONUS_ROOM), 79.0) for x in range(0, 100, 10)]
    picture = map_picture(task, trace, [positions], [positions[:50] + room + positions[60:90]])
    assert picture is not None
    assert picture.fuzz[0].count(None) == 1


def test_positions_stored_without_an_area_lie_in_the_largest(pipe_level: Any) -> None:
    task, trace, picture, _, positions = pipe_level
    old = [(float(int(x)), y) for x, y in positions]
    assert [picture.to_pixels(place) for place in old[:293]] == [(x, 271.0 - y) for x, y in old[:293]]
    drawn = map_picture(task, trace, [old])
    assert drawn is not None
    assert [index for index, point in enumerate(drawn.ways[0]) if point is None] == list(range(293, 344))


def test_the_position_is_in_pixels_and_tells_the_area() -> None:
    task = mario_task()
    env, positions = played(task, walk())
    x, y = positions[-1]
    blob = env.unwrapped.blob
    assert (int(x), y) == (ram.x(blob), ram.y(blob))
    assert x == with_area(ram.x(blob), ram.area(blob))
    assert area_of(positions[-1]) == ram.area(blob) > 0
