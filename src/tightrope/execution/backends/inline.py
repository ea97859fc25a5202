"""One worker in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from time import perf_counter

from tightrope.agents.agent import Agent
from tightrope.execution.backends.backend import Assignment, Report, WorkResult, work_through
from tightrope.execution.backends.opening import BackendRequest
from tightrope.execution.worker.worker import Worker
from tightrope.guards.watchdog import time_limited


class InlineBackend:
    """Works when it is asked for news."""

    workers = 1
    may_stall = False

    def __init__(self, worker: Worker, step_timeout: float) -> None:
        self._worker = worker
        self._step_timeout, self._limit = step_timeout, ExitStack()
        self._work: Assignment = ()
        self._under_way: Iterator[tuple[int, WorkResult]] | None = None
        self._started = 0.0

    def submit(self, worker: int, work: Assignment) -> None:
        """Begin when next asked for news."""
        self._work, self._under_way = work, work_through(self._worker, work)
        self._limit.enter_context(time_limited(self._step_timeout))
        self._started = perf_counter()

    def collect(self, timeout: float | None) -> list[Report]:
        """Work until the next result is there."""
        if self._under_way is None:
            return []
        result = next(self._under_way, None)
        if result is not None:
            return [Report(0, self._work, [result])]
        self._under_way = None
        self._limit.close()
        seconds = perf_counter() - self._started
        return [Report(0, self._work, finished=True, counters=self._worker.counters.taken(), seconds=seconds)]

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Make agents known."""
        self._worker.agents.update(agents)

    def replace(self, worker: int) -> None:
        """Close the environments; they are opened again when there is work."""
        self.close()

    def abandon(self) -> None:
        """Stop, and trust nothing that was in the middle of a step."""
        self.close()

    def close(self) -> None:
        """Close the environments."""
        self._under_way = None
        self._limit.close()
        self._worker.close()


def open_here(request: BackendRequest) -> InlineBackend:
    """The worker itself; it is one, however many are asked for."""
    return InlineBackend(request.worker(), request.step_timeout)
