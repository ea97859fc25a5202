"""Action traces: the plan that leads to a situation, and the record of what happened on the way.

A situation *is* an action trace: a task, a reset seed and the actions played since. It is the only thing stored or sent
to another process as "where"; a snapshot is a cache of it inside one process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeAlias

from tightrope.display import Shown
from tightrope.outcome import Outcome

Action: TypeAlias = int | float | tuple[Any, ...]
"""A hashable action: an int (Discrete), or a tuple of numbers (Box, MultiDiscrete), possibly nested."""


def action_text(action: Action | None, names: Sequence[str] = ()) -> str:
    """An action as people read it: by its name where it has one, numbers with three figures."""
    if isinstance(action, int) and 0 <= action < len(names):
        return names[action]
    if isinstance(action, tuple):
        return f"({', '.join(map(action_text, action))})"
    return f"{action:.3g}" if isinstance(action, float) else str(action)


_as_text = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=str).encode


def content_id(*parts: object) -> str:
    """Sixteen hex digits that depend on nothing but the parts (64 bits: no clash among millions)."""
    return hashlib.sha256(_as_text(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ActionTrace(Shown):
    """A situation: reset ``task`` with ``seed``, then play ``actions``; ``reseeds`` is the randomness on the way."""

    _shown = ("task", "seed", "actions", "reseeds")

    task: str
    """Label of the task (name and options), so that a trace is never replayed on another one unnoticed."""
    seed: int
    actions: tuple[Action, ...] = ()
    reseeds: tuple[tuple[int, int], ...] = ()
    """Stochastic tasks: (i, seed) gives the environment fresh randomness before the action with index i."""

    def __len__(self) -> int:
        return len(self.actions)

    def prefix(self, length: int) -> ActionTrace:
        """The first ``length`` actions."""
        if not 0 <= length <= len(self.actions):
            raise ValueError(f"a prefix of {length} actions does not lie within a trace of {len(self.actions)}")
        reseeds = tuple((index, seed) for index, seed in self.reseeds if index < length)
        return ActionTrace(self.task, self.seed, self.actions[:length], reseeds)

    def suffix(self, length: int) -> tuple[Action, ...]:
        """The actions after the first ``length``."""
        return self.actions[length:]

    def then(self, actions: Iterable[Action]) -> ActionTrace:
        """This trace followed by more actions."""
        return ActionTrace(self.task, self.seed, self.actions + tuple(actions), self.reseeds)

    @cached_property
    def id(self) -> str:
        """Identifier derived from the content alone: all of it, whatever fields there are."""
        return content_id(*(getattr(self, part.name) for part in fields(self)))

    def __repr__(self) -> str:
        return f"ActionTrace({self.task!r}, seed={self.seed}, {len(self.actions)} actions)"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace: the action, its reward, and the key and outcome of where it led."""

    action: Action
    reward: float
    key: Hashable
    outcome: Outcome


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """What happened: the key at reset, then the steps."""

    _shown = ("actions", "total_reward", "outcome")

    start_key: Hashable
    steps: tuple[Step, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions played."""
        return tuple(step.action for step in self.steps)

    @property
    def rewards(self) -> tuple[float, ...]:
        """The reward of each step."""
        return tuple(step.reward for step in self.steps)

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The state keys s0 … sn, one more than there are steps."""
        return (self.start_key, *(step.key for step in self.steps))

    @property
    def total_reward(self) -> float:
        """The sum of the rewards."""
        return float(sum(step.reward for step in self.steps))

    @property
    def outcome(self) -> Outcome:
        """The outcome after the last step."""
        return self.steps[-1].outcome if self.steps else Outcome.ONGOING
