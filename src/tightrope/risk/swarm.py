"""Many episodes under way in one process, each of which can be split where it came closest to danger."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.exploration.playing import action_trace
from tightrope.outcome import Outcome
from tightrope.risk.guides import Guide
from tightrope.seeding import derive_seed, generator
from tightrope.simulation import Simulator, Snapshot, conformance_of, open_simulator
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

MOST_LANES = 32
"""Environments side by side: networks gain little from larger batches, and each takes time to open."""


Level: TypeAlias = tuple[float, int]
"""How dangerous a moment is, and how early it came: of two equally dangerous moments the earlier leaves more time for
harm. Without the second part all episodes that reach the same rung of a coarse guide would have to be replaced at
once."""
HARM: Level = (math.inf, 0)
NOWHERE: Level = (-math.inf, 0)


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment at which an episode was more dangerous than ever before: where a copy of it may begin."""

    level: Level
    snapshot: Snapshot
    memory: Any


@dataclass(slots=True)
class Path:
    """One episode as splitting sees it: its records of danger, and whether it ended unsafe."""

    root: int
    """Which of the first episodes it descends from."""
    marks: list[Mark] = field(default_factory=list)
    """Levels rise strictly: a level that was reached before is no new place to split at."""
    failed: bool = False
    trace: ActionTrace | None = None
    """Of a failed episode: how it is replayed."""
    watched: list[Any] | None = None
    """The observation of every step, when somebody learns from them."""

    @property
    def top(self) -> Level:
        """The highest level reached; beyond all levels when the episode failed."""
        if self.failed:
            return HARM
        return self.marks[-1].level if self.marks else NOWHERE

    def above(self, level: Level) -> Path:
        """The beginning of this path up to the first moment above a level, to be continued with fresh randomness.

        Where that moment is its unsafe end, nothing is left to continue: the copy has failed as well.
        """
        for place, mark in enumerate(self.marks):
            if mark.level > level:
                return Path(root=self.root, marks=self.marks[: place + 1])
        return Path(root=self.root, marks=self.marks, failed=True, trace=self.trace)


@dataclass(slots=True)
class _Lane:
    """A simulator and the path it is playing."""

    simulator: Simulator
    path: Path
    stream: np.random.Generator
    memory: Any


class Swarm:
    """Plays episodes of one agent from reset or from marks, in as many environments as the process can hold."""

    def __init__(self, task: Task, agent: Agent, guide: Guide, *, length: int | None, watch: bool = False) -> None:
        self.task, self.agent, self.guide, self.length, self.watch = task, agent, guide, length, watch
        self._conformance = conformance_of(task)
        first = open_simulator(task)
        self._simulators = [first]
        fits_elsewhere = first.snapshotter is None or self._conformance.transferable
        self._most_lanes = MOST_LANES if fits_elsewhere and not task.one_per_process else 1

    @property
    def steps(self) -> int:
        """Environment steps so far, replays included."""
        return sum(simulator.counters.steps + simulator.counters.replayed_steps for simulator in self._simulators)

    def from_resets(self, seeds: Sequence[int]) -> list[Path]:
        """A new episode for each seed: the seed decides its start and everything random in it."""
        return self._play([Path(root=number) for number in range(len(seeds))], seeds)

    def onwards(self, paths: Sequence[Path], seeds: Sequence[int]) -> list[Path]:
        """Continue each path from its last mark, with the fresh randomness of its seed."""
        return self._play(list(paths), seeds)

    def close(self) -> None:
        """Close all environments."""
        for simulator in self._simulators:
            simulator.close()

    def _play(self, paths: list[Path], seeds: Sequence[int]) -> list[Path]:
        waiting = list(zip(paths, seeds, strict=True))[::-1]
        free = self._opened(min(len(paths), self._most_lanes))
        active: list[_Lane] = []
        while waiting or active:
            begun = [self._begun(free.pop(), *waiting.pop()) for _ in range(min(len(free), len(waiting)))]
            self._mark([lane for lane in begun if not lane.path.marks])
            active += begun
            over = self._step(active)
            free += [lane.simulator for lane in over]
            active = [lane for lane in active if not any(lane is ended for ended in over)]
        return paths

    def _opened(self, count: int) -> list[Simulator]:
        while len(self._simulators) < count:
            self._simulators.append(open_simulator(self.task))
        return self._simulators[:count]

    def _begun(self, simulator: Simulator, path: Path, seed: int) -> _Lane:
        fresh = None if self._conformance.deterministic else derive_seed("risk environment", seed)
        memory = None
        if path.marks:
            simulator.load(path.marks[-1].snapshot, reseed=fresh)
            memory = path.marks[-1].memory
        else:
            simulator.reset(derive_seed("risk start", seed), reseed=fresh)
        if self.watch:
            path.watched = [copy.copy(simulator.observation)]
        return _Lane(simulator, path, generator("risk agent", seed), memory)

    def _step(self, active: list[_Lane]) -> list[_Lane]:
        """One step in every lane; those that are over."""
        answer = self.agent.act(
            [lane.simulator.observation for lane in active],
            [lane.memory for lane in active],
            [lane.stream for lane in active],
            [lane.simulator.info.get("action_mask") for lane in active],
        )
        for lane, action, memory in zip(active, answer.actions, answer.memories, strict=True):
            lane.simulator.advance(action)
            lane.memory = memory
            if lane.path.watched is not None:
                lane.path.watched.append(copy.copy(lane.simulator.observation))
        over = [lane for lane in active if lane.simulator.outcome.terminal or lane.simulator.depth == self.length]
        for lane in over:
            lane.path.failed = lane.simulator.outcome is Outcome.UNSAFE
            if lane.path.failed:
                lane.path.trace = action_trace(lane.simulator)
        self._mark([lane for lane in active if not any(lane is ended for ended in over)])
        return over

    def _mark(self, lanes: Sequence[_Lane]) -> None:
        """Remember the moments that set a record."""
        if not lanes:
            return
        levels = self.guide.levels([lane.simulator.transition for lane in lanes])
        for lane, danger in zip(lanes, levels, strict=True):
            level = float(danger), -lane.simulator.depth
            if level > lane.path.top:
                lane.path.marks.append(Mark(level, lane.simulator.save(), lane.memory))
