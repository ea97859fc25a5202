"""How a gate went that ran no more of a suite than it needed."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.display import Shown
from tightrope.statistics import Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class GateDecision(Shown):
    """The outcome of a gate that ran no more executions than it needed."""

    _shown = ("passed", "limit", "estimate", "draws", "fails", "executions", "whole")
    _shares = ("estimate",)

    limit: float
    """The fail frequency that is still allowed."""
    passed: bool | None
    """None: not decided, because executions ran out, or some raised and might have been fails."""
    draws: int
    """Executions that the decision rests on."""
    executions: int
    """Executions that were made: those, what was repeated because it ended before hand-over, and the rest of the last
    batch."""
    fails: int
    errors: int
    """Executions among the draws that raised: for passing they count as fails, for failing as none."""
    whole: int
    """Executions of the whole suite."""
    estimate: Estimate
    """Fail frequency on these cases without doomed ones, with limits that hold however early it was stopped."""
    fate: Estimate | None = None
    """How much of it nobody can help, as far as somebody was seen to do better; it is allowed beside the limit. None:
    nothing of it is left to chance, or it is not known."""
    exact: bool = False
    """Nothing is random: every case was executed once."""

    @property
    def saved(self) -> int:
        """Executions of the whole suite that were not needed."""
        return max(self.whole - self.executions, 0)

    def judged(self, limit: float) -> bool | None:
        """Whether the avoidable part is within a limit: the one it was stopped for, or another."""
        found, fate = self.estimate, self.fate
        if limit == self.limit or found.low is None or found.high is None:
            return self.passed if limit == self.limit else None
        least, most = (0.0, 0.0) if fate is None else (fate.low or 0.0, fate.high or 0.0)
        return True if found.high <= limit + least else False if found.low > limit + most else None

    def __str__(self) -> str:
        if self.exact:
            return f"exact after {self.executions} executions, one of each case"
        how = f"decided by {self.draws} drawn executions" if self.passed is not None else f"open after {self.draws}"
        return f"{how}; {self.executions} were made, {self.saved} of the suite's {self.whole} saved"
