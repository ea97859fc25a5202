"""How long to watch an agent after hand-over.

Watched for too short a time two agents look alike of which one fails soon after; so unless the caller says how long,
the task does. Longer episodes are executed once and can be judged at every length.
"""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.safety.suites.suite import TestSuite
from tightrope.settings import LONGEST_WATCH, SafetyConfig
from tightrope.tasks.task import Task

SHORTEST_WATCH = 40
"""The paper's l."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """So many steps, and why."""

    steps: int
    why: str


def choose_watch(task: Task, suite: TestSuite, length: int | None = None) -> Watch:
    """As long as was asked; else to the task's time limit, or twice as long as its way through takes."""
    if length is not None:
        SafetyConfig.require(length=length)
        return Watch(steps=length, why="as asked")
    limit = task.time_limit
    if limit is not None and limit <= LONGEST_WATCH:
        return Watch(steps=limit, why="the task's time limit")
    if limit is not None:
        return Watch(steps=LONGEST_WATCH, why=f"not the whole of the task's time limit of {limit}")
    longest = max(len(way.actions) for way in suite.ways)
    steps = min(max(2 * longest, SHORTEST_WATCH), LONGEST_WATCH)
    return Watch(steps=steps, why="the task has no time limit; its way through was taken twice, within reason")
