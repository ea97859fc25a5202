"""What a search for failures has played, found and spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tightrope.budget import Meter
from tightrope.execution import Engine, Episode, Rollout
from tightrope.failures.moments import price
from tightrope.failures.result import Disturbance, FoundFailure
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")


@dataclass(kw_only=True)
class Ledger:
    """Everything that the search plays goes through here, so that all of it is counted."""

    engine: Engine
    agent: str
    """The agent under test, by its name in the engine."""
    seed: int
    meter: Meter
    found: list[FoundFailure] = field(default_factory=list)
    episodes: int = 0
    judged: int = 0
    failed_again: int = 0
    """Runs that failed exactly like one before, and are not found again."""
    errors: list[str] = field(default_factory=list)
    """What the episodes that raised one said."""

    def run(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        """Play, and spend what that costs."""
        episodes = self.engine.run(rollouts)
        self.meter.spend(price(self.engine, episodes))
        return episodes

    def map(
        self, work: Callable[[Task, Asked], Answered], items: Sequence[Asked], cost: Callable[[Answered], int]
    ) -> list[Answered]:
        """What the engine carries to its workers, and what ``cost`` says that each of it took."""
        answers: list[Answered] = self.engine.map(work, items)
        self.meter.spend(sum(map(cost, answers)))
        return answers

    def count(self, played: Sequence[Episode]) -> None:
        """Count episodes that were to show whether the agent fails, those that do, and what others raised."""
        self.episodes += len(played)
        self.judged += sum(episode.reached_handover and episode.error is None for episode in played)
        self.errors += [episode.error.message for episode in played if episode.error is not None]

    def note(self, episode: Episode, disturbance: Disturbance) -> bool:
        """Keep it if it failed; whether it did."""
        if episode.outcome is not Outcome.UNSAFE:
            return False
        self.found.append(FoundFailure(episode=replace(episode, keys=None), disturbance=disturbance))
        return True

    def seed_of(self, start: ActionTrace) -> int:
        """The seed of an execution that begins there now."""
        return derive_seed("failure", self.seed, self.episodes, start.id)
