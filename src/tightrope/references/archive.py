"""Return, then explore: for tasks where chronological backtracking drowns.

The archive keeps, for every cell met, the shortest known way to it and, as far as memory is allowed, a snapshot there.
Again and again a cell is chosen, rarely visited and newly found ones more likely; the environment is put back there;
and random actions, each held for some steps, are played from it. Cells are the task's ``cell``, or its state keys.
(After Ecoffet et al., "First return, then explore", 2021.)
"""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from tightrope.budget import Meter
from tightrope.exploration.playing import action_trace, paid_replays
from tightrope.exploration.snapshot_shelf import SnapshotShelf, WayBack
from tightrope.outcome import Outcome, StopReason
from tightrope.references.reporting import ProgressLine
from tightrope.references.result import SearchStats
from tightrope.seeding import derive_seed, generator
from tightrope.simulation import Simulator
from tightrope.trace import Action, ActionTrace

LONGEST_EXPLORATION = 100
"""Steps of one exploration; what lies further is reached from the cells it leaves behind."""
PATIENCE = 30
"""Steps without a new or better cell after which an exploration is given up."""
LONGEST_HOLD = 10
"""Steps an action is held, at most; drawn anew each time, short ones more often."""

FRONTIER_SHARE, FEWEST_NEWEST = 0.5, 32
"""Half of the returns go to the newest twentieth of the cells: on long tasks the way on leads from there."""


class _Cell:
    """The shortest way known to a cell."""

    __slots__ = ("depth", "visits", "way")

    def __init__(self, way: WayBack, depth: int) -> None:
        self.way, self.depth, self.visits = way, depth, 0


class ArchiveSearch:
    """One archive search; ``run`` it, then ask for ``trace``. The same seed gives the same search."""

    def __init__(
        self,
        simulator: Simulator,
        *,
        meter: Meter,
        stats: SearchStats,
        progress: ProgressLine,
        deterministic: bool,
        seed: int,
        max_depth: int | None,
        memory_limit: int,
    ) -> None:
        self.simulator, self.meter, self.stats, self.progress = simulator, meter, stats, progress
        self.deterministic, self.seed = deterministic, seed
        self.max_depth = math.inf if max_depth is None else max_depth
        self._cell = "cell" if simulator.task.cell is not None else "state_key"
        self._cells: dict[Hashable, _Cell] = {}
        self._listed: list[_Cell] = []
        self._shelf = SnapshotShelf(simulator, memory_limit)
        self._rng = generator("archive", seed)

    @property
    def trace(self) -> ActionTrace:
        """The way to the situation the simulator stands in; after the goal was found, the way to it."""
        return action_trace(self.simulator)

    def run(self) -> StopReason:
        """Search until the goal is found or the budget is spent."""
        if not self.deterministic:
            self.simulator.reseed(derive_seed("archive", self.seed, "start"))
        self._visit()
        while not self.meter.spent:
            if not self._listed:
                return StopReason.EXHAUSTED
            cell = self._choose()
            cell.visits += 1
            self.stats.expansions += 1
            replayed = paid_replays(self.simulator)
            self._return_to(cell)
            self.meter.steps += paid_replays(self.simulator) - replayed
            if self._explore():
                return StopReason.GOAL_FOUND
        return StopReason.BUDGET_SPENT

    def _choose(self) -> _Cell:
        """One of all cells or of the newest, with probability proportional to 1/√(1 + visits)."""
        listed, rng = self._listed, self._rng
        newest = min(len(listed), max(FEWEST_NEWEST, len(listed) // 20))
        span = newest if rng.random() < FRONTIER_SHARE else len(listed)
        while True:
            cell = listed[-1 - int(rng.random() * span)]
            if rng.random() ** 2 * (1 + cell.visits) <= 1:
                return cell

    def _return_to(self, cell: _Cell) -> None:
        self.stats.backtracks += 1
        self._shelf.fetch(cell.way)
        if not self.deterministic:
            self.simulator.reseed(derive_seed("archive", self.seed, self.stats.expansions))

    def _explore(self) -> bool:
        """Play held random actions from here; True when they reach the goal."""
        simulator, stats = self.simulator, self.stats
        action: Action | None = None
        hold, patience = 0, PATIENCE
        for _ in range(LONGEST_EXPLORATION):
            available = simulator.available_actions()
            if hold == 0 or action not in available:
                if not available:
                    return False
                action, hold = available[int(self._rng.random() * len(available))], self._hold()
            hold -= 1
            simulator.advance(action)
            self._count()
            outcome = simulator.outcome
            if outcome is not Outcome.ONGOING:
                stats.unsafe_hits += outcome is Outcome.UNSAFE
                stats.truncated += outcome is Outcome.TRUNCATED
                return outcome is Outcome.GOAL
            patience = PATIENCE if self._visit() else patience - 1
            if patience == 0 or simulator.depth >= self.max_depth or self.meter.spent:
                return False
        return False

    def _count(self) -> None:
        stats, depth = self.stats, self.simulator.depth
        self.meter.steps += 1
        stats.steps += 1
        if depth > stats.deepest:
            stats.deepest = depth
        if not stats.steps & 63:
            self.progress.update(stats, depth)

    def _hold(self) -> int:
        """How long to hold an action: 1 … LONGEST_HOLD, log-uniform."""
        return int(np.exp(self._rng.random() * math.log(LONGEST_HOLD + 1)))

    def _visit(self) -> bool:
        """Note the cell the simulator stands in; whether it is new or was reached by a shorter way."""
        simulator = self.simulator
        key = simulator.look(self._cell)
        known = self._cells.get(key)
        if known is None:
            cell = self._cells[key] = _Cell(self._shelf.save(), simulator.depth)
            self._listed.append(cell)
            self.stats.cells += 1
            return True
        if simulator.depth < known.depth:
            self._shelf.discard(known.way)
            known.way, known.depth = self._shelf.save(), simulator.depth
            known.visits = 0
            return True
        return False
