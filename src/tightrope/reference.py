"""The result of step 1: a way to solve the task, and the places on it where the search nearly died."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tightrope.display import Shown
from tightrope.outcome import Outcome, StopReason
from tightrope.seeding import stable_hash
from tightrope.trace import Action, ActionTrace, Trace

ENDINGS = ("unsafe", "cycle", "visited", "merged", "stuck", "truncated", "depth", "budget")
"""How a branch of a search can end: unsafe (or at a situation proven doomed); back on the open path; at a situation
left before that is not proven doomed; at a known key that may stand for another situation; cut by the task's ``stuck``
hook or for want of actions; ended by the environment without harm; at the depth limit; at the limit on work. Only the
first is evidence of a doomed successor."""

GIVEN = "demonstration"
"""The ``method`` of a reference that was given."""


class Survivability(StrEnum):
    """What is known about a situation, whoever plays on from it."""

    YES = "yes"
    """An action sequence that survives from there is known."""
    NO = "no"
    """Proven doomed: whatever search actions are played, an unsafe situation follows."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Successor:
    """One action at a boundary state and what is known of where it leads."""

    action: Action
    survivable: Survivability
    witness: tuple[Action, ...] | None = field(default=None, repr=False)
    """Actions played after ``action`` that survive; None unless ``survivable`` is YES."""
    ending: str = ""
    """What the witness leads to: ``goal``, ``truncated`` (the episode ends without harm) or ``cycle``."""
    loop: int = 0
    """Of a witness that ends in a cycle: how many of its last actions can be repeated for ever."""
    fuse: int | None = None
    """Of a doomed one: within how many steps harm follows whatever is played, this action included."""


@dataclass(frozen=True, kw_only=True, repr=False)
class BoundaryState(Shown):
    """A situation on the reference from which at least one action led into trouble."""

    _shown = ("depth", "actions", "proven", "evidence", "fuse")

    depth: int
    """Number of reference actions that lead here."""
    key: Hashable
    actions: tuple[Action, ...]
    """The actions that led to dead ends: unsafe, or left because nothing below them reached the goal."""
    proven: bool
    """Whether every branch below those successors ended in an unsafe situation."""
    evidence: Mapping[str, int]
    """How the branches below ended: counts of the `ENDINGS` that occurred."""
    successors: tuple[Successor, ...] = ()
    """What probing found out about every other action here; empty when it was not probed."""
    fuse: int | None = None
    """Where proven on a deterministic task: within how many steps harm follows, whichever of ``actions`` is taken."""


@dataclass(frozen=True, kw_only=True)
class Probing:
    """What it cost to try the actions that the reference does not take, and what came of them."""

    successors: int
    """How many there were to classify."""
    doomed: int
    """On stochastic tasks: actions that were seen to do harm at once."""
    survivable: int
    unknown: int
    steps: int
    seconds: float
    stop_reason: StopReason


@dataclass(frozen=True, kw_only=True)
class Reference(Shown):
    """A trace that reaches the goal, with its boundary states in order of depth."""

    _shown = ("actions", "method", "depths", "proven", "probing")

    trace: Trace
    actions: ActionTrace
    boundary_states: tuple[BoundaryState, ...]
    method: str
    """How it was found, for people to read: the method of a search, such as ``dfs``, or whose run it is."""
    agent: str | None = None
    """Whose run it is, or who fails on it; None: no agent's."""
    by_failing: bool = False
    """Whether it is here because that agent failed on it: that says where it fails, not how often."""
    near_miss: bool = False
    """Whether it is a run that this agent survived, with the moment at which it came closest to failing."""
    search_actions: tuple[Action, ...] = field(default=(), repr=False)
    """The actions that were tried; "doomed" means doomed for whoever has only these."""
    probing: Probing | None = None
    """What `probe_boundary` spent and found; None when it was not called."""
    findings: tuple[str, ...] = ()
    """What came out on the way that lowers trust: a key that stands for two situations, say. No proof rests on it."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def chosen(self) -> bool:
        """Whether its boundary states were chosen by where an agent fails: no sample of how often one does."""
        return self.by_failing or self.near_miss

    @property
    def taken_over(self) -> bool:
        """Whether it is no run of that agent, but a way to the goal on which it fails when it takes over."""
        return self.by_failing and self.trace.outcome is Outcome.GOAL

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
