"""Rollouts and functions on one back end: divided among its workers, each executed once, settled as they finish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.errors import EnvironmentFailure, UnknownName, UsageError
from tightrope.execution.backends.backend import Backend, Call, Returned, WorkResult
from tightrope.execution.counters import Counters
from tightrope.execution.lost_rollouts import lost_episode
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.scheduling.affinity import Affinity, path_order, paths_of
from tightrope.execution.scheduling.deduplication import Ticket, WaitingList
from tightrope.execution.scheduling.dispatch import Dispatch, Piece, WorkerPace
from tightrope.execution.scheduling.expected import Expected
from tightrope.execution.scheduling.placing import divide
from tightrope.execution.scheduling.second_opinions import require_same, wants_second_opinion
from tightrope.seeding import stable_hash
from tightrope.tasks.task import Task

WINDOW = 4096
"""Rollouts looked at together: enough to find what they share, little enough to hold in memory."""
CALLS_PER_SECOND = 20.0
"""Of mapped functions, until their pace is known."""


class Runner:
    """Runs rollouts and functions on one back end at a time.

    Args:
        agents: The agents by the names that rollouts use, as they are added.
        steps_per_second: Of the task, until its pace is known.
    """

    backend: Backend

    def __init__(self, agents: Mapping[str, Agent], *, steps_per_second: float) -> None:
        self.counters = Counters()
        self._agents = agents
        self._pace = WorkerPace(steps_per_second)
        self._running = False
        self._hangs: Counter[Hashable] = Counter()

    def begin(self, backend: Backend, *, deterministic: bool) -> None:
        """Work there from now on, with nothing executed yet; ``deterministic``: equal rollouts are executed once."""
        self.backend = backend
        self._waiting_list = WaitingList(deterministic=deterministic)
        self._affinity = Affinity(backend.workers)
        self._expected = Expected[Ticket](
            backend.workers, is_left=self._waiting_list.is_left, cost=lambda ticket: ticket.cost
        )
        self._under_way: dict[int, Piece[Ticket]] = {}
        """By worker; between two jobs, what nobody waits for."""

    def expect(self, rollouts: Iterable[Rollout]) -> None:
        """These will be asked for: something to do for workers that would wait. One alone never waits for others."""
        if self.backend.workers > 1:
            found = [self._waiting_list.expect(self._known(rollout), self._agents) for rollout in rollouts]
            self._expected.add(self._divided([ticket for ticket in found if ticket is not None]))

    def episodes(
        self, rollouts: Iterable[Rollout], held: Callable[[], int] = lambda: 0
    ) -> Iterator[tuple[int, Episode]]:
        """Every episode with the number of its rollout, as they finish; ``held``: how many the receiver holds back."""
        numbered = enumerate(rollouts)
        dispatch = self._rollout_dispatch(self._expected)
        with self._abandoning_unless_finished():
            more = True
            while more or not dispatch.idle:
                if more and self._waiting_list.waiting + held() < WINDOW // 2:
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

    def map(
        self,
        task: Task,
        function: Callable[[Task, Any], Any],
        payloads: Iterable[Any],
        on_answer: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """``function(task, payload)`` for each payload, in order; an error is raised as it was.

        ``on_answer`` is told how many are answered, each time that some are.
        """
        calls = [(place, Call(function, payload)) for place, payload in enumerate(payloads)]
        dispatch = self._dispatch(
            unwrap=lambda items: [call for _, call in items],
            cost=lambda item: 1.0,
            given=lambda worker, items: None,
            given_up=lambda item, kind, why: Returned(error=EnvironmentFailure(f"{why} (task {task.label})")),
            kind=lambda item: None,
            go_side_by_side=lambda item: False,
            is_wanted=lambda item: item[0] not in answers,
            is_awaited=lambda item: True,
            pace=WorkerPace(CALLS_PER_SECOND),
            expected=None,
            under_way={},
        )
        answers: dict[int, Any] = {}
        dispatch.enqueue([calls[worker :: self.backend.workers] for worker in range(self.backend.workers)])
        with self._abandoning_unless_finished():
            self._finish_what_is_under_way()
            while not dispatch.idle:
                for (place, _), result in dispatch.advance():
                    assert isinstance(result, Returned)
                    if result.error is not None:
                        raise result.error
                    answers[place] = result.value
                if on_answer is not None:
                    on_answer(len(answers))
        return [answers[place] for place in range(len(calls))]

    def _admitted(self, window: list[tuple[int, Rollout]], dispatch: Dispatch[Ticket]) -> Iterator[tuple[int, Episode]]:
        """Queue what must be run; yield what is known."""
        tickets = []
        for number, rollout in window:
            found = self._waiting_list.admit(number, self._known(rollout), self._agents)
            if isinstance(found, Episode):
                yield number, self._counted(found)
            elif found is not None:
                tickets.append(found)
        dispatch.enqueue(self._divided(tickets))

    def _known(self, rollout: Rollout) -> Rollout:
        """The rollout, if its agent is known."""
        if rollout.agent is not None and rollout.agent not in self._agents:
            raise UnknownName("agent of this engine", rollout.agent, self._agents)
        return rollout

    def _divided(self, tickets: list[Ticket]) -> list[list[Ticket]]:
        """To each worker what it gets, with what that costs."""
        if self.backend.workers == 1:
            return [tickets]
        tickets.sort(key=lambda ticket: path_order(ticket.rollout))
        for ticket, path in zip(tickets, paths_of([ticket.rollout for ticket in tickets]), strict=True):
            ticket.path = path
        division = divide(self._affinity, [ticket.path for ticket in tickets])
        for place, cost in chain.from_iterable(division):
            tickets[place].cost = cost
        return [[tickets[place] for place, _ in share] for share in division]

    def _given(self, worker: int, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            ticket.begun = True
            self._affinity.learn(worker, ticket.path)

    def _settled(self, ticket: Ticket, result: WorkResult, dispatch: Dispatch[Ticket]) -> Iterator[tuple[int, Episode]]:
        if isinstance(result, Returned):
            assert result.error is not None
            raise result.error
        if ticket.first is not None:
            self.counters.episodes_rechecked += ticket.is_to_be_compared
            ticket.compared = True
            require_same(ticket.first, result)
            return
        if wants_second_opinion(result):
            self._run_again(ticket, result, dispatch)
        for number, episode in self._waiting_list.settle(ticket, result):
            yield number, self._counted(episode)

    def _run_again(self, ticket: Ticket, first: Episode, dispatch: Dispatch[Ticket]) -> None:
        """At the end of somebody's queue: later than before, and beside others."""
        again = Ticket(ticket.rollout, None, path=ticket.path, cost=ticket.cost, first=first)
        place = stable_hash(ticket.rollout.id) % self.backend.workers
        dispatch.enqueue([[again] if worker == place else [] for worker in range(self.backend.workers)])

    def _counted(self, episode: Episode) -> Episode:
        self.counters.episodes += 1
        self.counters.steps_asked += episode.prefix_steps + len(episode.actions)
        return episode

    def _finish_what_is_under_way(self) -> None:
        """Workers that do what nobody waits for are to be free for something else."""
        dispatch = self._rollout_dispatch(None)
        while self._under_way or not dispatch.idle:
            for ticket, result in dispatch.advance():
                for _ in self._settled(ticket, result, dispatch):
                    raise AssertionError("between two jobs nobody waits for anything")

    def _rollout_dispatch(self, expected: Expected[Ticket] | None) -> Dispatch[Ticket]:
        return self._dispatch(
            unwrap=lambda tickets: [ticket.rollout for ticket in tickets],
            cost=lambda ticket: ticket.cost,
            given=self._given,
            given_up=lambda ticket, kind, why: lost_episode(ticket.rollout, kind, why),
            kind=lambda ticket: ticket.rollout.agent,
            go_side_by_side=lambda ticket: ticket.rollout.agent is not None,
            is_wanted=lambda ticket: ticket.is_to_be_compared or self._waiting_list.is_open(ticket),
            is_awaited=lambda ticket: ticket.is_awaited,
            pace=self._pace,
            expected=expected,
            under_way=self._under_way,
        )

    def _dispatch(self, **how: Any) -> Dispatch[Any]:
        return Dispatch(self.backend, counters=self.counters, hangs=self._hangs, **how)

    @contextmanager
    def _abandoning_unless_finished(self) -> Iterator[None]:
        if self._running:
            raise UsageError("this engine is still running another job; finish or close that stream first")
        self._running = True
        finished = False
        try:
            yield
            finished = True
        finally:
            self._running = False
            if not finished:
                self._waiting_list.forget_open()
                self._expected.clear()
                self._under_way.clear()
                self.backend.abandon()
