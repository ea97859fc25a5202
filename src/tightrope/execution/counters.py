"""What a run has spent, and what it saved by sharing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(slots=True)
class Counters:
    """Steps, agent queries and seconds of an engine since it was made, summed over its workers."""

    episodes: int = 0
    episodes_rechecked: int = 0
    """Of these, how many were run once more and compared."""
    steps_asked: int = 0
    """Environment steps of all episodes returned, had each been played from reset."""
    steps_executed: int = 0
    """Environment steps that were played, replays included."""
    agent_queries: int = 0
    """Calls of ``agent.act``."""
    observations_answered: int = 0
    """Observations in those calls."""
    seconds_environment: float = 0.0
    seconds_snapshot: float = 0.0
    seconds_agent: float = 0.0
    seconds_waiting: float = 0.0
    """Workers that had nothing to do, while there was work."""

    @property
    def steps_saved(self) -> int:
        """Steps asked for that needed no playing, because another rollout had played them."""
        return self.steps_asked - self.steps_executed

    @property
    def mean_batch(self) -> float | None:
        """Observations per agent query; None when no agent was asked."""
        return self.observations_answered / self.agent_queries if self.agent_queries else None

    def add(self, other: Counters) -> None:
        """Count another worker's spending in."""
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))

    def taken(self) -> Counters:
        """What was counted so far; counting begins anew."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        for item in fields(self):
            setattr(self, item.name, item.default)
        return Counters(**values)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, derived ones included, for files and reports."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "steps_saved": self.steps_saved, "mean_batch": self.mean_batch}
