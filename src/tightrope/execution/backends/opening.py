"""Choosing a back end by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from tightrope.agents.agent import Agent
from tightrope.errors import UnknownName
from tightrope.execution.backends.backend import Backend
from tightrope.execution.backends.packing import Setup
from tightrope.execution.worker.worker import Worker
from tightrope.settings import BackendName
from tightrope.simulation import Conformance
from tightrope.tasks.task import Task

BACKENDS: Mapping[BackendName, str] = {
    "inline": "tightrope.execution.backends.inline:open_here",
    "processes": "tightrope.execution.backends.processes:open_processes",
    "ray": "tightrope.execution.backends.ray_cluster:open_cluster",
}
"""Each back end and the function that opens it from a ``BackendRequest``; a library it needs is imported only then."""


@dataclass(frozen=True, kw_only=True)
class BackendRequest:
    """What a back end is asked to run."""

    task: Task
    agents: Mapping[str, Agent]
    conformance: Conformance
    workers: int | None
    """How many; None: as many as it finds room for."""
    address: str | None
    """Of machines elsewhere."""
    memory_limit: int
    """Bytes for the snapshots of all workers of one machine."""
    lanes: int | None
    step_timeout: float
    """Seconds that a call of the user's code may take; 0: as long as it takes."""

    def worker(self) -> Worker:
        """A worker in this process."""
        return Worker(self.task, self.agents, self.conformance, memory_limit=self.memory_limit, lanes=self.lanes)

    def setup(self, sharing: int) -> Setup:
        """What builds a worker in another process, on a machine whose memory so many share."""
        return Setup.of(self.task, self.agents, self.conformance, self.memory_limit // sharing, self.lanes)


def require_backend(name: str) -> None:
    """Raise unless there is a back end of this name."""
    if name not in BACKENDS:
        raise UnknownName("back end", name, BACKENDS)


def open_backend(name: BackendName, request: BackendRequest) -> Backend:
    """The back end with workers for this task."""
    module, _, function = BACKENDS[name].partition(":")
    opened: Backend = getattr(importlib.import_module(module), function)(request)
    return opened
