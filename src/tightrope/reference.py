"""The result of step 1: a way to solve the task, and the places on it where the search nearly died."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tightrope.seeding import stable_hash
from tightrope.trace import Action, ActionTrace, Trace


class Survivability(StrEnum):
    """What is known about a situation, whoever plays on from it."""

    YES = "yes"
    """An action sequence that survives from there was found and replayed."""
    NO = "no"
    """Proven doomed: every way on ends in an unsafe situation."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Successor:
    """One action at a boundary state and what is known of where it leads."""

    action: Action
    survivable: Survivability
    witness: tuple[Action, ...] | None = field(default=None, repr=False)
    """Actions played after ``action`` that survive; None unless ``survivable`` is YES."""


@dataclass(frozen=True, kw_only=True)
class BoundaryState:
    """A situation on the reference from which at least one action led into trouble."""

    depth: int
    """Number of reference actions that lead here."""
    key: Hashable
    actions: tuple[Action, ...]
    """The actions that led to explored successors."""
    proven: bool
    """Whether every branch below those successors ended in an unsafe situation."""
    evidence: Mapping[str, int]
    """How the branches below ended: counts of ``unsafe``, ``cycle``, ``merged``, ``stuck``, ``truncated``, ``depth``,
    ``budget``."""
    successors: tuple[Successor, ...] = ()
    """What probing found out about every other action here; empty when it was not probed."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A trace that reaches the goal, with its boundary states in order of depth."""

    trace: Trace
    actions: ActionTrace
    boundary_states: tuple[BoundaryState, ...]
    method: str
    """How it was found: ``dfs``, ``archive`` or ``demonstration``."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def depths(self) -> tuple[int, ...]:
        """The depths of the boundary states."""
        return tuple(state.depth for state in self.boundary_states)

    @property
    def proven(self) -> int:
        """How many boundary states are proven."""
        return sum(state.proven for state in self.boundary_states)

    @property
    def checksums(self) -> tuple[int, ...]:
        """Hashes of the state keys s0 … sn: what a replay must meet again."""
        return tuple(stable_hash(key) for key in self.trace.keys)

    def __repr__(self) -> str:
        return (
            f"Reference({self.actions.task!r}, {len(self)} actions, {len(self.boundary_states)} boundary states, "
            f"{self.proven} proven, by {self.method})"
        )
