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
    UNLUCKY = "unlucky"
    """It failed, and no more often than nobody can help: no part of it was avoidable."""
    INVALID = "invalid"
    """The prefix ended before hand-over, so the agent was never asked."""
    RAISED = "raised"
    """Agent or environment raised, and what raised might have been a fail."""
    UNTESTED = "no data"


def standing(
    *, passes: int, fails: int, invalid: int, errors: int, survivable: Survivability, avoidable: float | None = None
) -> Standing:
    """How a case stands, from how often each verdict was given, whether anyone could survive it, and how much of its
    failing could have been avoided (None: not known, so all of it)."""
    if errors:
        return Standing.RAISED
    if not passes + fails:
        return Standing.INVALID if invalid else Standing.UNTESTED
    if survivable is Survivability.NO:
        return Standing.DOOMED
    if not fails:
        return Standing.PASSED
    return Standing.UNLUCKY if avoidable == 0 else Standing.FAILED
