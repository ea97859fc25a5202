"""How likely an agent is to fail in use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tightrope.display import Shown
from tightrope.statistics import Estimate
from tightrope.statistics.words import NO_DATA, interval_text, percent, plainly
from tightrope.trace import ActionTrace

PLAIN, SPLITTING = "plain Monte Carlo", "splitting"
SEEN_IN_PERCENT = 0.005
"""Upper limits below it are told as they are."""
WORTH_TELLING = 1.1
"""Times the steps that were spent; less is no saving."""
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
    """How it was found: splitting or plain Monte Carlo."""
    guide: str
    """What told the estimate which episodes come close to harm."""
    cost: int
    """Environment steps executed in all, replays and the learning of the guide included."""
    episode_steps: float
    """The mean length of a plain episode."""
    length: int | None = None
    """At most so many steps of an episode were watched; None: until it ended."""
    plain: Estimate | None = None
    """What the plain episodes among those of splitting say by themselves. It holds whatever the guide leaves out."""
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
        if self.method == PLAIN:
            return p.n
        if p.value is None or p.low is None or p.high is None or not 0 < p.value < 1 or p.high <= p.low:
            return None
        return round(p.value * (1 - p.value) * (2 * Z / (p.high - p.low)) ** 2)

    @property
    def saving(self) -> float | None:
        """How many times fewer steps it took than plain episodes for the same width."""
        needed = self.plain_episodes_needed
        return None if needed is None or not self.cost else needed * self.episode_steps / self.cost

    @property
    def question(self) -> str:
        """What the probability is of: that an episode ends unsafe, as far as it was watched."""
        if self.length is None:
            return "ends unsafe"
        return f"ends unsafe within {self.length:,} step{'s' if self.length > 1 else ''}"

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
            "plain": None if self.plain is None else self.plain.to_json(),
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
        text = f"{self.agent} {self.question} in {self.probability_text()} of its episodes, by {self.method}"
        saving = self.saving
        if self.method == SPLITTING and saving is not None and saving >= WORTH_TELLING:
            text += f"; plain episodes would have taken {float(f'{saving:.2g}'):,g} times the steps"
        return f"{text}."

    def reservation(self) -> str | None:
        """What the answer takes for granted, in words; None where nothing is."""
        within, alone = self.probability.high, None if self.plain is None else self.plain.high
        if self.method != SPLITTING or self.notes or self.plain is None or alone is None or within is None:
            return None
        if alone <= within:
            return None
        return (
            f"{self.agent}: this is about the kinds of failure that the guide leads to. For a kind that it leads away "
            f"from, only the {self.plain.n:,} plain episodes count: at most {percent(alone)}."
        )

    def probability_text(self) -> str:
        """The probability with its limits: in percent, or as it is where that would read 0.0 %."""
        p = self.probability
        if p.value is None:
            return NO_DATA
        if p.low is None or p.high is None:
            return plainly(percent(p.value))
        if p.high >= SEEN_IN_PERCENT:
            return plainly(f"{percent(p.value)} ({interval_text(p)})")
        return f"{p.value:.2g} ({p.low:.2g} to {p.high:.2g})"

    def __str__(self) -> str:
        return self.sentence()
