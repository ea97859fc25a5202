"""How long to watch an agent after hand-over.

Watched for too short a time two agents look alike of which one fails soon after; so unless the caller says how long,
the task does. Longer episodes are executed once and can be judged at every length.
"""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.settings import LONGEST_WATCH, SafetyConfig
from tightrope.tasks.task import Task

SHORTEST_WATCH = 40
"""The paper's l: where nobody knows how long a task takes, and where surviving hundreds of steps decides nothing."""

GIVEN = "the given length"
"""Why, where somebody asked for it; the task may go on for much longer."""


@dataclass(frozen=True, kw_only=True)
class WatchLength:
    """So many steps, and why."""

    steps: int
    why: str


def choose_watch(task: Task, longest: int, length: int | None = None) -> WatchLength:
    """As long as was asked; else to the task's time limit, or twice as long as the longest way at hand takes."""
    if length is not None:
        SafetyConfig.require(length=length)
        return WatchLength(steps=length, why=GIVEN)
    limit = task.time_limit
    if limit is not None and limit <= LONGEST_WATCH:
        return WatchLength(steps=limit, why="the task's time limit")
    if limit is not None:
        return WatchLength(steps=LONGEST_WATCH, why=f"less than the task's time limit of {limit}")
    if 2 * longest > LONGEST_WATCH:
        why = f"the task has no time limit; less than twice as long as the reference, which takes {longest}"
        return WatchLength(steps=LONGEST_WATCH, why=why)
    if 2 * longest < SHORTEST_WATCH:
        why = "the task has no time limit, and its reference is short; never less than this"
        return WatchLength(steps=SHORTEST_WATCH, why=why)
    return WatchLength(steps=2 * longest, why="the task has no time limit, so twice as long as the reference")
