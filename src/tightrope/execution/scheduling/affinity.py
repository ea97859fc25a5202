"""Which worker has been near a path: it has the snapshots to go on from there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tightrope.execution.rollout import Rollout

STRIDE = 8
"""A path is remembered at every so many actions."""
TOLERANCE = 1.05
"""A worker may get this much more than its fair share of what it knows."""
TYPICAL_LENGTH = 200
"""Steps to expect of a rollout without a limit."""
MOST_PLACES = 200_000
"""Some 20 MB; when there are more, all are forgotten, which costs time and changes nothing."""


class Affinity:
    """Remembers which worker played what, and divides new rollouts accordingly."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._owner: dict[int, int] = {}

    def divide(self, rollouts: Sequence[Rollout]) -> list[list[tuple[int, float]]]:
        """For each worker the places of its rollouts and their costs in steps.

        A rollout goes to a worker that knows most of its path, as long as all get about the same to do.
        """
        if self._workers == 1:
            return [[(place, _cost(rollout, 0)) for place, rollout in enumerate(rollouts)]]
        order = sorted(range(len(rollouts)), key=lambda place: path_order(rollouts[place]))
        marks = [_marks(rollouts[place]) for place in order]
        known = [self._deepest(path) for path in marks]
        costs = [_cost(rollouts[place], depth * STRIDE) for place, (depth, _) in zip(order, known, strict=True)]
        chosen = self._choose([owner for _, owner in known], costs)
        if len(self._owner) > MOST_PLACES:
            self._owner.clear()
        for path, worker in zip(marks, chosen, strict=True):
            self._owner.update(dict.fromkeys(path, worker))
        division: list[list[tuple[int, float]]] = [[] for _ in range(self._workers)]
        for place, cost, worker in zip(order, costs, chosen, strict=True):
            division[worker].append((place, cost))
        return division

    def _choose(self, owners: Sequence[int | None], costs: Sequence[float]) -> list[int]:
        """A worker for each: its owner while that has not too much, else in runs of neighbours to whoever has least."""
        fair = sum(costs) / self._workers
        loads = [0.0] * self._workers
        chosen: list[int | None] = [None] * len(costs)
        for place, (owner, cost) in enumerate(zip(owners, costs, strict=True)):
            if owner is not None and loads[owner] + cost <= TOLERANCE * fair:
                chosen[place] = owner
                loads[owner] += cost
        least = loads.index(min(loads))
        for place, cost in enumerate(costs):
            if chosen[place] is None:
                if loads[least] + cost > fair:
                    least = loads.index(min(loads))
                chosen[place] = least
                loads[least] += cost
        return [worker for worker in chosen if worker is not None]

    def _deepest(self, marks: Sequence[int]) -> tuple[int, int | None]:
        """The last mark on a path that somebody knows, and who."""
        for depth in range(len(marks) - 1, -1, -1):
            if marks[depth] in self._owner:
                return depth, self._owner[marks[depth]]
        return 0, None


def path_order(rollout: Rollout) -> tuple[Hashable, ...]:
    """An order in which common prefixes lie side by side."""
    start = rollout.start
    return rollout.agent or "", start.seed, start.reseeds, start.actions, rollout.actions, rollout.seed


def _cost(rollout: Rollout, known: int) -> float:
    """About how many steps a rollout takes, when so many of its path are known."""
    if rollout.agent is None:
        return 1.0 + max(0, len(rollout.start) + len(rollout.actions) - known)
    return 1.0 + max(0, len(rollout.start) - known) + (TYPICAL_LENGTH if rollout.length is None else rollout.length)


def _marks(rollout: Rollout) -> list[int]:
    """Hashes of the path after 0, 8, 16, … actions."""
    path = rollout.start.actions + rollout.actions
    mark = hash((rollout.start.seed, rollout.start.reseeds))
    marks = [mark]
    for begin in range(0, len(path) - STRIDE + 1, STRIDE):
        mark = hash((mark, path[begin : begin + STRIDE]))
        marks.append(mark)
    return marks
