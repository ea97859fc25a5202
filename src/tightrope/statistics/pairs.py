"""Two things tried under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """How paired tries of A and B came out."""

    both: int
    """Both hit."""
    only_a: int
    only_b: int
    neither: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> PairCounts:
        """Count (A hit, B hit) pairs."""
        seen = [0, 0, 0, 0]
        for a, b in pairs:
            seen[2 * bool(a) + bool(b)] += 1
        return cls(neither=seen[0], only_b=seen[1], only_a=seen[2], both=seen[3])

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return self.both + self.only_a + self.only_b + self.neither
