"""What came out while judging that lowers trust: shown on the result, beside the numbers it concerns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SafetyFindingKind(StrEnum):
    """What a finding is about."""

    REFUTED_PROOF = "refuted proof"
    """Somebody survived what was proven doomed."""
    TWO_CONTINUATIONS = "two continuations"
    """One key, or one identity, stands for two situations."""
    OTHER_ACTIONS = "other actions"
    """The agent plays actions that it was said not to have."""
    ELSEWHERE = "elsewhere"
    """Prefixes played with fresh randomness led to other situations than their cases."""


DISTRUST = (SafetyFindingKind.REFUTED_PROOF, SafetyFindingKind.TWO_CONTINUATIONS)
"""After these no name is taken for a situation, and nothing is proven by it."""


@dataclass(frozen=True, kw_only=True)
class SafetyFinding:
    """One of them, in a sentence."""

    kind: SafetyFindingKind
    text: str
    cases: tuple[str, ...] = ()
    """Ids of the cases concerned; empty: all."""

    def __str__(self) -> str:
        return self.text
