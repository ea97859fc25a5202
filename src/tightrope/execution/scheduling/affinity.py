"""Which workers know a path: they have the snapshots to go on from there, and anybody else plays it again."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tightrope.execution.rollout import Rollout
from tightrope.trace import Action

STRIDE = 4
"""A path is remembered at every so many actions."""
TYPICAL_LENGTH = 200
"""Steps to expect of a rollout without a limit."""
MOST_PLACES = 400_000
"""Some 40 MB; when there are more, all are forgotten, which costs time and changes nothing."""


@dataclass(frozen=True, slots=True)
class RolloutPath:
    """The way that a rollout takes, as far as that is known beforehand."""

    marks: Sequence[int]
    """Hashes of it after 0, 4, 8, … actions."""
    length: int
    """Actions that are known."""
    more: int
    """Steps after those, and one for the rollout itself."""

    def cost(self, known: int) -> float:
        """About how many steps it takes whoever knows it up to one of its marks."""
        return float(max(0, self.length - known * STRIDE) + self.more)

    def shares(self, other: RolloutPath) -> int:
        """The last mark that two paths have in common."""
        pairs = enumerate(zip(self.marks, other.marks, strict=False))
        return next((depth for depth, (one, two) in pairs if one != two), min(len(self.marks), len(other.marks))) - 1


PATHLESS = RolloutPath((0,), 0, 1)


def paths_of(rollouts: Sequence[Rollout]) -> Iterator[RolloutPath]:
    """The path of each; neighbours often begin with the same one."""
    before: tuple[Hashable, Sequence[int]] | None = None
    for rollout in rollouts:
        start = rollout.start
        way = (start.seed, start.reseeds, start.actions, rollout.actions)
        if before is None or before[0] != way:
            before = way, _marks((start.seed, start.reseeds), start.actions + rollout.actions)
        yield RolloutPath(before[1], len(start) + len(rollout.actions), 1 + _more(rollout))


class Affinity:
    """Remembers which workers were given what.

    Args:
        workers: How many there are.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._knowing: dict[int, int] = {}
        """By mark, who was there: a bit for each worker."""

    def learn(self, worker: int, path: RolloutPath) -> None:
        """A worker is given this."""
        if self.workers > 1:
            if len(self._knowing) > MOST_PLACES:
                self._knowing.clear()
            note(self._knowing, path, worker)

    def known_to(self, worker: int, path: RolloutPath, planned: Mapping[int, int]) -> int:
        """The last mark of a path that a worker knows, or will when it has done what is planned."""
        knowing, marks, bit = self._knowing, path.marks, 1 << worker
        for depth in range(len(marks) - 1, 0, -1):
            mark = marks[depth]
            if (knowing.get(mark, 0) | planned.get(mark, 0)) & bit:
                return depth
        return 0

    def best(self, path: RolloutPath) -> tuple[int, int, int]:
        """Who knows most of a path (a bit for each worker), up to which mark, and up to which the next best does."""
        knowing, marks = self._knowing, path.marks
        best = most = 0
        for depth in range(len(marks) - 1, 0, -1):
            here = knowing.get(marks[depth], 0)
            if here and not best:
                best, most = here, depth
                if here & (here - 1):
                    return best, most, most
            elif here & ~best:
                return best, most, depth
        return best, most, 0


def note(knowing: dict[int, int], path: RolloutPath, worker: int) -> None:
    """A worker knows all of a path."""
    bit = 1 << worker
    for mark in path.marks:
        knowing[mark] = knowing.get(mark, 0) | bit


def path_order(rollout: Rollout) -> tuple[Hashable, ...]:
    """An order in which common prefixes lie side by side."""
    start = rollout.start
    return rollout.agent or "", start.seed, start.reseeds, start.actions, rollout.actions, rollout.seed


def _more(rollout: Rollout) -> int:
    if rollout.agent is None:
        return 0
    return TYPICAL_LENGTH if rollout.length is None else rollout.length


def _marks(beginning: Hashable, actions: Sequence[Action]) -> list[int]:
    mark = hash(beginning)
    marks = [mark]
    for begin in range(0, len(actions) - STRIDE + 1, STRIDE):
        mark = hash((mark, tuple(actions[begin : begin + STRIDE])))
        marks.append(mark)
    return marks
