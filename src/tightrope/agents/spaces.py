"""What a task shows an agent and takes from it: all that loading an agent needs to know of the task."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from tightrope.tasks.task import Task


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskSpaces:
    """The agent's side of a task. Unlike a task it pickles small, so a worker can rebuild an agent from it."""

    task: str
    """Label of the task, for messages."""
    observation: gym.Space[Any]
    action: gym.Space[Any]
    action_names: tuple[str, ...] | None = None
    action_sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Named sets of actions that an agent file may say it was trained with."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the task was made with; an agent file may say what it was trained with."""

    def sample_observations(self, number: int) -> list[Any]:
        """The same ``number`` random observations every time."""
        space = copy.deepcopy(self.observation)
        space.seed(0)
        return [space.sample() for _ in range(number)]


def spaces_of(task: Task) -> TaskSpaces:
    """Look at a task from the agent's side."""
    names: Sequence[str] | None = task.action_names
    return TaskSpaces(
        task=task.label,
        observation=task.observation_space,
        action=task.action_space,
        action_names=None if names is None else tuple(names),
        action_sets={name: tuple(actions) for name, actions in task.action_sets.items()},
        options=dict(task.options),
    )
