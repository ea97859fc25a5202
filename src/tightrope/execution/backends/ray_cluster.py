"""Workers as Ray actors, on this machine or on a cluster."""

from __future__ import annotations

import os
import pickle
import re
import socket
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import cloudpickle

from tightrope.agents.agent import Agent
from tightrope.errors import UsageError, require_extra
from tightrope.execution.backends.backend import Assignment, Call, Report, Returned, work_through
from tightrope.execution.backends.opening import BackendRequest
from tightrope.execution.backends.packing import Setup, pack_agents, pack_rollouts
from tightrope.execution.backends.processes import available_cores
from tightrope.execution.episode_codec import pack_episode, unpack_episode
from tightrope.guards.watchdog import time_limited

MOST_RETRIES = 2
"""Nodes that may die under a piece of work before it is taken for the cause, and its rollouts are tried one by one."""


class Actor:
    """The worker in its actor. Ray restarts it on another node if its own dies, and sends its work there."""

    def __init__(self, setup: list[Any], step_timeout: float) -> None:
        self._ray: Any = require_extra("ray", "ray", "the Ray back end")
        self._worker = pickle.loads(self._ray.get(setup[0])).build()
        self._version, self._step_timeout = 0, step_timeout

    def work(self, version: int, agents: list[Any], content: bytes) -> bytes:
        """Do a piece of work; ``agents`` holds a reference, looked up only when there are new ones."""
        started = perf_counter()
        if version != self._version:
            self._worker.agents.update(pickle.loads(self._ray.get(agents[0])))
            self._version = version
        # An actor that cannot be interrupted ends, and its work is tried elsewhere.
        with time_limited(self._step_timeout, on_stuck=lambda what: os._exit(1)):
            results = [
                (place, result if isinstance(result, Returned) else pack_episode(result))
                for place, result in work_through(self._worker, pickle.loads(content))
            ]
        return cloudpickle.dumps(  # type: ignore[no-any-return]
            (results, self._worker.counters.taken(), perf_counter() - started)
        )


class RayBackend:
    """One actor per worker."""

    may_stall = True

    def __init__(self, ray: Any, setup: Setup, workers: int, *, step_timeout: float, started_here: bool) -> None:
        self.workers = workers
        self._step_timeout = step_timeout
        self._ray, self._started_here = ray, started_here
        # In lists, because Ray fetches references in plain sight before it starts an actor or a task.
        self._setup = [ray.put(pickle.dumps(setup))]
        self._agents: dict[str, Agent] = {}
        self._version, self._shelf = 0, [ray.put(pack_agents({}))]
        self._actors: dict[int, Any] = {}
        self._under_way: dict[Any, tuple[int, Assignment]] = {}
        self.bytes_sent = 0
        self.bytes_received = 0
        self.messages = 0

    def submit(self, worker: int, work: Assignment) -> None:
        """Send work to an actor."""
        if worker not in self._actors:
            self._actors[worker] = self._started()
        is_call = bool(work) and isinstance(work[0], Call)
        content = cloudpickle.dumps(list(work)) if is_call else pack_rollouts(work)  # type: ignore[arg-type]
        self.bytes_sent += len(content)
        self.messages += 1
        reference = self._actors[worker].work.remote(self._version, self._shelf, content)
        self._under_way[reference] = (worker, work)

    def collect(self, timeout: float | None) -> list[Report]:
        """Wait for an actor to finish."""
        if not self._under_way:
            return []
        ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=timeout)
        return [self._heard(reference) for reference in ready]

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Put agents where actors find them, also actors that are restarted later."""
        self._agents.update(agents)
        self._version += 1
        self._shelf = [self._ray.put(pack_agents(self._agents))]

    def replace(self, worker: int) -> None:
        """End an actor and forget what it was given."""
        self._under_way = {ref: given for ref, given in self._under_way.items() if given[0] != worker}
        self._ray.kill(self._actors.pop(worker))

    def abandon(self) -> None:
        """End the actors that are at work."""
        for worker in {worker for worker, _ in self._under_way.values()}:
            self.replace(worker)

    def close(self) -> None:
        """End all actors, and Ray itself if it was started here."""
        self.abandon()
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors.clear()
        if self._started_here:
            self._ray.shutdown()

    def _started(self) -> Any:
        options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": MOST_RETRIES}
        return self._ray.remote(**options)(Actor).remote(self._setup, self._step_timeout)

    def _heard(self, reference: Any) -> Report:
        worker, work = self._under_way.pop(reference)
        try:
            message = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError as error:
            self._actors.pop(worker, None)
            return Report(worker, work, died=f"{type(error).__name__}: {error}")
        self.bytes_received += len(message)
        self.messages += 1
        results, counters, seconds = pickle.loads(message)
        unpacked = [
            (place, packed if isinstance(packed, Returned) else unpack_episode(work[place], packed))
            for place, packed in results
        ]
        return Report(worker, work, unpacked, finished=True, counters=counters, seconds=seconds)


def open_cluster(request: BackendRequest) -> RayBackend:
    """Connect to a cluster, or to the one this process is connected to, or start one on this machine."""
    ray: Any = require_extra("ray", "ray", 'backend="ray"')
    started_here = not ray.is_initialized()
    if started_here:
        _connect(ray, request.address)
    count = request.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    # The memory limit is one for each machine, and those of a cluster are taken to be like this one.
    setup = request.setup(sharing=min(count, available_cores()))
    return RayBackend(ray, setup, count, step_timeout=request.step_timeout, started_here=started_here)


def _connect(ray: Any, address: str | None) -> None:
    try:
        if address is not None:
            _knock(address)
        ray.init(address=address, log_to_driver=False, include_dashboard=False if address is None else None)
    except OSError as error:
        # Ray says what went wrong only beneath its own error, at the end of a traceback.
        reason = str(error.__cause__ or error).strip().splitlines()[-1]
        raise UsageError(
            f"no Ray cluster could be reached at {address!r} ({reason}). `ray start --head` starts one and prints its "
            f"address, which 'auto' finds on the same machine; without an address Ray runs here alone"
        ) from error


def _knock(address: str) -> None:
    """Ray itself tries for minutes where nothing listens."""
    place = re.fullmatch(r"\[?(?P<host>[^/\]]+?)\]?:(?P<port>\d+)", address)
    if place is not None:
        socket.create_connection((place["host"], int(place["port"])), timeout=10).close()
