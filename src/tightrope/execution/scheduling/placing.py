"""Who gets which rollout: whoever knows its way, as long as all have about the same to do."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from itertools import groupby

from tightrope.execution.scheduling.affinity import Affinity, RolloutPath, note

TOLERANCE = 1.05
"""A worker may get this much more than its fair share of what it knows."""
LARGEST_UNIT = 0.5
"""Of a fair share: repetitions from one start stay together up to that, since they share what follows, too."""
MOST_ASKED = 8
"""Of those who have least to do: how much of a way each knows takes time to find out, and there may be a thousand."""

Unit = list[int]
"""Places of rollouts that begin in the same way."""


def divide(affinity: Affinity, paths: Sequence[RolloutPath]) -> list[list[tuple[int, float]]]:
    """For each worker the places of its rollouts, and what each costs it; ``paths`` has common prefixes side by side.

    First everybody gets what they know best, beginning with what others would have to play most of again. What is left
    goes in runs of neighbours to whoever is done with them first.
    """
    division = _Division(affinity, paths)
    division.give_in_runs(division.give_to_who_knows(division.units()))
    return division.shares


class _Division:
    def __init__(self, affinity: Affinity, paths: Sequence[RolloutPath]) -> None:
        self._affinity, self._paths = affinity, paths
        self._loads = [0.0] * affinity.workers
        self._planned: dict[int, int] = {}
        self._best = list(map(affinity.best, paths))
        self._fair = self._least_steps() / affinity.workers
        self.shares: list[list[tuple[int, float]]] = [[] for _ in range(affinity.workers)]

    def _least_steps(self) -> float:
        """What all cost if nothing had to be played by more than one."""
        total, before = 0.0, None
        for path, (_, known, _) in zip(self._paths, self._best, strict=True):
            total += path.cost(known if before is None else max(known, path.shares(before)))
            before = path
        return total

    def units(self) -> list[Unit]:
        """Rollouts that begin in the same way, in no larger groups than can be shared out."""
        units: list[Unit] = []
        for _, places in groupby(range(len(self._paths)), key=lambda place: id(self._paths[place].marks)):
            unit: Unit = []
            size = 0
            for place in places:
                if unit and size + self._paths[place].more > LARGEST_UNIT * self._fair:
                    units.append(unit)
                    unit, size = [], 0
                unit.append(place)
                size += self._paths[place].more
            units.append(unit)
        return units

    def give_to_who_knows(self, units: Sequence[Unit]) -> list[Unit]:
        """Everybody gets what they know best until they have their share; what is left over is returned."""
        given: set[int] = set()
        for number in sorted(range(len(units)), key=lambda number: self._loss(units[number])):
            knowing, _, _ = self._best[units[number][0]]
            if knowing:
                worker = min(_members(knowing), key=self._loads.__getitem__)
                if self._load_with(units[number], worker) <= TOLERANCE * self._fair:
                    self.give(units[number], worker)
                    given.add(number)
        return [unit for number, unit in enumerate(units) if number not in given]

    def give_in_runs(self, units: Sequence[Unit]) -> None:
        """Neighbours to the same worker until it has its share, then to whoever is done with the next one first."""
        worker = None
        for unit in units:
            if worker is None or self._load_with(unit, worker) > self._fair:
                least = nsmallest(MOST_ASKED, range(self._affinity.workers), key=self._loads.__getitem__)
                worker = min(least, key=lambda one: self._load_with(unit, one))
            self.give(unit, worker)

    def give(self, unit: Unit, worker: int) -> None:
        """Put these into a worker's share."""
        costs = self._costs(unit, worker)
        self.shares[worker] += zip(unit, costs, strict=True)
        self._loads[worker] += sum(costs)
        note(self._planned, self._paths[unit[0]], worker)

    def _loss(self, unit: Unit) -> int:
        """The less, the more marks the next best worker would have to play again."""
        _, known, next_best = self._best[unit[0]]
        return next_best - known

    def _load_with(self, unit: Unit, worker: int) -> float:
        return self._loads[worker] + sum(self._costs(unit, worker))

    def _costs(self, unit: Unit, worker: int) -> list[float]:
        """The first one's prefix is played; the others begin where it did."""
        first, *others = (self._paths[place] for place in unit)
        known = self._affinity.known_to(worker, first, self._planned)
        return [first.cost(known), *(float(path.more) for path in others)]


def _members(workers: int) -> list[int]:
    return [worker for worker in range(workers.bit_length()) if workers >> worker & 1]
