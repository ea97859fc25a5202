from __future__ import annotations

import numpy as np

from tightrope.tasks.mario import ram
from tightrope.tasks.mario.task import mario_task
from tightrope.trace import ActionTrace

GROUND = slice(208, None)
"""Rows below Mario's feet: nothing moves there."""
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
