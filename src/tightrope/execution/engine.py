"""The engine: rollouts in, episodes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.execution.naive import run_naively
from tightrope.execution.rollout import Episode, Rollout
from tightrope.simulation import open_simulator
from tightrope.tasks.task import Task


class Engine:
    """Runs rollouts of one task with named agents."""

    def __init__(
        self,
        task: Task,
        agents: Mapping[str, Agent] | None = None,
        *,
        backend: str = "inline",
        workers: int | None = None,
        **options: Any,
    ) -> None:
        self.task = task
        self.agents = dict(agents or {})
        self.deterministic = True
        self._simulator = open_simulator(task)

    def run(self, rollouts: Iterable[Rollout], *, on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Run all rollouts; ``on_episode`` sees each as it finishes, the list is in submission order."""
        episodes = []
        for rollout in rollouts:
            episode = run_naively(self._simulator, self.agents, rollout, deterministic=self.deterministic)
            if on_episode is not None:
                on_episode(episode)
            episodes.append(episode)
        return episodes

    def close(self) -> None:
        """Stop workers and close environments."""
        self._simulator.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
