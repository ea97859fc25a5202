"""How likely an agent is to fail in use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tightrope.display import Shown
from tightrope.statistics import Estimate
from tightrope.trace import ActionTrace

Z = 1.96
"""Half the width of a 95 % interval in standard errors, for saying what plain episodes would have cost."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FailureEstimate(Shown):
    """The probability that an episode from the task's own starts ends unsafe, and what it took to find out."""

    _shown = ("agent", "probability", "method", "guide", "cost")

    task: str
    agent: str
    probability: Estimate
    method: str
    """How it was found: splitting, plain Monte Carlo, or exactly."""
    guide: str
    """What told the estimate which episodes come close to harm."""
    cost: int
    """Environment steps executed in all, replays and the learning of the guide included."""
    episode_steps: float
    """The mean length of a plain episode."""
    length: int | None = None
    """At most so many steps of an episode were watched; None: until it ended."""
    repetitions: int = 0
    """Independent runs of splitting behind the interval."""
    notes: tuple[str, ...] = ()
    """What a reader must know about the number: a diagnosis that failed, a system without randomness."""
    failures: tuple[ActionTrace, ...] = field(default=(), repr=False)
    """Some of the failing episodes that were met, as traces to replay and explain."""

    @property
    def plain_episodes_needed(self) -> int | None:
        """How many plain episodes would have given an interval of the same width; None without a width."""
        p = self.probability
        if p.value is None or p.low is None or p.high is None or not 0 < p.value < 1 or p.high <= p.low:
            return None
        return round(p.value * (1 - p.value) * (2 * Z / (p.high - p.low)) ** 2)

    @property
    def saving(self) -> float | None:
        """How many times fewer steps it took than plain episodes for the same width."""
        needed = self.plain_episodes_needed
        return None if needed is None or not self.cost else needed * self.episode_steps / self.cost

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON; of the failures their number."""
        return {
            "task": self.task,
            "agent": self.agent,
            "probability": self.probability.to_json(),
            "method": self.method,
            "guide": self.guide,
            "cost": self.cost,
            "episode_steps": self.episode_steps,
            "length": self.length,
            "repetitions": self.repetitions,
            "plain_episodes_needed": self.plain_episodes_needed,
            "saving": self.saving,
            "notes": list(self.notes),
            "failures": len(self.failures),
        }

    def sentence(self) -> str:
        """The answer in words."""
        p = self.probability
        if p.value is None:
            return f"{self.agent}: nothing could be said about its risk ({p.method})."
        limits = "" if p.low is None or p.high is None else f" ({p.low:.2g} to {p.high:.2g})"
        text = f"{self.agent} ends unsafe in {p.value:.2g}{limits} of its episodes, by {self.method}"
        saving = self.saving
        if self.method == "splitting" and saving is not None and saving >= 1:
            text += f"; plain episodes would have taken {saving:.3g} times the steps"
        return f"{text}."

    def __str__(self) -> str:
        return self.sentence()
