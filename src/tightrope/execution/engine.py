"""The engine: rollouts in, episodes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

from tightrope.agents.agent import Agent
from tightrope.display import Shown
from tightrope.errors import EnvironmentFailure, UnknownName, UsageError
from tightrope.execution.backends.backend import Backend, Call, Result, Returned
from tightrope.execution.backends.opening import BackendRequest, open_backend, require_backend
from tightrope.execution.counters import Counters
from tightrope.execution.losses import lost_episode
from tightrope.execution.prefixes.memory_limit import default_memory_limit
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.scheduling.affinity import Affinity
from tightrope.execution.scheduling.deduplication import Ledger, Ticket
from tightrope.execution.scheduling.dispatch import Dispatch, Pace
from tightrope.execution.scheduling.second_opinions import require_same, wants_second_opinion
from tightrope.guards.watchdog import limit_here, time_limited
from tightrope.seeding import stable_hash
from tightrope.settings import LIBRARY_BACKEND, ExecutionConfig
from tightrope.simulation import RandomnessMet, conformance_of, turn_stochastic
from tightrope.tasks.task import Task

T = TypeVar("T")

WINDOW = 4096
"""Rollouts looked at together: enough to find what they share, little enough to hold in memory."""
CALLS_PER_SECOND = 20.0
"""Of mapped functions, until their pace is known."""


class Engine(Shown):
    """Runs rollouts of one task with named agents.

    What comes out depends on the rollouts alone: not on back end, workers, lanes, memory or order.

    Args:
        task: Whose environments to run.
        agents: The agents by the names that rollouts use; more can be added later.
        backend: Where to work, by the names that ``ExecutionConfig`` lists; ``inline`` is this process.
        workers: How many processes; default: one for each core.
        ray_address: Address of a running Ray cluster; default: a local one is started.
        memory_limit: Bytes for the snapshots of all workers of a machine; default: a quarter of its memory, at most
            4 GiB.
        lanes: Episodes that a worker keeps going side by side; default: as many as pay off.
        step_timeout: Seconds that a step, a reset or an answer may take before its rollout becomes an error; 0: as long
            as it takes. Default: 300, or what the command line was given.
    """

    _shown = ("task", "agents", "deterministic")

    def __init__(
        self,
        task: Task,
        agents: Mapping[str, Agent] | None = None,
        *,
        backend: str = LIBRARY_BACKEND,
        workers: int | None = ExecutionConfig.workers,
        ray_address: str | None = ExecutionConfig.ray_address,
        memory_limit: int | None = None,
        lanes: int | None = None,
        step_timeout: float | None = None,
    ) -> None:
        step_timeout = limit_here(step_timeout)
        memory_limit = default_memory_limit() if memory_limit is None else memory_limit
        _check_options(backend, workers, memory_limit, lanes, step_timeout)
        self.task = task
        self.agents: dict[str, Agent] = dict(agents or {})
        self.counters = Counters()
        self.memory_limit = memory_limit
        with time_limited(step_timeout):
            self.conformance = conformance_of(task)
        self.deterministic = self.conformance.deterministic
        self._open = partial(self._opened, backend, workers, ray_address, memory_limit, lanes, step_timeout)
        self._backend = self._open()
        self._ledger = Ledger(deterministic=self.deterministic)
        self._affinity = Affinity(self._backend.workers)
        self.is_replanned = False
        """Whether whoever runs this begins again when the task turns out to be stochastic."""
        self._pace = Pace(self.conformance.steps_per_second)
        self._running = False
        self._hangs: Counter[Hashable] = Counter()
        self._found_out: dict[Hashable, Any] = {}

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Make more agents known by name; a name stands for one agent for the life of the engine."""
        new = {name: agent for name, agent in agents.items() if name not in self.agents}
        for name, agent in agents.items():
            if name not in new and self.agents[name].fingerprint != agent.fingerprint:
                raise UsageError(f"this engine has another agent named {name!r}; give one of the two another name")
        if new:
            self.agents.update(new)
            self._backend.add_agents(new)

    def run(self, rollouts: Iterable[Rollout], *, on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Run all rollouts; ``on_episode`` sees each as it finishes, the list is in submission order.

        Where the task turns out to be stochastic on the way, all are run again as such.
        """
        rollouts = list(rollouts)
        try:
            return self._all(rollouts, on_episode)
        except RandomnessMet as met:
            if self.is_replanned:
                raise
            self.turn_stochastic(met)
            return self._all(rollouts, on_episode)

    def _all(self, rollouts: Sequence[Rollout], on_episode: Callable[[Episode], None] | None) -> list[Episode]:
        episodes: dict[int, Episode] = {}
        for number, episode in self._episodes(rollouts):
            if on_episode is not None:
                on_episode(episode)
            episodes[number] = episode
        return [episodes[number] for number in range(len(episodes))]

    def stream(self, rollouts: Iterable[Rollout]) -> Iterator[Episode]:
        """Run all rollouts and yield the episodes in submission order, holding few of either at a time.

        Ends with RandomnessMet where the task turns out to be stochastic: what was yielded cannot be taken back.
        """
        early: dict[int, Episode] = {}
        expected = 0
        for number, episode in self._episodes(rollouts, held=early.__len__):
            early[number] = episode
            while expected in early:
                yield early.pop(expected)
                expected += 1

    def map(self, function: Callable[[Task, Any], Any], payloads: Iterable[Any]) -> list[Any]:
        """``function(task, payload)`` for each payload, in order; an error is raised as it was."""
        calls = [(place, Call(function, payload)) for place, payload in enumerate(payloads)]
        dispatch = self._dispatch(
            unwrap=lambda items: [call for _, call in items],
            cost=lambda item: 1.0,
            given_up=lambda item, kind, why: Returned(error=EnvironmentFailure(f"{why} (task {self.task.label})")),
            kind=lambda item: None,
            is_wanted=lambda item: item[0] not in answers,
            pace=Pace(CALLS_PER_SECOND),
        )
        answers: dict[int, Any] = {}
        dispatch.enqueue([calls[worker :: self._backend.workers] for worker in range(self._backend.workers)])
        with self._abandoning_unless_finished():
            while not dispatch.idle:
                for (place, _), result in dispatch.advance():
                    assert isinstance(result, Returned)
                    if result.error is not None:
                        raise result.error
                    answers[place] = result.value
        return [answers[place] for place in range(len(calls))]

    @contextmanager
    def replanned(self) -> Iterator[None]:
        """Inside, ``run`` raises RandomnessMet instead of running everything again by itself."""
        before, self.is_replanned = self.is_replanned, True
        try:
            yield
        finally:
            self.is_replanned = before

    def turn_stochastic(self, met: RandomnessMet) -> None:
        """Take the task for stochastic from now on, and forget what was executed once for many."""
        if self.deterministic:
            self.conformance, self.deterministic = turn_stochastic(self.task, str(met)), False
            self._backend.close()
            self._backend = self._open()
            self._ledger = Ledger(deterministic=False)
            self._affinity = Affinity(self._backend.workers)
            self._found_out.clear()

    def once(self, key: Hashable, find_out: Callable[[], T]) -> T:
        """What depends on the task and not on the agent, found out once for all who share the engine."""
        if key not in self._found_out:
            self._found_out[key] = find_out()
        found: T = self._found_out[key]
        return found

    def close(self) -> None:
        """Stop workers and close environments."""
        self._backend.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _episodes(
        self, rollouts: Iterable[Rollout], held: Callable[[], int] = lambda: 0
    ) -> Iterator[tuple[int, Episode]]:
        """Every episode with the number of its rollout, as they finish; ``held``: how many the receiver holds back."""
        numbered = enumerate(rollouts)
        dispatch = self._dispatch(
            unwrap=lambda tickets: [ticket.rollout for ticket in tickets],
            cost=lambda ticket: ticket.cost,
            given_up=lambda ticket, kind, why: lost_episode(ticket.rollout, kind, why),
            kind=lambda ticket: ticket.rollout.agent,
            is_wanted=lambda ticket: ticket.first is not None or self._ledger.is_open(ticket),
            pace=self._pace,
        )
        with self._abandoning_unless_finished():
            more = True
            while more or not dispatch.idle:
                if more and self._ledger.waiting + held() < WINDOW // 2:
                    window = list(islice(numbered, WINDOW))
                    more = len(window) == WINDOW
                    yield from self._admitted(window, dispatch)
                try:
                    for ticket, result in dispatch.advance():
                        yield from self._settled(ticket, result, dispatch)
                except KeyboardInterrupt:
                    for ticket, result in dispatch.news(0.0):
                        yield from self._settled(ticket, result, dispatch)
                    raise

    def _admitted(self, window: list[tuple[int, Rollout]], dispatch: Dispatch[Ticket]) -> Iterator[tuple[int, Episode]]:
        """Queue what must be run; yield what is known."""
        tickets = []
        for number, rollout in window:
            if rollout.agent is not None and rollout.agent not in self.agents:
                raise UnknownName("agent of this engine", rollout.agent, self.agents)
            found = self._ledger.admit(number, rollout, self.agents)
            if isinstance(found, Episode):
                yield number, self._counted(found)
            elif found is not None:
                tickets.append(found)
        division = self._affinity.divide([ticket.rollout for ticket in tickets])
        for place, cost in chain.from_iterable(division):
            tickets[place].cost = cost
        dispatch.enqueue([[tickets[place] for place, _ in share] for share in division])

    def _settled(self, ticket: Ticket, result: Result, dispatch: Dispatch[Ticket]) -> Iterator[tuple[int, Episode]]:
        if isinstance(result, Returned):
            assert result.error is not None
            raise result.error
        if ticket.first is not None:
            self.counters.episodes_rechecked += 1
            require_same(ticket.first, result)
            return
        if wants_second_opinion(result):
            self._run_again(ticket, result, dispatch)
        for number, episode in self._ledger.settle(ticket, result):
            yield number, self._counted(episode)

    def _run_again(self, ticket: Ticket, first: Episode, dispatch: Dispatch[Ticket]) -> None:
        """At the end of somebody's queue: later than before, and beside others."""
        again = Ticket(ticket.rollout, None, cost=ticket.cost, first=first)
        place = stable_hash(ticket.rollout.id) % self._backend.workers
        dispatch.enqueue([[again] if worker == place else [] for worker in range(self._backend.workers)])

    def _counted(self, episode: Episode) -> Episode:
        self.counters.episodes += 1
        self.counters.steps_asked += episode.prefix_steps + len(episode.actions)
        return episode

    def _dispatch(self, **how: Any) -> Dispatch[Any]:
        return Dispatch(self._backend, counters=self.counters, hangs=self._hangs, **how)

    @contextmanager
    def _abandoning_unless_finished(self) -> Iterator[None]:
        if self._running:
            raise UsageError("this engine is in the middle of another run; exhaust or close that stream first")
        self._running = True
        finished = False
        try:
            yield
            finished = True
        finally:
            self._running = False
            if not finished:
                self._ledger.forget_open()
                self._backend.abandon()

    def _opened(
        self,
        backend: str,
        workers: int | None,
        ray_address: str | None,
        memory_limit: int,
        lanes: int | None,
        step_timeout: float,
    ) -> Backend:
        request = BackendRequest(
            task=self.task,
            agents=self.agents,
            conformance=self.conformance,
            workers=workers,
            address=ray_address,
            memory_limit=memory_limit,
            lanes=lanes,
            step_timeout=step_timeout,
        )
        return open_backend(backend, request)


def _check_options(
    backend: str, workers: int | None, memory_limit: int, lanes: int | None, step_timeout: float
) -> None:
    require_backend(backend)
    ExecutionConfig.require(workers=workers, step_timeout=step_timeout)
    if lanes is not None and lanes < 1:
        raise UsageError(f"lanes must be 1 or more, not {lanes}; leave it out to have it chosen by measurement")
    if memory_limit < 0:
        raise UsageError(f"memory_limit is a number of bytes, 0 or more, not {memory_limit}")
