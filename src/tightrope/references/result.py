"""What a search returns: a reference or none, why it ended, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.display import Shown
from tightrope.outcome import StopReason
from tightrope.reference import Reference


@dataclass(slots=True, kw_only=True)
class SearchStats:
    """What a search has spent and met."""

    steps: int = 0
    """Environment steps of the search itself, without replays."""
    expansions: int = 0
    """Situations whose actions were tried."""
    deepest: int = 0
    """Length of the longest action trace tried."""
    unsafe_hits: int = 0
    cycles_cut: int = 0
    """Branches cut because their state key was known."""
    stuck_cut: int = 0
    truncated: int = 0
    """Episodes that ended neither in the goal nor in harm."""
    depth_cut: int = 0
    backtracks: int = 0
    """Times an earlier situation was put back."""
    cells: int = 0
    """Archive only: cells found."""
    replayed_steps: int = 0
    """Steps spent putting situations back, where the environment cannot be saved."""
    seconds: float = 0.0

    @property
    def steps_per_second(self) -> float | None:
        """None before any time has passed."""
        return self.steps / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True, kw_only=True)
class SearchResult(Shown):
    """The outcome of step 1. Finding no reference is a result, not an error: ``reference`` is then None."""

    _shown = ("method", "stop_reason", "reference", "stats")

    reference: Reference | None
    stop_reason: StopReason
    stats: SearchStats
    method: str
    """The method that found the reference, or the last one tried, such as ``dfs``."""
    deterministic: bool
    """Whether the task was searched as a deterministic one."""
    unprobed: bool = False
    """The method looks for no boundary states itself, and nobody has probed for them yet."""

    def __repr__(self) -> str:
        found = "no reference" if self.reference is None else repr(self.reference)
        return f"SearchResult({found}, {self.stop_reason}, {self.stats.steps} steps by {self.method})"
