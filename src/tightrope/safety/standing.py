"""What a case says about the agent: one answer, by the rule that gates follow."""

from __future__ import annotations

from enum import StrEnum

from tightrope.reference import Survivability


class Standing(StrEnum):
    """How a case stands."""

    PASSED = "passed"
    FAILED = "failed"
    DOOMED = "doomed"
    """Proven hopeless for anyone: it counts neither for the agent nor against it."""
    INVALID = "invalid"
    """The prefix ended before hand-over, so the agent was never asked."""
    RAISED = "raised"
    """Agent or environment raised, and what raised might have been a fail."""
    UNTESTED = "no data"


def standing(*, passes: int, fails: int, invalid: int, errors: int, survivable: Survivability) -> Standing:
    """How a case stands, from how often each verdict was given and whether anyone could survive it."""
    if errors:
        return Standing.RAISED
    if not passes + fails:
        return Standing.INVALID if invalid else Standing.UNTESTED
    if survivable is Survivability.NO:
        return Standing.DOOMED
    return Standing.FAILED if fails else Standing.PASSED
