"""After how many steps an episode is over, whatever the agent does."""

from __future__ import annotations

from typing import Any

from tightrope.tasks.limits import own_limit
from tightrope.tasks.task import Task

LONGEST_EPISODE = 10_000
"""Steps after which an episode is cut where neither task nor environment sets a limit: an agent that walks in a circle
would never end. Gymnasium's own limits lie between 100 and 1,600 steps, those of the longest games in common use at
10,000 (Crafter) and 27,000 (Atari); a task that is longer says so by ``max_steps``."""


def time_limit(task: Task, env: Any) -> int:
    """The step at which an episode of this environment is over at the latest."""
    kept = limit_to_keep(task, env)
    return min(kept, own_limit(env) or kept)


def limit_to_keep(task: Task, env: Any) -> int:
    """The step at which tightrope itself ends an episode that the environment has not ended."""
    return task.max_steps or max(LONGEST_EPISODE, own_limit(env) or 0)
