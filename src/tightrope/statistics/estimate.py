"""A number with its uncertainty, and the question it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tightrope.display import Shown

CONFIDENCE = 0.95
"""Confidence level of every interval, unless the caller says otherwise."""

ON_THESE_CASES = "on these cases"
"""Exactly these cases, executed again and again: only executions are random."""
IN_GENERAL = "in situations like these"
"""Other situations found in the same way: what was found varies, and executions."""
IN_PLAIN_EPISODES = "in plain episodes"
"""Episodes from the task's own starts, as in use."""


@dataclass(frozen=True, slots=True)
class Estimate(Shown):
    """A value with its interval, sample size, method and question. One of nothing has n = 0 and no value."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """How many independent observations stand behind the value."""
    method: str
    """How the interval was made, with its confidence level; or why there is none."""
    question: str = ""
    """What it is an answer to: "on these cases", "in situations like these", "in plain episodes"; empty: not said."""

    @classmethod
    def of_nothing(cls, method: str = "no data", question: str = "") -> Estimate:
        """The estimate when nothing was measured."""
        return cls(None, None, None, 0, method, question)

    @classmethod
    def certain(
        cls, value: float, method: str = "deterministic: one execution stands for all", question: str = ""
    ) -> Estimate:
        """The estimate when nothing in it is random: one observation, and no width.

        Args:
            value: What was observed.
            method: Why it is certain.
            question: Which question it answers.
        """
        return cls(float(value), float(value), float(value), 1, method, question)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Estimate:
        """The estimate that ``to_json`` described."""
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def answering(self, question: str) -> Estimate:
        """The same, as an answer to this question."""
        return replace(self, question=question)

    def without_interval(self, why: str) -> Estimate:
        """The value alone, with the reason."""
        return replace(self, low=None, high=None, method=why)

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval lies above 0: of a difference, that it is more beyond doubt."""
        return self.low is not None and self.low > 0

    @property
    def below_zero(self) -> bool:
        """Whether the whole interval lies below 0."""
        return self.high is not None and self.high < 0

    def __format__(self, spec: str) -> str:
        """``0.12 [0.05, 0.26] n=50``; "no data" when nothing was measured; without a spec the question is added.

        ``share`` is for shares, ``12% (5–26%, n = 50) on these cases``, and ``points`` for their differences.
        """
        if not spec:
            return str(self)
        if spec in ("share", "points"):
            return self._in_percent(points=spec == "points")
        if self.value is None:
            return "no data"
        if self.low is None or self.high is None:
            return f"{self.value:{spec}} n={self.n}"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}] n={self.n}"

    def _in_percent(self, *, points: bool) -> str:
        from tightrope.statistics.words import estimate_text, plainly, points_text

        return plainly(f"{points_text(self) if points else estimate_text(self)} {self.question}".rstrip())

    def __str__(self) -> str:
        return f"{self:.3g} {self.question}".rstrip() if self.value is not None else "no data"
