"""How much of an agent's failing could have been avoided: what is above what nobody can help.

Somebody was seen to survive a case with probability b, so at most 1 - b of its failing is fate. An agent that fails
with probability f is blamed for f - (1 - b). On deterministic tasks b is 1 with a witness and 0 with a proof of doom;
what nobody has decided counts in full, or fails would pass for fate wherever the search had too little time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tightrope.reference import Survivability
from tightrope.statistics import Estimate

if TYPE_CHECKING:
    from tightrope.safety.results import CaseResult

UNDECIDED = "nobody knows whether it was avoidable: counted in full"
NOT_THERE = "the executions did not start in the situation of the case"
DOOMED = "proven doomed: nothing was avoidable"


def avoidable_part(case: CaseResult) -> Estimate:
    """The part of a case's fail frequency that somebody would have avoided.

    Its lower limit is shown at the confidence of the intervals it is made of: the least the agent fails, less the most
    that fate can take. Its upper limit is that of the fail frequency, since somebody may do better than anyone tried.
    """
    fails, best = case.fail_frequency, case.survival.best
    if fails.value is None:
        return fails
    if case.survivable is Survivability.NO:
        return replace(fails, value=0.0, low=0.0, high=0.0, method=DOOMED)
    if best is None or best.value is None or best.low is None:
        known = case.survivable is Survivability.YES
        return fails if known else replace(fails, low=0.0, method=UNDECIDED)
    if best.low == best.high:
        return fails
    if not _started_there(case):
        return replace(fails, value=None, low=None, high=None, n=0, method=NOT_THERE)
    value = max(0.0, fails.value + best.value - 1)
    low = max(0.0, (fails.low or 0.0) + best.low - 1)
    method = f"fail frequency above what nobody can help: {fails.method}; {best.method}"
    return replace(fails, value=value, low=min(low, value), method=method)


def _started_there(case: CaseResult) -> bool:
    return all(episode.rollout.fixed_prefix for episode in case.episodes)
