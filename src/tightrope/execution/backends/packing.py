"""What travels between processes: as few bytes as describe it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cloudpickle

from tightrope.agents.agent import Agent
from tightrope.errors import TightropeError, UsageError
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.worker import Worker
from tightrope.simulation import Conformance
from tightrope.simulation.snapshots import pack_snapshotters, unpack_snapshotters
from tightrope.tasks.task import Task
from tightrope.tasks.travelling import TravellingTask


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Everything a worker needs to be built in another process."""

    task: TravellingTask
    snapshotters: bytes
    agents: bytes
    conformance: Conformance
    memory_limit: int
    lanes: int | None

    @classmethod
    def of(
        cls, task: Task, agents: Mapping[str, Agent], conformance: Conformance, memory_limit: int, lanes: int | None
    ) -> Setup:
        """Describe a worker."""
        return cls(
            task=TravellingTask.of(task),
            snapshotters=pack_snapshotters(),
            agents=pack_agents(agents),
            conformance=conformance,
            memory_limit=memory_limit,
            lanes=lanes,
        )

    def build(self) -> Worker:
        """The worker, in the process that runs it."""
        task = self.task.arrived()
        unpack_snapshotters(self.snapshotters)
        agents = pickle.loads(self.agents)
        return Worker(task, agents, self.conformance, memory_limit=self.memory_limit, lanes=self.lanes)


def pack_agents(agents: Mapping[str, Agent]) -> bytes:
    """Agents for another process; those that came from files travel as path and options."""
    try:
        return cloudpickle.dumps(dict(agents))  # type: ignore[no-any-return]
    except TightropeError:
        raise
    except Exception as error:
        raise UsageError(
            f"agent {_unsendable(agents)!r} cannot be sent to a worker process ({type(error).__name__}: {error}). Give "
            f"it as package.module:factory, which each process then calls for itself, or as a file; or use the inline "
            f'back end (backend="inline", --backend inline)'
        ) from error


def _unsendable(agents: Mapping[str, Agent]) -> str:
    for name, agent in agents.items():
        try:
            cloudpickle.dumps(agent)
        except Exception:
            return name
    return ", ".join(agents)


def pack_rollouts(rollouts: Sequence[Rollout]) -> bytes:
    """Rollouts for another process."""
    return pickle.dumps(list(rollouts), protocol=pickle.HIGHEST_PROTOCOL)
