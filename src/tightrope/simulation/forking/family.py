"""All processes that hold environments of one task for this process: the first one, and copies kept along the ways.

A way is the list of events that lead to a situation. The copies lie in a tree of ways, so that whoever wants to come to
a situation finds the last copy before it. Every copy can be made again: the least recently used go when there are many.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary, WeakSet

from tightrope.simulation.forking.process import PATIENCE, Branch, BranchGone, Root
from tightrope.simulation.forking.serving import IDLE_SECONDS
from tightrope.simulation.snapshots import pack_snapshotters
from tightrope.tasks.task import Task
from tightrope.tasks.travelling import TravellingTask

MOST_KEPT = 24
"""Copies for each worker. One of a car race takes about 10 MB that it does not share."""

ForkedEvent = tuple[str, Hashable]
"""What was asked of an environment, a reset, a step or another seed, and with what."""


class Waypoint:
    """A situation on the way to one that is kept, or itself one."""

    __slots__ = ("branch", "event", "onwards", "parent")

    def __init__(self, parent: Waypoint | None, event: ForkedEvent | None) -> None:
        self.parent, self.event = parent, event
        self.onwards: dict[ForkedEvent, Waypoint] = {}
        self.branch: Branch | None = None


class Family:
    """The processes of one task. What is not there any more is made again when it is asked for."""

    def __init__(self, task: Task) -> None:
        self.owner = os.getpid()
        self.patience: float | None = None
        """How long copies from now on may take for an answer."""
        self._parcel = (TravellingTask.of(task), pack_snapshotters())
        self._root: Root | None = None
        self._as_new = Waypoint(None, None)
        self._kept: dict[Waypoint, None] = {}
        """The least recently used first."""
        _alive.add(self)

    @property
    def process_group(self) -> int | None:
        """What the system calls all of them together; None as long as there is none."""
        return None if self._root is None else self._root.process_id

    def copy_before(self, way: Sequence[ForkedEvent]) -> tuple[Branch, int]:
        """A new process that stands somewhere on the way, the further the better, and after how many events that is."""
        while True:
            place, depth = self._last_kept(way)
            if place is None:
                return self._copy_of_new(), 0
            assert place.branch is not None
            try:
                copy = place.branch.fork(patience=self.patience)[0]
            except BranchGone:
                self._forget(place)
                continue
            self._kept[place] = self._kept.pop(place)
            return copy, depth

    def depth_kept(self, way: Sequence[ForkedEvent]) -> int:
        """After how many events of the way a copy is kept, at the latest."""
        return self._last_kept(way)[1]

    def keep(self, branch: Branch, way: Sequence[ForkedEvent]) -> None:
        """Keep a copy of a process that stands at the end of the way."""
        place = self._as_new
        for event in way:
            onwards = place.onwards.get(event)
            if onwards is None:
                onwards = place.onwards[event] = Waypoint(place, event)
            place = onwards
        if place.branch is None:
            place.branch = branch.fork(idle=IDLE_SECONDS, patience=PATIENCE)[0]
            self._kept[place] = None
        while len(self._kept) > MOST_KEPT:
            self._forget(next(iter(self._kept)))

    def close(self) -> None:
        """End all processes."""
        for place in tuple(self._kept):
            self._forget(place)
        if self._root is not None:
            self._root.close()
        self._root = None

    def _last_kept(self, way: Sequence[ForkedEvent]) -> tuple[Waypoint | None, int]:
        found: tuple[Waypoint | None, int] = (None, 0)
        for depth, place in enumerate(self._along(way), 1):
            if place.branch is not None:
                found = place, depth
        return found

    def _along(self, way: Sequence[ForkedEvent]) -> Iterator[Waypoint]:
        place = self._as_new
        for event in way:
            onwards = place.onwards.get(event)
            if onwards is None:
                return
            place = onwards
            yield place

    def _copy_of_new(self) -> Branch:
        if self._root is not None:
            with suppress(BranchGone):
                return self._root.fork(patience=self.patience)[0]
            self._root.close()
        self._root = Root(self._parcel)
        return self._root.fork(patience=self.patience)[0]

    def _forget(self, place: Waypoint) -> None:
        self._kept.pop(place, None)
        if place.branch is not None:
            place.branch.close()
        place.branch = None
        while place.parent is not None and place.branch is None and not place.onwards:
            assert place.event is not None
            del place.parent.onwards[place.event]
            place = place.parent


_families: WeakKeyDictionary[Task, Family] = WeakKeyDictionary()
_alive: WeakSet[Family] = WeakSet()


def family_of(task: Task) -> Family:
    """The processes that hold environments of the task for this one, and not for the one it was forked from."""
    family = _families.get(task)
    if family is None or family.owner != os.getpid():
        family = _families[task] = Family(task)
    return family


def end_processes(task: Task) -> None:
    """End all processes of the task; they are started again when needed."""
    family = _families.pop(task, None)
    if family is not None and family.owner == os.getpid():
        family.close()


@atexit.register
def _end_all() -> None:
    for family in tuple(_alive):
        if family.owner == os.getpid():
            family.close()
