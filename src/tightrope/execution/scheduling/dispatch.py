"""Keeps workers busy: divides work, takes from the slow for the idle, does again what was lost with a worker."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, TypeVar

from tightrope.execution.backends.backend import AddingBackend, Backend, Report, WorkResult
from tightrope.execution.counters import Counters
from tightrope.execution.episode_error import ErrorKind
from tightrope.execution.lost_rollouts import MOST_HANGS, hopeless
from tightrope.execution.scheduling.expected import Expected

SHORTEST_CHUNK = 0.05
LONGEST_CHUNK = 2.0
"""Seconds of work given to a worker at once: enough to make messages cheap, little enough to share what is left."""
LONGEST_LOCAL_CHUNK = 10.0
"""The agent is asked for all rollouts of a chunk together, so longer is better where a lost chunk costs little: local
workers hand over each result as it comes."""
SLICES = 3
"""A worker gets this fraction of its fair share of what is left, so that pieces shrink towards the end."""
PATIENCE = 3.0
"""A worker that may stall is not waited for longer than this many times what its work should take."""
SECONDS_BETWEEN_LOOKS = 0.5
"""How often to look for workers that stall."""
KEPT_SIDE_BY_SIDE = 8
"""A local worker has at least so many of an agent's rollouts under way, as long as others wait: one that had to end the
last episode of a piece first would ask for one observation at a time, which takes a network thrice as long for each."""
EXPECTED_CHUNK = 0.1
"""Seconds of work that is not waited for: what is waited for may come before the worker is done with it."""
MOST_ATTEMPTS = 3
"""Workers that may die over one item before it is given up."""

Item = TypeVar("Item")


@dataclass(slots=True)
class WorkerPace:
    """How much a worker gets done in a second, learnt from the work it has done."""

    cost_per_second: float

    def learn(self, cost: float, seconds: float) -> None:
        """Half of what was believed, half of what was just seen; the shortest times say nothing."""
        if seconds > 0.01:
            self.cost_per_second = 0.5 * self.cost_per_second + 0.5 * cost / seconds


@dataclass(slots=True)
class Piece(Generic[Item]):
    """Work under way on one worker."""

    items: list[Item]
    work: list[Any]
    """The same, as the back end has it."""
    missing: set[int]
    cost: float
    started: float
    seconds_expected: float
    alone: bool = False
    """Whether a worker has died over it, so that nothing else is to be lost with it."""
    copied: bool = False
    spare: bool = False
    """Whether its worker had nothing else to do, so that nobody may be waiting for it."""
    seconds: float = 0.0
    """How long its worker has been at it, as far as that has told."""


class Dispatch(Generic[Item]):
    """Runs items on a back end."""

    def __init__(
        self,
        backend: Backend,
        *,
        unwrap: Callable[[list[Item]], list[Any]],
        cost: Callable[[Item], float],
        given: Callable[[int, list[Item]], None],
        given_up: Callable[[Item, ErrorKind, str], WorkResult],
        is_wanted: Callable[[Item], bool],
        kind: Callable[[Item], Hashable],
        go_side_by_side: Callable[[Item], bool],
        is_awaited: Callable[[Item], bool],
        pace: WorkerPace,
        expected: Expected[Item] | None,
        under_way: dict[int, Piece[Item]],
        counters: Counters,
        hangs: Counter[Hashable],
    ) -> None:
        self._backend = backend
        self._unwrap, self._cost, self._given_up, self._is_wanted = unwrap, cost, given_up, is_wanted
        self._given = given
        self._go_side_by_side = go_side_by_side
        self._is_awaited, self._expected = is_awaited, expected
        self._adding = backend if isinstance(backend, AddingBackend) else None
        self._pace = pace
        self._counters = counters
        self._kind, self._hangs = kind, hangs
        """What hangs together: of each kind, the items that hung when they were tried alone."""
        self._queues: list[deque[Item]] = [deque() for _ in range(backend.workers)]
        self._alone: deque[Item] = deque()
        """Items that a worker died over: each is tried on its own."""
        self._pieces = under_way
        self._deaths: dict[int, int] = {}

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting, and nothing under way but what nobody waits for."""
        return not self._alone and not any(self._queues) and not any(map(self._holds_up, self._pieces.values()))

    def _holds_up(self, piece: Piece[Item]) -> bool:
        return not piece.spare or any(self._is_awaited(piece.items[place]) for place in piece.missing)

    def enqueue(self, division: Sequence[Sequence[Item]]) -> None:
        """Add work, divided among the workers."""
        for queue, items in zip(self._queues, division, strict=True):
            queue.extend(items)

    def advance(self) -> Iterator[tuple[Item, WorkResult]]:
        """Give idle workers something to do, wait for news, and yield what came out."""
        self._drop_what_others_did()
        yield from self._without_hope()
        idle = [worker for worker in range(self._backend.workers) if worker not in self._pieces]
        # Whoever has something of their own begins with it before others take of it.
        for worker in sorted(idle, key=lambda worker: not self._queues[worker]):
            self._give(worker)
        self._add_where_few_are_left()
        if self._pieces:
            begun = perf_counter()
            idle_workers = self._backend.workers - len(self._pieces)
            yield from self.news(SECONDS_BETWEEN_LOOKS if self._backend.may_stall else None)
            self._counters.seconds_waiting += idle_workers * (perf_counter() - begun)

    def news(self, timeout: float | None) -> Iterator[tuple[Item, WorkResult]]:
        """What came out, without giving out more."""
        for report in self._backend.collect(timeout):
            yield from self._take(report)

    def _drop_what_others_did(self) -> None:
        for worker, piece in list(self._pieces.items()):
            if piece.copied and not any(self._is_wanted(piece.items[place]) for place in piece.missing):
                del self._pieces[worker]
                self._backend.replace(worker)

    def _without_hope(self) -> Iterator[tuple[Item, WorkResult]]:
        """Give up what is like too many items that hung."""
        hopeless_kinds = {kind for kind, hangs in self._hangs.items() if hangs >= MOST_HANGS}
        for queue in (*self._queues, self._alone) if hopeless_kinds else ():
            items = list(queue)
            queue.clear()
            for item in items:
                kind = self._kind(item)
                if kind in hopeless_kinds:
                    yield item, self._given_up(item, ErrorKind.HANG, hopeless(self._hangs[kind]))
                else:
                    queue.append(item)

    def _give(self, worker: int) -> None:
        alone, spare = bool(self._alone), False
        items = self._next_items(worker)
        if not items and self._expected is not None:
            items, spare = self._expected.taken_by(worker, EXPECTED_CHUNK * self._pace.cost_per_second), True
        if items:
            cost, work = self._total(items), self._unwrap(items)
            self._given(worker, items)
            expected = cost / self._pace.cost_per_second
            everything = set(range(len(items)))
            self._pieces[worker] = Piece(items, work, everything, cost, perf_counter(), expected, alone, spare=spare)
            self._backend.submit(worker, work)

    def _add_where_few_are_left(self) -> None:
        """Before a worker is done: what it has under way of an agent, it asks about together."""
        if self._adding is None:
            return
        for worker, piece in self._pieces.items():
            # Towards the end no worker keeps what another one could begin with.
            fair = sum(map(len, self._queues)) // self._backend.workers
            # Nor does it take of another's before it is idle: what that one knows, it would have to play again.
            few = len(piece.missing) < min(KEPT_SIDE_BY_SIDE, fair)
            if few and self._queues[worker] and not piece.alone:
                self._add(self._adding, worker, piece)

    def _add(self, backend: AddingBackend, worker: int, piece: Piece[Item]) -> None:
        queue = self._queues[worker]
        if not (self._go_side_by_side(piece.items[-1]) and self._go_side_by_side(queue[0])):
            return
        items = self._slice(queue)
        piece.spare = False
        self._given(worker, items)
        cost, more = self._total(items), self._unwrap(items)
        piece.missing |= set(range(len(piece.items), len(piece.items) + len(items)))
        piece.items += items
        piece.work += more
        piece.cost += cost
        piece.seconds_expected += cost / self._pace.cost_per_second
        backend.add(worker, more)

    def _next_items(self, worker: int) -> list[Item]:
        if self._alone:
            return [self._alone.popleft()]
        if not self._queues[worker]:
            self._take_from_the_richest(worker)
        if self._queues[worker]:
            return self._slice(self._queues[worker])
        return self._copy_of_a_stalled_piece() if self._backend.may_stall else []

    def _slice(self, queue: deque[Item]) -> list[Item]:
        if self._backend.workers == 1:
            items = list(queue)
            queue.clear()
            return items
        left = self._total(queue)
        pace = self._pace.cost_per_second
        longest = LONGEST_CHUNK if self._backend.may_stall else LONGEST_LOCAL_CHUNK
        wanted = min(max(left / SLICES, SHORTEST_CHUNK * pace), longest * pace)
        items, cost = [], 0.0
        while queue and cost < wanted:
            items.append(queue.popleft())
            cost += self._cost(items[-1])
        return items

    def _take_from_the_richest(self, worker: int) -> None:
        """Half of what waits there, from its end: neighbours, which are what their owner comes to last."""
        richest = max(self._queues, key=self._total)
        for _ in range((len(richest) + 1) // 2):
            self._queues[worker].appendleft(richest.pop())

    def _total(self, items: Iterable[Item]) -> float:
        return sum(map(self._cost, items))

    def _copy_of_a_stalled_piece(self) -> list[Item]:
        now = perf_counter()
        for piece in self._pieces.values():
            late = now - piece.started > PATIENCE * (piece.seconds_expected + 1.0)
            if late and not piece.copied:
                piece.copied = True
                return [piece.items[place] for place in sorted(piece.missing) if self._is_wanted(piece.items[place])]
        return []

    def _take(self, report: Report) -> Iterator[tuple[Item, WorkResult]]:
        piece = self._pieces.get(report.worker)
        if piece is None or piece.work is not report.work:
            return
        if report.counters is not None:
            self._counters.add(report.counters)
        piece.seconds += report.seconds
        for place, result in report.results:
            piece.missing.discard(place)
            yield piece.items[place], result
        if report.died is not None:
            del self._pieces[report.worker]
            yield from self._do_again(piece, report.died, hung=report.hung)
        elif report.finished:
            del self._pieces[report.worker]
            self._pace.learn(piece.cost, piece.seconds)

    def _do_again(self, piece: Piece[Item], why: str, *, hung: bool) -> Iterator[tuple[Item, WorkResult]]:
        """A first death may have been anybody's fault; items under suspicion go one by one after the second.

        A call that hangs hangs by itself, and to wait for it is dear: there it is one by one at once, and once each.
        """
        lost = [piece.items[place] for place in sorted(piece.missing) if self._is_wanted(piece.items[place])]
        if hung and len(lost) == 1:
            self._hangs[self._kind(lost[0])] += 1
            yield lost[0], self._given_up(lost[0], ErrorKind.HANG, why)
            return
        if hung:
            self._alone.extend(lost)
            return
        for item in lost:
            deaths = self._deaths[id(item)] = self._deaths.get(id(item), 0) + 1
            if deaths == 1:
                min(self._queues, key=len).append(item)
            elif deaths < MOST_ATTEMPTS or len(lost) > 1:
                self._alone.append(item)
            else:
                yield item, self._given_up(item, ErrorKind.PROCESS, f"{why}, several times")
