"""Two things tried under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scipy import stats


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

    @property
    def p_value(self) -> float | None:
        """Exact McNemar test: how likely so uneven a split of the unequal pairs is when A and B are alike.

        None without pairs. Only pairs that differ carry information; without any the answer is 1.
        """
        if self.n == 0:
            return None
        unequal = self.only_a + self.only_b
        return 1.0 if unequal == 0 else float(stats.binomtest(self.only_a, unequal, 0.5).pvalue)
