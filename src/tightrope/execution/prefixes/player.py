"""Plays paths of the prefix tree on one simulator, stepping only where nobody has stepped before."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.tree import STEP_BYTES, Label, PrefixTree, Reseeded, Segment, TreePoint
from tightrope.execution.worker.recording import Wanted, key_hash, position_of
from tightrope.simulation.history import Reseed
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshot import Snapshot


class TreePlayer:
    """Owns a simulator and the tree, and knows where in the tree the simulator stands."""

    def __init__(self, simulator: Simulator, tree: PrefixTree, spacing: int | None, counters: Counters) -> None:
        self.simulator = simulator
        self.tree = tree
        self.counters = counters
        self.at: TreePoint | None = None
        """Where the simulator stands; None: elsewhere."""
        self.spacing = spacing
        """Steps between snapshots; None: situations are put back by replay."""
        self.before_moving: Callable[[], None] = _nothing
        """Called before the simulator is moved, for whoever borrowed it."""

    def root(self, seed: int) -> TreePoint:
        """The situation after reset."""
        root = self.tree.roots.get(seed)
        if root is None:
            self.before_moving()
        return (self._plant(seed) if root is None else root), 0

    def reach(self, seed: int, labels: Sequence[Label], wanted: Wanted) -> tuple[TreePoint, int]:
        """Make the path known, as far as it goes; return its end and the number of steps to there."""
        self.before_moving()
        self.tree.clock += 1
        self.tree.shrink_if_needed()
        root = self.root(seed)
        point, played = self.tree.descend(root, labels)
        if wanted.keys or wanted.positions:
            self._complete(point, wanted)
        if played < len(labels) and not point[0].outcome_at(point[1]).terminal:
            self.go(point)
            point = self._explore(point, labels[played:], wanted)
            played = point[0].depth + point[1]
        return point, played

    def go(self, point: TreePoint) -> None:
        """Bring the simulator to a known situation."""
        if self.at is not None and self.at[0] is point[0] and self.at[1] == point[1]:
            return
        self.before_moving()
        if self.simulator.leaps:
            self._leap(point)
            return
        above = self._closest_start(point)
        started = perf_counter()
        self.at = None
        for label in self.tree.labels_between(above, point):
            self._step(label)
        self.counters.seconds_environment += perf_counter() - started
        self.at = point

    def _leap(self, point: TreePoint) -> None:
        way = self.tree.lineage(point)
        stands = self.at is not None and self._on_the_way(self.at, point, None)
        standing = self.at[0].depth + self.at[1] if stands and self.at is not None else None
        labels = self.tree.labels_between((way[0][0], 0), point)
        started = perf_counter()
        self.at = None
        self.simulator.leap(way[0][0].seed, *_events(labels, standing))
        self.counters.seconds_environment += perf_counter() - started
        self.at = point

    def save_here(self) -> Snapshot:
        """A snapshot of where the simulator stands, kept in the tree."""
        assert self.at is not None
        held = self.at[0].snapshots.get(self.at[1])
        return self._save_at(self.at) if held is None else held

    def _save_at(self, point: TreePoint) -> Snapshot:
        started = perf_counter()
        snapshot = self.simulator.save()
        if self.simulator.snapshotter is not None:
            self.tree.keep(point, snapshot)
        self.counters.seconds_snapshot += perf_counter() - started
        return snapshot

    def checksum(self, point: TreePoint) -> int:
        """The hashed state key of a known situation."""
        segment, index = point
        if segment.parent is None and index == 0 and segment.start_key is not None:
            return segment.start_key
        if segment.keys is not None and index > 0:
            return segment.keys[index - 1]
        if index not in segment.checksums:
            self.go(point)
            segment.checksums[index] = key_hash(self.simulator)
        return segment.checksums[index]

    def _plant(self, seed: int) -> Segment:
        self._reset(seed)
        root = self.tree.plant(seed)
        root.start_key = key_hash(self.simulator)
        if self.simulator.task.position is not None:
            root.start_position = position_of(self.simulator)
        self.at = (root, 0)
        return root

    def _reset(self, seed: int) -> None:
        started = perf_counter()
        self.at = None
        self.simulator.reset(seed)
        self.counters.seconds_environment += perf_counter() - started

    def _closest_start(self, point: TreePoint) -> TreePoint:
        """Put the simulator at the last situation before ``point`` that it can get at without stepping."""
        found = self.tree.nearest_snapshot(point)
        if self.at is not None and self._on_the_way(self.at, point, found):
            return self.at
        if found is None:
            return self._back_to_root(point)
        started = perf_counter()
        self.at = None
        self.simulator.load(found[0])
        self.counters.seconds_snapshot += perf_counter() - started
        return found[1]

    def _back_to_root(self, point: TreePoint) -> TreePoint:
        root = self.tree.lineage(point)[0][0]
        self._reset(root.seed)
        self.at = (root, 0)
        # This is at least the second visit, so there will be more.
        self.save_here()
        return root, 0

    def _on_the_way(self, here: TreePoint, point: TreePoint, found: tuple[Snapshot, TreePoint] | None) -> bool:
        depth = here[0].depth + here[1]
        if found is not None and found[1][0].depth + found[1][1] > depth:
            return False
        return any(segment is here[0] and here[1] <= index for segment, index in self.tree.lineage(point))

    def _explore(self, point: TreePoint, labels: Sequence[Label], wanted: Wanted) -> TreePoint:
        """Play new steps from where the simulator stands, until a terminal situation or the last label."""
        segment = self.tree.branch(point, labels[0])
        segment.keys = array("Q") if wanted.keys else None
        segment.positions = array("d") if wanted.positions else None
        saving, started = self.counters.seconds_snapshot, perf_counter()
        self.at = None
        try:
            self._fill(segment, labels, wanted)
        except BaseException:
            del point[0].branches[point[1], labels[0]]
            raise
        self.at = (segment, len(segment.labels))
        self.tree.bytes += STEP_BYTES * len(segment.labels)
        self.counters.seconds_environment += perf_counter() - started - (self.counters.seconds_snapshot - saving)
        return self.at

    def _fill(self, segment: Segment, labels: Sequence[Label], wanted: Wanted) -> None:
        simulator, spacing, depth = self.simulator, self.spacing, segment.depth
        for index, label in enumerate(labels, 1):
            reward = self._step(label)
            segment.labels.append(label)
            segment.rewards.append(reward)
            self._note(segment, wanted)
            if simulator.outcome.terminal:
                break
            if spacing and (depth + index) % spacing == 0:
                self._save_at((segment, index))
        segment.outcome = simulator.outcome

    def _step(self, label: Label) -> float:
        if isinstance(label, Reseeded):
            self.simulator.reseed(label.seed)
            label = label.action
        return self.simulator.advance(label)

    def _note(self, segment: Segment, wanted: Wanted) -> None:
        if segment.keys is not None and wanted.keys:
            segment.keys.append(key_hash(self.simulator))
        if segment.positions is not None and wanted.positions:
            segment.positions.extend(position_of(self.simulator))

    def _complete(self, point: TreePoint, wanted: Wanted) -> None:
        """Play known segments again whose keys or positions nobody had asked for."""
        for segment, _ in self.tree.lineage(point):
            missing = Wanted(wanted.keys and segment.keys is None, wanted.positions and segment.positions is None)
            if segment.labels and (missing.keys or missing.positions):
                self._play_again(segment, missing)

    def _play_again(self, segment: Segment, missing: Wanted) -> None:
        self.go((segment, 0) if segment.parent is None else (segment.parent, segment.at))
        known = segment.keys, segment.positions
        segment.keys = array("Q") if missing.keys else segment.keys
        segment.positions = array("d") if missing.positions else segment.positions
        started = perf_counter()
        self.at = None
        try:
            for label in segment.labels:
                self._step(label)
                self._note(segment, missing)
        except BaseException:
            segment.keys, segment.positions = known
            raise
        self.at = (segment, len(segment.labels))
        self.counters.seconds_environment += perf_counter() - started


def _events(labels: Sequence[Label], standing: int | None) -> tuple[list[Any], int | None]:
    """Labels as a simulator's events; and after how many of these it stands that has so many labels behind it."""
    events: list[Any] = []
    behind = None if standing is None else 0
    for number, label in enumerate(labels, 1):
        events += [Reseed(label.seed), label.action] if isinstance(label, Reseeded) else [label]
        if number == standing:
            behind = len(events)
    return events, behind


def _nothing() -> None:
    pass
