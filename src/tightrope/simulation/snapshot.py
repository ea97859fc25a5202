"""A situation saved inside one process, and what was shown there, kept for longer than the environment keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tightrope.outcome import Outcome
from tightrope.tasks.observations import kept
from tightrope.tasks.task import Transition

UNCHANGEABLE = frozenset({bool, float, int, str, type(None)})
"""What most of ``info`` is, told from the rest without a call: it is kept at every step."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A situation inside one process. Never stored, never compared: the action trace is what identifies it."""

    payload: Any
    transition: Transition
    outcome: Outcome
    depth: int
    history: Any

    @property
    def observation(self) -> Any:
        """What is seen there."""
        return self.transition.observation

    @property
    def info(self) -> Mapping[str, Any]:
        """What the environment tells of it."""
        return self.transition.info


def detached(transition: Transition) -> Transition:
    """A transition that keeps its values when the environment uses the arrays again that it has handed out."""
    return Transition(
        kept(transition.observation),
        transition.reward,
        transition.terminated,
        transition.truncated,
        {name: value if type(value) in UNCHANGEABLE else kept(value) for name, value in transition.info.items()},
    )
