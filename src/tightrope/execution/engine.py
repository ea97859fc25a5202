"""The engine: rollouts in, episodes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError
from tightrope.execution.counters import Counters
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
        self.agents: dict[str, Agent] = {}
        self.add_agents(agents or {})
        self.deterministic = _deterministic(task)
        self.counters = Counters()
        self._simulator = open_simulator(task)

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Make more agents known by name; a name stands for one agent for the life of the engine."""
        for name, agent in agents.items():
            known = self.agents.setdefault(name, agent)
            if known.fingerprint != agent.fingerprint:
                raise UsageError(f"this engine has another agent named {name!r}; give one of the two another name")

    def run(self, rollouts: Iterable[Rollout], *, on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Run all rollouts; ``on_episode`` sees each as it finishes, the list is in submission order."""
        episodes = []
        for episode in self.stream(rollouts):
            if on_episode is not None:
                on_episode(episode)
            episodes.append(episode)
        return episodes

    def stream(self, rollouts: Iterable[Rollout]) -> Iterator[Episode]:
        """Run all rollouts, in submission order, holding few of them at a time."""
        for rollout in rollouts:
            yield run_naively(self._simulator, self.agents, rollout, deterministic=self.deterministic)

    def map(self, function: Callable[[Task, Any], Any], payloads: Iterable[Any]) -> list[Any]:
        """``function(task, payload)`` for each payload, in order; the function must be importable."""
        return [function(self.task, payload) for payload in payloads]

    def close(self) -> None:
        """Stop workers and close environments."""
        self._simulator.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def borrowed_engine(
    task: Task,
    agents: Mapping[str, Agent] | None = None,
    engine: Engine | None = None,
    backend: str = "inline",
    workers: int | None = None,
) -> Iterator[Engine]:
    """The given engine with these agents added, or one made for the occasion and closed after it."""
    if engine is not None:
        engine.add_agents(agents or {})
        yield engine
        return
    with Engine(task, agents, backend=backend, workers=workers) as own:
        yield own


def _deterministic(task: Task) -> bool:
    import tightrope.simulation as simulation

    check = getattr(simulation, "check_task", None)
    return True if check is None else bool(check(task).deterministic)
