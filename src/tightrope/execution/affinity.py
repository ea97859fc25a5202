"""Which worker has been near a path: it has the snapshots to go on from there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tightrope.execution.rollout import Rollout

STRIDE = 8
"""A path is remembered at every so many actions."""
MOST_PLACES = 200_000
"""Some 20 MB; when there are more, all are forgotten, which costs time and changes nothing."""


class Affinity:
    """Remembers which worker played what, and divides new rollouts accordingly."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._owner: dict[int, int] = {}

    def divide(self, rollouts: Sequence[Rollout], costs: Sequence[float]) -> list[list[int]]:
        """For each worker the places of its rollouts: near what it knows, and about the same cost for each."""
        if self._workers == 1:
            return [list(range(len(rollouts)))]
        order = sorted(range(len(rollouts)), key=lambda place: path_order(rollouts[place]))
        places = [_places(rollouts[place]) for place in order]
        fair = sum(costs) / self._workers
        loads = [0.0] * self._workers
        chosen: dict[int, int] = {}
        for place, marks in zip(order, places, strict=True):
            owner = self._deepest_owner(marks)
            if owner is not None and loads[owner] + costs[place] <= 1.05 * fair:
                chosen[place] = owner
                loads[owner] += costs[place]
        worker = min(range(self._workers), key=loads.__getitem__)
        for place in order:
            if place not in chosen:
                if loads[worker] + costs[place] > fair:
                    worker = min(range(self._workers), key=loads.__getitem__)
                chosen[place] = worker
                loads[worker] += costs[place]
        for place, marks in zip(order, places, strict=True):
            self._note(marks, chosen[place])
        return [[place for place in order if chosen[place] == worker] for worker in range(self._workers)]

    def _deepest_owner(self, marks: Sequence[int]) -> int | None:
        for mark in reversed(marks):
            if mark in self._owner:
                return self._owner[mark]
        return None

    def _note(self, marks: Sequence[int], worker: int) -> None:
        if len(self._owner) > MOST_PLACES:
            self._owner.clear()
        self._owner.update(dict.fromkeys(marks, worker))


def path_order(rollout: Rollout) -> tuple[Hashable, ...]:
    """An order in which common prefixes lie side by side."""
    start = rollout.start
    return rollout.agent or "", start.seed, start.reseeds, start.actions, rollout.actions, rollout.seed


def _places(rollout: Rollout) -> list[int]:
    """Hashes of the path after 0, 8, 16, … actions."""
    path = rollout.start.actions + rollout.actions
    mark = hash((rollout.start.seed, rollout.start.reseeds))
    marks = [mark]
    for begin in range(0, len(path) - STRIDE + 1, STRIDE):
        mark = hash((mark, path[begin : begin + STRIDE]))
        marks.append(mark)
    return marks
