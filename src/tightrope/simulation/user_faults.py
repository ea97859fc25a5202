"""Errors that name the part of a user's task or environment that broke."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import numpy as np

from tightrope.errors import TaskError, TightropeError
from tightrope.guards.faults import error_text, misdeed
from tightrope.tasks.observations import RULE, is_change_in_place
from tightrope.tasks.task import Task

PLAIN_NUMBERS = (float, int, np.floating, np.integer, np.bool_)
"""What most rewards are; anything else is looked at closely, which takes longer than many a step."""


def blame(task: Task, role: str, error: BaseException) -> NoReturn:
    """Raise the error of a task's function as one of that function; what tightrope raised stays as it is."""
    if isinstance(error, TightropeError):
        raise error
    told = f"{role} of task {task.label} {misdeed(error)}"
    if is_change_in_place(error):
        told = f"{told}. {RULE}"
    elif isinstance(error, KeyError) and len(error.args) == 1:
        told = f"{told}. Not every step gives it; what info may lack is read by info.get({error.args[0]!r})"
    raise TaskError(told) from error


@contextmanager
def blaming(task: Task, role: str) -> Iterator[None]:
    """``blame`` for what raises inside; too slow for every step of a simulator."""
    try:
        yield
    except BaseException as error:
        blame(task, role, error)


def wrong_step(task: Task, result: Any) -> TaskError:
    """What to say of a ``step()`` whose answer cannot be taken apart."""
    found = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
    return TaskError(
        f"task {task.label}: step() must return (observation, reward, terminated, truncated, info), not {found}; "
        f"environments of the old Gym interface need a wrapper such as shimmy's"
    )


def ends_episode(task: Task, terminated: Any, truncated: Any) -> bool:
    """Whether either of the two is true; TaskError when one is neither true nor false."""
    try:
        return bool(terminated) or bool(truncated)
    except Exception as error:
        raise TaskError(
            f"task {task.label}: step() gave terminated = {terminated!r:.60} and truncated = {truncated!r:.60}, which "
            f"must each be true or false ({error_text(error)})"
        ) from error


def require_info(task: Task, info: Any) -> None:
    """Refuse an info that is no table; TaskError says so."""
    if not isinstance(info, Mapping):
        raise TaskError(f"task {task.label}: step() gave the info {info!r:.60}, which must be a dict; return {{}}")


def reward_number(task: Task, reward: Any) -> float:
    """The reward as one number; TaskError when it is none."""
    if isinstance(reward, PLAIN_NUMBERS):
        with suppress(OverflowError):  # a whole number beyond all floats, which is named below
            return float(reward)
    if np.ndim(reward) and np.size(reward) == 1:
        reward = np.asarray(reward).item()
    if not isinstance(reward, str | bytes):
        with suppress(TypeError, ValueError, OverflowError):
            return float(reward)
    if np.ndim(reward):
        raise TaskError(
            f"task {task.label}: step() gave a reward of {np.size(reward)} numbers ({reward!r:.80}), but tightrope "
            f"needs a single one. Combine them in make_env: gymnasium.wrappers.TransformReward(env, lambda "
            f"rewards: float(rewards @ weights)); `goal` and `unsafe` can look at all of them if info carries them"
        )
    raise TaskError(
        f"task {task.label}: step() gave the reward {reward!r:.80} ({type(reward).__name__}), which is not a number; "
        f"return a float"
    )
