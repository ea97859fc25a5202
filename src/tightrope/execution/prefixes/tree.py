"""The tree of action prefixes: what is known about situations reached from reset, and snapshots of some of them.

A path is a reset seed and labels; a label is an action, or an action before which the environment was reseeded. The
tree is made of segments, runs of steps that were played in one go; other segments branch off at any place. So a step
costs a few tens of bytes, and a known path is followed by comparing lists.

Everything in the tree can be computed again. When it outgrows its limit the least useful goes first: snapshots close to
another one on paths that were not met for long, then those paths themselves.
"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from tightrope.execution.prefixes.snapshot_sizes import Scales, snapshot_bytes
from tightrope.outcome import Outcome
from tightrope.simulation.snapshot import Snapshot
from tightrope.trace import Action

SEGMENT_BYTES = 700
"""An empty segment with its lists and its place in its parent, as tracemalloc sees it."""
STEP_BYTES = 120
"""A step's label, reward, key and position, and its link in the simulator's history."""
ROUNDS = 10
"""Enough to thin any path from every step to none."""
WIDEST_SPACING = 128
"""Old paths lose every other snapshot at a time; when fewer than one in so many would be left, they lose all."""


class Reseeded(NamedTuple):
    """A label: fresh randomness, then the action."""

    seed: int
    action: Action


Label: TypeAlias = Action | Reseeded


class Segment:
    """Steps played one after the other, beginning at index ``at`` of the parent segment."""

    __slots__ = (
        "at", "branches", "checksums", "depth", "keys", "labels", "outcome", "parent", "positions", "rewards",
        "seed", "snapshots", "spacing", "stamp", "start_key", "start_position",
    )  # fmt: skip

    def __init__(self, seed: int, parent: Segment | None, at: int) -> None:
        self.seed, self.parent, self.at = seed, parent, at
        self.depth: int = 0 if parent is None else parent.depth + at
        self.labels: list[Label] = []
        self.rewards: array[float] = array("d")
        self.keys: array[int] | None = None
        """Hashed state keys after each step, where somebody asked for them."""
        self.positions: array[float] | None = None
        self.outcome = Outcome.ONGOING
        """After the last step; before it every step is ONGOING."""
        self.branches: dict[tuple[int, Label], Segment] = {}
        self.snapshots: dict[int, Snapshot] = {}
        """By index: after so many steps of this segment."""
        self.checksums: dict[int, int] = {}
        self.spacing = 1
        self.stamp = 0
        self.start_key: int | None = None
        """Of a root only: the hashed state key at reset."""
        self.start_position: tuple[float, float] | None = None

    def outcome_at(self, index: int) -> Outcome:
        """How the episode stands after so many steps of this segment."""
        return self.outcome if index == len(self.labels) else Outcome.ONGOING


TreePoint: TypeAlias = tuple[Segment, int]
"""A situation: a segment and how many of its steps were played."""


class PrefixTree:
    """All known paths of one task in one process, within a limit of bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self.clock = 0
        self.losses = 0
        """How often something was forgotten: what was found before may be gone."""
        self.roots: dict[int, Segment] = {}
        self.begun: dict[int, int] = {}
        """When each lane that is a place in this tree began its rollout: nothing met since then is forgotten."""
        self._threshold = limit
        self._scales = Scales()

    def plant(self, seed: int) -> Segment:
        """The root of a reset seed that was not met before."""
        root = self.roots[seed] = Segment(seed, None, 0)
        root.stamp = self.clock
        self.bytes += SEGMENT_BYTES
        return root

    def descend(self, point: TreePoint, labels: Sequence[Label]) -> tuple[TreePoint, int]:
        """Follow the labels as far as they are known; return where that is and how many were followed."""
        segment, index = point
        followed, total = 0, len(labels)
        while True:
            segment.stamp = self.clock
            same = _common_length(segment.labels, index, labels, followed)
            index, followed = index + same, followed + same
            if followed == total:
                return (segment, index), followed
            branch = segment.branches.get((index, labels[followed]))
            if branch is None:
                return (segment, index), followed
            segment, index, followed = branch, 1, followed + 1

    def meet(self, point: TreePoint) -> None:
        """Somebody begins at a known situation: it and the way to it are in use."""
        self.clock += 1
        for segment, _ in self.lineage(point):
            segment.stamp = self.clock

    def child(self, point: TreePoint, label: Label) -> TreePoint | None:
        """Where one label leads, if that is known."""
        segment, index = point
        if index < len(segment.labels) and segment.labels[index] == label:
            return segment, index + 1
        branch = segment.branches.get((index, label))
        if branch is None:
            return None
        branch.stamp = self.clock
        return branch, 1

    def branch(self, point: TreePoint, label: Label) -> Segment:
        """A new segment that begins here with this label; the caller fills it."""
        segment, index = point
        new = segment.branches[index, label] = Segment(segment.seed, segment, index)
        new.stamp = self.clock
        self.bytes += SEGMENT_BYTES
        return new

    def add_step(self, point: TreePoint, label: Label, reward: float, outcome: Outcome) -> TreePoint:
        """Note one new step without key or position; return where it leads."""
        segment, index = point
        if index != len(segment.labels) or segment.keys is not None or segment.positions is not None:
            segment = self.branch(point, label)
        segment.labels.append(label)
        segment.rewards.append(reward)
        segment.outcome = outcome
        self.bytes += STEP_BYTES
        return segment, len(segment.labels)

    def keep(self, point: TreePoint, snapshot: Snapshot) -> None:
        """Remember how to come back here."""
        segment, index = point
        segment.snapshots[index] = snapshot
        self.bytes += self._weight(snapshot)

    def lineage(self, point: TreePoint) -> list[TreePoint]:
        """The segments from the root to here, each with how many of its steps are on the way."""
        segment, index = point
        way = [point]
        while segment.parent is not None:
            segment, index = segment.parent, segment.at
            way.append((segment, index))
        return way[::-1]

    def nearest_snapshot(self, point: TreePoint) -> tuple[Snapshot, TreePoint] | None:
        """The last snapshot on the way here."""
        segment, index = point
        while True:
            found = segment.snapshots.get(index)
            if found is None and segment.snapshots:
                index = max((held for held in segment.snapshots if held <= index), default=-1)
                found = segment.snapshots.get(index)
            if found is not None:
                return found, (segment, index)
            if segment.parent is None:
                return None
            segment, index = segment.parent, segment.at

    def labels_between(self, above: TreePoint, below: TreePoint) -> list[Label]:
        """The labels that lead from one situation to one below it."""
        labels: list[Label] = []
        segment, index = below
        while segment is not above[0]:
            labels[:0] = segment.labels[:index]
            if segment.parent is None:
                raise ValueError("the first situation does not lie above the second")
            segment, index = segment.parent, segment.at
        labels[:0] = segment.labels[above[1] : index]
        return labels

    def shrink_if_needed(self) -> None:
        """Drop what is least useful when the limit is reached."""
        if self.bytes <= self._threshold:
            return
        self.losses += 1
        if not self._shrunk():
            self.forget_snapshots()
            if not self.begun:
                self.clear()
        # What rollouts under way still need cannot go; it is looked at again when it has grown.
        self._threshold = max(self.limit, self.bytes * 5 // 4)

    def _shrunk(self) -> bool:
        goal = self.limit * 3 // 4
        for _ in range(ROUNDS):
            median = statistics.median_low([0, *(segment.stamp for segment in self.segments())])
            self._thin(median)
            if self._weigh_all() <= goal:
                return True
            self._forget_before(min(median, *self.begun.values()) if self.begun else median)
            if self._weigh_all() <= goal:
                return True
        return False

    def forget_snapshots(self) -> None:
        """Drop all snapshots, because the environment that could load them is gone."""
        self.losses += 1
        for segment in self.segments():
            segment.snapshots.clear()
        self._weigh_all()

    def clear(self) -> None:
        """Forget everything."""
        self.losses += 1
        gone = list(self.roots.values())
        self.roots.clear()
        _take_apart(gone)
        self._weigh_all()

    def segments(self) -> Iterator[Segment]:
        """Every segment, parents first."""
        return _with_all_below(self.roots.values())

    def _thin(self, newest: int) -> None:
        """Halve the snapshots on segments that were last met at ``newest`` or before."""
        for segment in self.segments():
            if segment.stamp > newest or not segment.snapshots:
                continue
            segment.spacing *= 2
            kept = segment.spacing if segment.spacing <= WIDEST_SPACING else None
            segment.snapshots = {
                index: snapshot
                for index, snapshot in segment.snapshots.items()
                if kept is not None and (segment.depth + index) % kept == 0
            }

    def _forget_before(self, stamp: int) -> None:
        """Forget the segments last met before ``stamp``; whoever meets a segment meets its parents, so none hangs."""
        gone = [root for root in self.roots.values() if root.stamp < stamp]
        self.roots = {seed: root for seed, root in self.roots.items() if root.stamp >= stamp}
        for segment in self.segments():
            gone += [branch for branch in segment.branches.values() if branch.stamp < stamp]
            segment.branches = {place: branch for place, branch in segment.branches.items() if branch.stamp >= stamp}
        _take_apart(gone)

    def _weigh_all(self) -> int:
        self._scales = Scales()
        self.bytes = 0
        for segment in self.segments():
            self.bytes += SEGMENT_BYTES + STEP_BYTES * len(segment.labels)
            self.bytes += sum(self._weight(snapshot) for snapshot in segment.snapshots.values())
        return self.bytes

    def _weight(self, snapshot: Snapshot) -> int:
        # The history is counted with the steps.
        return snapshot_bytes(snapshot, self._scales)


def _with_all_below(segments: Iterable[Segment]) -> Iterator[Segment]:
    waiting = list(segments)
    while waiting:
        segment = waiting.pop()
        yield segment
        waiting.extend(segment.branches.values())


def _take_apart(gone: Iterable[Segment]) -> None:
    """Parents and branches hold each other, and Python would free such rings much later than their memory is needed."""
    for segment in list(_with_all_below(gone)):
        segment.snapshots, segment.branches, segment.parent = {}, {}, None


def _common_length(known: list[Label], index: int, wanted: Sequence[Label], start: int) -> int:
    """How many labels agree from ``index`` and ``start`` on."""
    length = min(len(known) - index, len(wanted) - start)
    if length == 0:
        return 0
    left, right = known[index : index + length], wanted[start : start + length]
    if left == right:
        return length
    return next((place for place, (a, b) in enumerate(zip(left, right, strict=True)) if a != b), length)
