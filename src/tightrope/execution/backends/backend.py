"""What a back end is: numbered workers that are given work and report on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tightrope.agents.agent import Agent
from tightrope.errors import EnvironmentFailure
from tightrope.execution.counters import Counters
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.worker.todo import MoreWork, no_more
from tightrope.execution.worker.worker import Worker
from tightrope.guards.faults import misdeed
from tightrope.simulation import RandomnessMet
from tightrope.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the task and a payload, to be called by a worker."""

    function: Callable[[Task, Any], Any]
    payload: Any


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call returned, or what it raised."""

    value: Any = None
    error: Exception | None = None


Assignment: TypeAlias = Sequence[Rollout] | Sequence[Call]
WorkResult: TypeAlias = Episode | Returned


@dataclass(slots=True)
class Report:
    """What a worker has to say."""

    worker: int
    work: Assignment
    """What it was given."""
    results: list[tuple[int, WorkResult]] = field(default_factory=list)
    """Places in the work it was given, with what came out."""
    finished: bool = False
    """Whether it is free again."""
    died: str | None = None
    """Why it will say no more about this work."""
    hung: bool = False
    """Whether that is because a call did not return in time."""
    counters: Counters | None = None
    seconds: float = 0.0
    """How long the worker was at it since it was given something when idle; told at the end."""


class Backend(Protocol):
    """Workers that run in parallel; each has one piece of work at a time."""

    workers: int
    may_stall: bool
    """Whether a worker can fall silent without having died, so that idle ones should do its work as well."""

    def submit(self, worker: int, work: Assignment) -> None:
        """Give an idle worker something to do."""
        ...

    def collect(self, timeout: float | None) -> list[Report]:
        """Wait for news from any worker."""
        ...

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Make agents known to all workers."""
        ...

    def replace(self, worker: int) -> None:
        """Give up on a worker that fell silent; the next work for its number goes to a new one."""
        ...

    def abandon(self) -> None:
        """Stop all work under way; nobody wants the results."""
        ...

    def close(self) -> None:
        """Stop all workers."""
        ...


@runtime_checkable
class AddingBackend(Backend, Protocol):
    """A back end whose workers can be given more before they are done with what they have."""

    def add(self, worker: int, rollouts: Sequence[Rollout]) -> None:
        """Give a busy worker more; the caller has put it at the end of the list that was submitted."""
        ...


def work_through(worker: Worker, work: Assignment, more: MoreWork = no_more) -> Iterator[tuple[int, WorkResult]]:
    """Do a piece of work, whatever its kind; ``more``: rollouts that are added to it meanwhile."""
    if work and isinstance(work[0], Call):
        for place, call in enumerate(work):
            assert isinstance(call, Call)
            yield place, _called(worker, call)
    else:
        try:
            yield from worker.run(work, more)  # type: ignore[arg-type]
        except RandomnessMet as met:
            # All of the work is in doubt, so it does not matter in whose place this stands.
            yield 0, Returned(error=met)


def _called(worker: Worker, call: Call) -> Returned:
    started = perf_counter()
    try:
        return Returned(value=worker.call(call.function, call.payload))
    except Exception as error:
        return Returned(error=error)
    except BaseException as error:
        # As it is, it would end the process that asks for the result.
        return Returned(error=EnvironmentFailure(f"task {worker.task.label}: its code {misdeed(error)}"))
    finally:
        worker.counters.seconds_environment += perf_counter() - started
