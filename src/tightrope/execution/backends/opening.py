"""Choosing a back end by name."""

from __future__ import annotations

from collections.abc import Mapping

from tightrope.agents.agent import Agent
from tightrope.execution.backends.backend import Backend
from tightrope.execution.backends.inline import InlineBackend
from tightrope.execution.backends.processes import ProcessBackend, available_cores
from tightrope.execution.backends.wire import Setup
from tightrope.execution.worker.worker import Worker
from tightrope.simulation import Conformance
from tightrope.tasks.task import Task


def open_backend(
    name: str,
    task: Task,
    agents: Mapping[str, Agent],
    conformance: Conformance,
    *,
    workers: int | None,
    ray_address: str | None,
    memory_limit: int,
    lanes: int | None,
    step_timeout: float,
) -> Backend:
    """The back end with workers for this task."""
    if name == "inline":
        return InlineBackend(Worker(task, agents, conformance, memory_limit=memory_limit, lanes=lanes), step_timeout)
    if name == "processes":
        workers = workers or available_cores()
        setup_here = Setup.of(task, agents, conformance, memory_limit // workers, lanes)
        return ProcessBackend(setup_here, workers, step_timeout)
    from tightrope.execution.backends.ray_cluster import open_cluster

    def setup(count: int) -> Setup:
        # The limit is one for each machine, and those of a cluster are taken to be like this one.
        return Setup.of(task, agents, conformance, memory_limit // min(count, available_cores()), lanes)

    return open_cluster(setup, workers, ray_address, step_timeout)
