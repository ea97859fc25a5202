"""A number with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tightrope.display import Shown

CONFIDENCE = 0.95
"""Confidence level of every interval, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Estimate(Shown):
    """A value with its interval, sample size and method. An estimate of nothing has n = 0 and no value."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """How many independent observations stand behind the value."""
    method: str
    """How the interval was made, with its confidence level."""

    @classmethod
    def of_nothing(cls, method: str = "no data") -> Estimate:
        """The estimate when nothing was measured."""
        return cls(None, None, None, 0, method)

    @classmethod
    def certain(cls, value: float, method: str = "deterministic: one execution stands for all") -> Estimate:
        """The estimate when nothing in it is random: one observation, and no width."""
        return cls(float(value), float(value), float(value), 1, method)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Estimate:
        """The estimate that ``to_json`` described."""
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def __format__(self, spec: str) -> str:
        """``0.12 [0.05, 0.26] n=50``; "no data" when nothing was measured."""
        if self.value is None:
            return "no data"
        spec = spec or ".3g"
        if self.low is None or self.high is None:
            return f"{self.value:{spec}} n={self.n}"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}] n={self.n}"

    def __str__(self) -> str:
        return format(self)
