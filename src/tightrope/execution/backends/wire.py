"""What travels between processes: as few bytes as describe it."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.worker import Worker
from tightrope.simulation import Conformance
from tightrope.tasks.registry import make_task
from tightrope.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Everything a worker needs to be built in another process."""

    task: bytes
    """Pickled by cloudpickle; empty when ``name`` and ``options`` say it all."""
    name: str
    options: Mapping[str, Any]
    agents: bytes
    conformance: Conformance
    memory_limit: int
    lanes: int | None
    paths: tuple[str, ...]
    """Where modules are imported from here, so that the other process finds the same ones."""

    @classmethod
    def of(
        cls, task: Task, agents: Mapping[str, Agent], conformance: Conformance, memory_limit: int, lanes: int | None
    ) -> Setup:
        """Describe a worker."""
        return cls(
            task=_packed_task(task),
            name=task.name,
            options=dict(task.options),
            agents=pack_agents(agents),
            conformance=conformance,
            memory_limit=memory_limit,
            lanes=lanes,
            paths=tuple(sys.path),
        )

    def build(self) -> Worker:
        """The worker, in the process that runs it."""
        sys.path.extend(path for path in self.paths if path not in sys.path)
        task = pickle.loads(self.task) if self.task else make_task(self.name, **self.options)
        agents = pickle.loads(self.agents)
        return Worker(task, agents, self.conformance, memory_limit=self.memory_limit, lanes=self.lanes)


def pack_agents(agents: Mapping[str, Agent]) -> bytes:
    """Agents for another process; those that came from files travel as path and options."""
    try:
        return cloudpickle.dumps(dict(agents))  # type: ignore[no-any-return]
    except Exception as error:
        raise UsageError(
            f"an agent cannot be sent to a worker process ({type(error).__name__}: {error}); load it from a file with "
            f'tightrope.load_agent, or use backend="inline"'
        ) from error


def _packed_task(task: Task) -> bytes:
    try:
        return cloudpickle.dumps(task)  # type: ignore[no-any-return]
    except Exception as error:
        if task.registered:
            return b""
        raise UsageError(
            f"task {task.label} cannot be sent to a worker process ({type(error).__name__}: {error}); make_env, goal, "
            f"unsafe and state_key must be functions that can be pickled, or register the task by name "
            f'(tightrope.register_task), or use backend="inline"'
        ) from error


def pack_rollouts(rollouts: Sequence[Rollout]) -> bytes:
    """Rollouts for another process."""
    return pickle.dumps(list(rollouts), protocol=pickle.HIGHEST_PROTOCOL)
