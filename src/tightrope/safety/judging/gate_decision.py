"""How a gate went that ran no more of a suite than it needed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tightrope.display import Shown
from tightrope.statistics import Estimate

STOPPED = "stopped as soon as the gate was decided: no interval"
REFUTED_SINCE = "other cases count now than it was decided about, since a proof of doom was refuted"


@dataclass(frozen=True, kw_only=True, repr=False)
class GateDecision(Shown):
    """The outcome of a gate that ran no more executions than it needed."""

    _shown = ("passed", "limit", "estimate", "draws", "fails", "executions", "whole")
    _shares = ("estimate",)

    limit: float
    """The fail frequency that is still allowed."""
    decided: bool | None
    """What the executions showed of the cases that they were drawn from. None: they ran out, or some raised and might
    have been fails."""
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
    left_out: tuple[str, ...] = ()
    """Cases that nothing was drawn from, since they were proven doomed then; by id."""
    stands: bool = True
    """Whether those are the cases that are proven doomed now. Otherwise it was decided about others than count."""

    @property
    def passed(self) -> bool | None:
        """Whether the gate holds. None: it was not decided, or about other cases than those that count now."""
        return self.decided if self.stands else None

    def beside(self, doomed: Collection[str]) -> GateDecision:
        """The same where those cases are proven doomed: what refutes a proof opens the gate that rested on it."""
        return replace(self, stands=self.exact or set(self.left_out) == set(doomed))

    @property
    def avoidable(self) -> Estimate:
        """What of it somebody would have avoided: what is above what nobody can help, of the same draws."""
        fate = 0.0 if self.fate is None else self.fate.value or 0.0
        value = None if self.estimate.value is None else max(0.0, self.estimate.value - fate)
        return replace(self.estimate.without_interval(STOPPED), value=value)

    @property
    def saved(self) -> int:
        """Executions of the whole suite that were not needed."""
        return max(self.whole - self.executions, 0)

    def judged(self, limit: float) -> bool | None:
        """Whether the avoidable part is within a limit: the one it was stopped for, or another."""
        found, fate = self.estimate, self.fate
        if not self.stands:
            return None
        if limit == self.limit or found.low is None or found.high is None:
            return self.passed if limit == self.limit else None
        least, most = (0.0, 0.0) if fate is None else (fate.low or 0.0, fate.high or 0.0)
        return True if found.high <= limit + least else False if found.low > limit + most else None

    def __str__(self) -> str:
        if self.exact:
            return f"exact after {self.executions} executions, one of each case"
        if not self.stands:
            return f"open, as {REFUTED_SINCE}; test it again"
        how = f"decided by {self.draws} drawn executions" if self.passed is not None else f"open after {self.draws}"
        return f"{how}; {self.executions} were made, {self.saved} of the suite's {self.whole} saved"
