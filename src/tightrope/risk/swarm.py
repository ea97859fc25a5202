"""Many episodes under way in one process, each of which can be split where it came closest to danger."""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.exploration.playing import action_trace
from tightrope.outcome import Outcome
from tightrope.risk.guides import Guide
from tightrope.risk.roulette import GOES_ON, Course, Roulette
from tightrope.seeding import derive_seed, generator
from tightrope.simulation import Simulator, Snapshot, conformance_of, open_simulator, play
from tightrope.tasks.spaces import unshared_actions
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

MOST_LANES = 32
"""Environments side by side: networks gain little from larger batches, and each takes time to open."""


DangerLevel: TypeAlias = tuple[float, int]
"""How dangerous a moment is, and how early it came: of two equally dangerous moments the earlier leaves more time for
harm. Without the second part all episodes that reach the same rung of a coarse guide would have to be replaced at
once."""
HARM: DangerLevel = (math.inf, 0)
NOWHERE: DangerLevel = (-math.inf, 0)


class Spent(Exception):
    """The steps that may be made are made. For the one who ordered them; users never see it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment at which an episode was more dangerous than ever before: where a copy of it may begin."""

    level: DangerLevel
    snapshot: Snapshot
    memory: Any
    weight: float


@dataclass(slots=True)
class EpisodePath:
    """One episode as splitting sees it: its records of danger, and whether it ended unsafe."""

    root: int
    """Which of the first episodes it descends from."""
    marks: list[Mark] = field(default_factory=list)
    """Levels rise strictly: a level that was reached before is no new place to split at."""
    share: float = 1.0
    """Of an episode, where one was divided into parts that went on apart from each other."""
    weight: float = 1.0
    """How many of its kind it counts for: more than one where others like it were let go."""
    failed: bool = False
    trace: ActionTrace | None = None
    """Of a failed episode: how it is replayed."""
    watched: list[Any] | None = None
    """The observation of every step, when somebody learns from them."""
    lost_at: int | None = None
    """Of a failed one that was explained: the step of the decision after which harm was sure."""
    losing: tuple[tuple[int, float], ...] = ()
    """By depth how often even the best known player is lost from there."""

    @property
    def top(self) -> DangerLevel:
        """The highest level reached; beyond all levels when the episode failed."""
        if self.failed:
            return HARM
        return self.marks[-1].level if self.marks else NOWHERE

    def mark_above(self, level: DangerLevel) -> Mark | None:
        """The first moment above a level; None where that is its unsafe end."""
        place = bisect_right(self.marks, level, key=lambda mark: mark.level)
        return self.marks[place] if place < len(self.marks) else None

    def counted_above(self, level: DangerLevel) -> float:
        """How many episodes it counted for at its first moment above a level, however it went on."""
        mark = self.mark_above(level)
        return self.share * (self.weight if mark is None else mark.weight)

    def above(self, level: DangerLevel) -> EpisodePath:
        """The beginning of this path up to the first moment above a level, to be continued with fresh randomness."""
        place = bisect_right(self.marks, level, key=lambda mark: mark.level)
        marks = self.marks[: place + 1]
        return EpisodePath(root=self.root, marks=marks, share=self.share, weight=marks[-1].weight)


@dataclass(slots=True)
class _Lane:
    """A simulator and the path it is playing."""

    simulator: Simulator
    path: EpisodePath
    stream: np.random.Generator
    memory: Any
    course: Course
    wheel: np.random.Generator | None = None
    """Decides, once, whether the path goes on when it is far back; None: it goes on."""


class Swarm:
    """Plays episodes of one agent from reset or from marks, in as many environments as the process can hold.

    Args:
        task: What is played.
        agent: Who plays.
        guide: Says how dangerous each moment is.
        length: Of an episode, at most; None: until it ends.
        watch: Keep what is seen in each path.
        roulette: Says which paths may be let go; None: none.
        courses: Keep how dangerous each path was, step by step.
        most_steps: `Spent` is raised where the next round would be beyond them.
    """

    def __init__(
        self,
        task: Task,
        agent: Agent,
        guide: Guide,
        *,
        length: int | None,
        watch: bool = False,
        roulette: Roulette | None = None,
        courses: bool = False,
        most_steps: float = math.inf,
    ) -> None:
        self.most_steps = most_steps
        self.task, self.agent, self.guide, self.length, self.watch = task, agent, guide, length, watch
        self.roulette = roulette
        self.courses: list[Course] | None = [] if courses else None
        self._conformance = conformance_of(task)
        first = open_simulator(task)
        self._simulators = [first]
        fits_elsewhere = first.snapshotter is None or self._conformance.transferable
        self._most_lanes = MOST_LANES if fits_elsewhere and not task.one_per_process else 1

    @property
    def steps(self) -> int:
        """Environment steps so far, replays included."""
        return sum(simulator.counters.steps + simulator.counters.replayed_steps for simulator in self._simulators)

    def from_resets(self, seeds: Sequence[int]) -> list[EpisodePath]:
        """A new episode for each seed: the seed decides its start and everything random in it."""
        return self._play([EpisodePath(root=number) for number in range(len(seeds))], seeds)

    def onwards(self, paths: Sequence[EpisodePath], seeds: Sequence[int]) -> list[EpisodePath]:
        """Continue each path from its last mark, with the fresh randomness of its seed."""
        return self._play(list(paths), seeds)

    def replayed(self, trace: ActionTrace) -> EpisodePath:
        """A stored episode again, watched."""
        simulator, path = self._simulators[0], EpisodePath(root=0, watched=[])
        for _ in play(simulator, trace):
            path.watched.append(copy.copy(simulator.observation))  # type: ignore[union-attr]
        path.failed = simulator.outcome is Outcome.UNSAFE
        return path

    def close(self) -> None:
        """Close all environments."""
        for simulator in self._simulators:
            simulator.close()

    def _play(self, paths: list[EpisodePath], seeds: Sequence[int]) -> list[EpisodePath]:
        waiting = list(zip(paths, seeds, strict=True))[::-1]
        free = self._opened(min(len(paths), self._most_lanes))
        active: list[_Lane] = []
        while waiting or active:
            if self.steps + len(active) + min(len(free), len(waiting)) > self.most_steps:
                raise Spent
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

    def _begun(self, simulator: Simulator, path: EpisodePath, seed: int) -> _Lane:
        fresh = None if self._conformance.deterministic else derive_seed("risk environment", seed)
        lane = _Lane(simulator, path, generator("risk agent", seed), None, Course([], first=not path.marks))
        if path.marks:
            simulator.load(path.marks[-1].snapshot, reseed=fresh)
            lane.memory = path.marks[-1].memory
            lane.course.dangers.append(path.marks[-1].level[0])
            # Once is enough: weights that multiply would let a few episodes carry the number.
            if self.roulette is not None and path.weight == 1:
                lane.wheel = generator("risk roulette", seed)
        else:
            simulator.reset(derive_seed("risk start", seed), reseed=fresh)
        if self.watch:
            path.watched = [copy.copy(simulator.observation)]
        if self.courses is not None:
            self.courses.append(lane.course)
        return lane

    def _step(self, active: list[_Lane]) -> list[_Lane]:
        """One step in every lane; those that are over."""
        answer = self.agent.act(
            [lane.simulator.observation for lane in active],
            [lane.memory for lane in active],
            [lane.stream for lane in active],
            [lane.simulator.info.get("action_mask") for lane in active],
        )
        for lane, action, memory in zip(active, unshared_actions(answer.actions), answer.memories, strict=True):
            lane.simulator.advance(action)
            lane.memory = memory
            if lane.path.watched is not None:
                lane.path.watched.append(copy.copy(lane.simulator.observation))
        over = [lane for lane in active if lane.simulator.outcome.terminal or lane.simulator.depth == self.length]
        for lane in over:
            lane.path.failed = lane.simulator.outcome is Outcome.UNSAFE
            if lane.path.failed:
                lane.path.trace = action_trace(lane.simulator)
        return over + self._mark([lane for lane in active if not any(lane is ended for ended in over)])

    def _mark(self, lanes: Sequence[_Lane]) -> list[_Lane]:
        """Remember the moments that set a record; the lanes that are let go, being far back from theirs."""
        if not lanes:
            return []
        levels = self.guide.levels([lane.simulator.transition for lane in lanes])
        let_go = []
        for lane, danger in zip(lanes, map(float, levels), strict=True):
            lane.course.dangers.append(danger)
            level, path = (danger, -lane.simulator.depth), lane.path
            if level > path.top:
                path.marks.append(Mark(level, lane.simulator.save(), lane.memory, path.weight))
            elif self._let_go(lane, path.top[0], danger):
                let_go.append(lane)
        return let_go

    def _let_go(self, lane: _Lane, record: float, danger: float) -> bool:
        if lane.wheel is None or self.roulette is None or not self.roulette.far_back(record, danger):
            return False
        goes_on = lane.wheel.random() < GOES_ON
        lane.path.weight /= GOES_ON
        lane.wheel = None
        return not goes_on
