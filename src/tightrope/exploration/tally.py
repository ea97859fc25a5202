"""Who survived how often in a situation, while it is being chosen whom to count on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tightrope.exploration.policies import Policy

RUNS_TO_CHOOSE = 16


@dataclass
class Tally:
    """What choosing has shown about a situation so far."""

    policies: dict[str, Policy | None] = field(default_factory=dict)
    """By name; None: an agent of the engine."""
    survived: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    runs: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def count(self, name: str, policy: Policy | None, survived: int, runs: int) -> None:
        """Add runs of a policy, or of an agent."""
        self.policies[name] = policy
        self.survived[name] += survived
        self.runs[name] += runs

    @property
    def settled(self) -> bool:
        """Whether somebody has survived so often, and always, that nobody can be seen to do better."""
        return any(self.survived[name] == self.runs[name] >= RUNS_TO_CHOOSE for name in self.policies)

    def best(self, count: int = 1) -> list[str]:
        """The names of those that survived most often; of equals the first tried."""
        return sorted(self.policies, key=lambda name: -(self.survived[name] + 1) / (self.runs[name] + 2))[:count]
