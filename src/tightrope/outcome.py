"""How an episode stands, how a test case was judged, why a loop ended."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Outcome(StrEnum):
    """What the task says about the situation just reached."""

    ONGOING = "ongoing"
    GOAL = "goal"
    UNSAFE = "unsafe"
    TRUNCATED = "truncated"
    """The episode ended and was neither goal nor unsafe: a time limit, or a neutral end."""

    @property
    def terminal(self) -> bool:
        """Whether nothing can follow."""
        return self is not Outcome.ONGOING


class Verdict(StrEnum):
    """The judgement on one execution of a test case."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    """The prefix met a terminal situation, so the agent was never asked."""
    ERROR = "error"


class StopReason(StrEnum):
    """Why a loop ended."""

    GOAL_FOUND = "goal found"
    EXHAUSTED = "space exhausted"
    BUDGET_SPENT = "budget spent"
    CANCELLED = "cancelled"
    COMPLETED = "completed"


def joint_verdict(verdicts: Iterable[bool | None]) -> bool | None:
    """Of several conditions: False where one failed, True only where there are some and all hold, None: undecided."""
    known = list(verdicts)
    if False in known:
        return False
    return True if known and None not in known else None
