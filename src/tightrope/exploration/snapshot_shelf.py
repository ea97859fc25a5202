"""Snapshots within a limit of bytes. What does not fit is reached by replay, so the limit costs time and no result."""

from __future__ import annotations

from typing import Any, TypeAlias

from tightrope.execution.prefixes.snapshot_sizes import Scales, snapshot_bytes
from tightrope.simulation import Simulator, Snapshot

WayBack: TypeAlias = Any
"""The simulator's history of a situation."""

WEIGHED_EVERY = 64
"""Weighing takes about as long as saving, and the snapshots of one environment are alike: one in so many is weighed."""


class SnapshotShelf:
    """Keeps situations of one simulator; the snapshot that was not used for longest goes first."""

    def __init__(self, simulator: Simulator, limit: int) -> None:
        self._simulator, self._limit = simulator, limit
        self._kept: dict[int, Snapshot] = {}
        """By the identity of their ways, the latest used last."""
        self._scales = Scales()
        self._saves = self._weighed = self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def save(self) -> WayBack:
        """Keep the situation the simulator stands in; returns the way to it, which whoever wants it back holds."""
        snapshot = self._simulator.save()
        self._kept[id(snapshot.history)] = snapshot
        self._weigh(snapshot)
        while len(self._kept) * self._bytes > self._limit * self._weighed:
            del self._kept[next(iter(self._kept))]
        return snapshot.history

    def fetch(self, way: WayBack) -> None:
        """Put the simulator back to where the way leads."""
        snapshot = self._kept.pop(id(way), None)
        if snapshot is not None:
            self._kept[id(way)] = snapshot
            self._simulator.load(snapshot)
            return
        nearest = way
        while nearest is not None and id(nearest) not in self._kept:
            nearest = nearest[0]
        if nearest is not None:
            self._simulator.load(self._kept[id(nearest)])
        self._simulator.replay(way)
        self.save()

    def discard(self, way: WayBack) -> None:
        """Let go of a situation that nobody will want back."""
        self._kept.pop(id(way), None)

    def _weigh(self, snapshot: Snapshot) -> None:
        """Now and then, weigh one. The one before it is on the scales already: neighbours share parts."""
        place = self._saves % WEIGHED_EVERY
        self._saves += 1
        if place > 1:
            return
        weight = snapshot_bytes(snapshot, self._scales)
        if place == 1:
            self._bytes += weight
            self._weighed += 1
