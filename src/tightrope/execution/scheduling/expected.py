"""What will be asked for later: something to do for workers that would otherwise wait for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Expected(Generic[Item]):
    """Work that nobody waits for so far, divided among the workers.

    Args:
        workers: How many there are.
        is_left: Whether nobody has begun with an item or asked for it.
        cost: About how long an item takes.
    """

    def __init__(self, workers: int, *, is_left: Callable[[Item], bool], cost: Callable[[Item], float]) -> None:
        self._is_left, self._cost = is_left, cost
        self._queues: list[deque[Item]] = [deque() for _ in range(workers)]

    def add(self, division: Sequence[Sequence[Item]]) -> None:
        """Take in more, divided among the workers."""
        for queue, items in zip(self._queues, division, strict=True):
            queue.extend(items)

    def clear(self) -> None:
        """Forget it."""
        for queue in self._queues:
            queue.clear()

    def taken_by(self, worker: int, wanted: float) -> list[Item]:
        """Items of about this cost: of the worker's own, or else of the worker with most of them, from the end."""
        items = self._taken(self._queues[worker].popleft, self._queues[worker], wanted)
        return items or self._taken_from_the_richest(wanted)

    def _taken_from_the_richest(self, wanted: float) -> list[Item]:
        while richest := max(self._queues, key=len):
            items = self._taken(richest.pop, richest, wanted)
            if items:
                return items
        return []

    def _taken(self, take: Callable[[], Item], queue: deque[Item], wanted: float) -> list[Item]:
        items: list[Item] = []
        while queue and wanted > 0:
            item = take()
            if self._is_left(item):
                items.append(item)
                wanted -= self._cost(item)
        return items
