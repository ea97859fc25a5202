"""Errors that name the part of a user's task or environment that broke."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tightrope.errors import TaskError, TightropeError
from tightrope.guards.faults import misdeed
from tightrope.tasks.task import Task


def blame(task: Task, role: str, error: BaseException) -> NoReturn:
    """Raise the error of a task's function as one of that function; what tightrope raised stays as it is."""
    if isinstance(error, TightropeError):
        raise error
    raise TaskError(f"{role} of task {task.label} {misdeed(error)}") from error


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
