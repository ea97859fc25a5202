"""The tasks that come with tightrope, by name."""

from __future__ import annotations

from collections.abc import Callable

from tightrope.tasks.task import Task

BUILTIN_TASKS: dict[str, Callable[..., Task]] = {}
