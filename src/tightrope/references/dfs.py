"""Algorithm 1: depth-first search with backtracking for a way to the goal.

In a situation every action is tried in order, each ``repetitions`` times, and a sampled successor whose state key is
new is entered at once. Each key is entered once in the whole search, which cuts cycles. A situation all of whose tries
ended so is a *dead end* (the paper says explored), and so is an unsafe one; situations on the way to the goal with a
dead end among their successors are the boundary states.

Where this reads the paper's text rather than its pseudo code: every sampled successor counts, not only the first one
entered, also one that had been left through another parent; the start can be a boundary state too; and whether a
successor is goal or unsafe is looked at before its key, which makes a difference only where a lossy key gives a goal
the key of a situation met before.

Beyond the paper, the search knows which dead ends are **proven doomed**. When a situation is left, each of
its successors is terminal, or was left before, or is on the open path. It is doomed exactly if they all are unsafe or
doomed: one that leads back to the open path cannot be, because it would have to be doomed before its own ancestor. So
the verdict is final at that moment and costs one flag. A doomed situation also knows within how many steps harm
follows (its *fuse*); one met again so late that the time limit comes first is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from tightrope.budget import Meter
from tightrope.exploration.playing import paid_replays
from tightrope.exploration.sameness import Sameness
from tightrope.outcome import Outcome, StopReason
from tightrope.reference import ENDINGS, BoundaryState
from tightrope.references.open_path import Frame
from tightrope.references.reporting import ProgressLine
from tightrope.references.result import SearchStats
from tightrope.seeding import derive_seed
from tightrope.simulation import Simulator
from tightrope.tasks.task import Visit
from tightrope.trace import Action, ActionTrace

UNSAFE, CYCLE, VISITED, MERGED, STUCK, TRUNCATED, DEPTH = range(7)
"""Positions in `ENDINGS`."""

OPEN, LEFT = -2, -1
"""Standing of a key: on the open path; left without a proof. Zero or more: proven doomed, with this fuse."""

_NO_INFO: dict[str, Any] = {}


class DepthFirst:
    """One depth-first search; ``run`` it, then ask for ``trace`` and ``boundary_states``."""

    def __init__(
        self,
        simulator: Simulator,
        *,
        meter: Meter,
        stats: SearchStats,
        progress: ProgressLine,
        repetitions: int,
        deterministic: bool,
        seed: int,
        max_depth: int | None,
        time_limit: float = math.inf,
    ) -> None:
        self.simulator, self.meter, self.stats, self.progress = simulator, meter, stats, progress
        self.repetitions, self.deterministic, self.seed = repetitions, deterministic, seed
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.path: list[Visit] = []
        self._frames: list[Frame] = []
        self._standing: dict[Hashable, int] = {}
        task = simulator.task
        self._stuck, self._order = task.stuck, task.order_actions
        self._has_hooks = task.stuck is not None or task.order_actions is not None
        self._sameness = Sameness(simulator)
        self._keys_are_names = self._sameness.keys_are_names
        self._names: dict[Hashable, Hashable] = {}
        """By the key under which a situation was entered, its name."""

    def run(self) -> StopReason:
        """Search until the goal is found, everything was tried, or the budget is spent."""
        frames, meter = self._frames, self.meter
        key = self.simulator.key()
        self._enter(key, self._sameness.name(key), None)
        while frames:
            if meter.spent:
                return StopReason.BUDGET_SPENT
            frame, replayed = frames[-1], paid_replays(self.simulator)
            if frame.tried == len(frame.actions) * self.repetitions:
                self._leave()
            elif self._try(frame):
                return StopReason.GOAL_FOUND
            meter.steps += paid_replays(self.simulator) - replayed
        return StopReason.EXHAUSTED

    @property
    def trace(self) -> ActionTrace:
        """The open path as an action trace; after the goal was found, the way to it."""
        task = self.simulator.task
        actions = tuple(frame.actions[(frame.tried - 1) // self.repetitions] for frame in self._frames)
        reseeds = () if self.deterministic else tuple((i, frame.reseed) for i, frame in enumerate(self._frames))
        return ActionTrace(task.label, task.seed, actions, reseeds)

    @property
    def findings(self) -> tuple[str, ...]:
        """What came out that lowers trust; no proof rests on it."""
        return (self._sameness.refutation,) if self._sameness.refutation else ()

    @property
    def boundary_states(self) -> tuple[BoundaryState, ...]:
        """The situations on the open path with dead ends among their successors."""
        return tuple(
            BoundaryState(
                depth=depth,
                key=frame.key,
                actions=tuple(frame.troubled),
                proven=all(frame.troubled.values()),
                evidence=_evidence(frame),
                fuse=frame.fuse if self.deterministic and all(frame.troubled.values()) else None,
            )
            for depth, frame in enumerate(self._frames)
            if frame.troubled
        )

    def _try(self, frame: Frame) -> bool:
        """Sample the next action of the newest situation; True when it reached the goal."""
        simulator, stats = self.simulator, self.stats
        action = frame.actions[frame.tried // self.repetitions]
        self._stand_at(frame)
        simulator.advance(action)
        self.meter.steps += 1
        stats.steps += 1
        depth = len(self._frames)
        if depth > stats.deepest:
            stats.deepest = depth
        if not stats.steps & 63:
            self.progress.update(stats, depth)
        outcome = simulator.outcome
        if outcome is Outcome.ONGOING:
            self._arrive(frame, action)
        elif outcome is Outcome.UNSAFE:
            stats.unsafe_hits += 1
            frame.followed.append((action, outcome))
            # That time was up is no harm that follows from the situation: earlier in an episode it is none.
            self._end(frame, action, TRUNCATED if simulator.timed_out else UNSAFE, fuse=0)
        elif outcome is Outcome.TRUNCATED:
            stats.truncated += 1
            self._end(frame, action, TRUNCATED)
        return outcome is Outcome.GOAL

    def _stand_at(self, frame: Frame) -> None:
        """Put the simulator where this try begins; on stochastic tasks with randomness of its own."""
        fresh = None
        if not self.deterministic:
            fresh = frame.reseed = derive_seed("search", self.seed, frame.number, frame.tried)
        if frame.tried:
            self.stats.backtracks += 1
            assert frame.snapshot is not None
            self.simulator.load(frame.snapshot, reseed=fresh)
        elif fresh is not None:
            self.simulator.reseed(fresh)
        frame.tried += 1

    def _arrive(self, frame: Frame, action: Action) -> None:
        """Enter the situation just reached, or cut the branch because its key is known."""
        key = self.simulator.key()
        name = key if self._keys_are_names else self._sameness.name(key)
        frame.followed.append((action, name))
        standing = self._standing.get(key)
        if standing is None:
            self._enter(key, name, action)
            return
        self.stats.cycles_cut += 1
        if standing == OPEN:
            frame.loops += 1
            frame.endings[CYCLE] += 1
            frame.doomed = False
        elif self._names[key] != name:
            self._end(frame, action, MERGED)
        elif standing == LEFT or self.simulator.depth + standing > self.time_limit:
            self._end(frame, action, VISITED)
        elif self._same_continuation(name, standing):
            self._end(frame, action, UNSAFE, fuse=standing)
        else:
            self._end(frame, action, MERGED)

    def _enter(self, key: Hashable, name: Hashable, action: Action | None) -> None:
        """Put the situation just reached on the open path, unless it is cut as stuck or too deep."""
        simulator, stats = self.simulator, self.stats
        actions = simulator.available_actions()
        # Only the hooks read the info; environments may reuse its dict.
        info = dict(simulator.info) if self._has_hooks else _NO_INFO
        self.path.append(Visit(key, action, simulator.reward, info))
        self._names[key] = name
        cut = self._cut(actions)
        if cut is not None:
            self.path.pop()
            self._standing[key] = LEFT
            assert action is not None
            self._end(self._frames[-1], action, cut)
            return
        if self._order is not None:
            actions = tuple(self._order(actions, self.path, stats.backtracks))
        # The last try needs no way back, so a situation with a single one needs no snapshot.
        snapshot = simulator.save() if len(actions) * self.repetitions > 1 else None
        self._frames.append(Frame(key, stats.expansions, actions, snapshot))
        self._standing[key] = OPEN
        stats.expansions += 1

    def _cut(self, actions: tuple[Action, ...]) -> int | None:
        """Why the newest situation is not to be entered, if so; the start always is."""
        if len(self.path) == 1:
            return None
        if not actions or (self._stuck is not None and self._stuck(self.path)):
            self.stats.stuck_cut += 1
            return STUCK
        if self.max_depth is not None and len(self.path) > self.max_depth:
            self.stats.depth_cut += 1
            return DEPTH
        return None

    def _leave(self) -> None:
        """Close the newest situation: all its tries failed."""
        frame, visit = self._frames.pop(), self.path.pop()
        doomed = frame.doomed and self.deterministic
        self._standing[frame.key] = frame.fuse if doomed else LEFT
        if doomed and self._sameness.exact:
            self._sameness.remember(self._names[frame.key], frame.followed)
        if not self._frames:
            return
        parent = self._frames[-1]
        assert visit.action is not None
        parent.dead_end(visit.action, proven=doomed)
        if frame.fuse >= parent.fuse:
            parent.fuse = frame.fuse + 1
        endings = parent.endings
        for ending, count in enumerate(frame.endings):
            if count:
                endings[ending] += count

    def _end(self, frame: Frame, action: Action, ending: int, fuse: int = 0) -> None:
        """Count a branch that ended right behind this action."""
        frame.endings[ending] += 1
        frame.dead_end(action, proven=ending == UNSAFE)
        if fuse >= frame.fuse:
            frame.fuse = fuse + 1

    def _same_continuation(self, name: Hashable, fuse: int) -> bool:
        """Whether a name that was proven doomed goes on as it did; if not, nothing proven so far can be trusted."""
        before = self.simulator.counters.steps
        holds = self._sameness.holds(name, fuse)
        self.meter.steps += self.simulator.counters.steps - before
        self.stats.steps += self.simulator.counters.steps - before
        if not holds:
            self._keys_are_names = False
            self._standing.update({key: LEFT for key, standing in self._standing.items() if standing >= 0})
            for frame in self._frames:
                frame.doomed = False
                frame.troubled = dict.fromkeys(frame.troubled, False)
        return holds


def _evidence(frame: Frame) -> dict[str, int]:
    """How the branches below the dead ends ended: loops of the situation itself lie below none."""
    counts: dict[str, Any] = dict(zip(ENDINGS, frame.endings, strict=True))
    counts["cycle"] -= frame.loops
    return {ending: count for ending, count in counts.items() if count}
