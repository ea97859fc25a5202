"""One worker: runs lists of rollouts of one task in one process, spending as little as it can."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.execution.counters import Counters
from tightrope.execution.episode_error import EpisodeError, ErrorKind
from tightrope.execution.losses import MOST_HANGS, hopeless, lost_episode
from tightrope.execution.naive import run_naively
from tightrope.execution.prefixes.costs import Costs
from tightrope.execution.prefixes.tree import PrefixTree
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.scheduling.affinity import path_order
from tightrope.execution.worker.agent_memory import Memories, Remembered
from tightrope.execution.worker.environments import LaneCrew
from tightrope.execution.worker.jax_rows import RowLanes, runs_in_rows
from tightrope.execution.worker.lane_runs import Drafting
from tightrope.execution.worker.lockstep import Run, run_in_lanes
from tightrope.guards.faults import require_fault
from tightrope.simulation import Conformance, conformance_of, fresh_seeds_of
from tightrope.tasks.keys import LossyKey
from tightrope.tasks.task import Task

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""A step leaves one object behind until its episode ends; at Python's 700, cheap environments spend a tenth of their
time on looking through them for cycles."""


class Worker:
    """Holds environments, agents and the prefix tree of one process."""

    def __init__(
        self,
        task: Task,
        agents: Mapping[str, Agent],
        conformance: Conformance,
        *,
        memory_limit: int,
        lanes: int | None = None,
        costs: Costs | None = None,
    ) -> None:
        self.task = task
        self.agents = dict(agents)
        self.counters = Counters()
        # Functions that are mapped open simulators of their own, and must not find out again what is known.
        self._conformance = conformance_of(task, conformance)
        self._tree = PrefixTree(memory_limit)
        self._lanes, self._costs = lanes, costs
        self._crew: LaneCrew | None = None
        self._watched: dict[str, Remembered] = {}
        self._hangs: Counter[str | None] = Counter()
        """By agent, rollouts in which a call did not return in time even when they were run alone."""

    def run(self, rollouts: Sequence[Rollout]) -> Iterator[tuple[int, Episode]]:
        """Run all rollouts; yield each with its place in the list as it finishes.

        RandomnessMet when the task was taken for deterministic and an episode leads elsewhere under fresh seeds.
        """
        crew = self._awake()
        before = crew.steps_played
        places = sorted(range(len(rollouts)), key=lambda place: path_order(rollouts[place]))
        thresholds = gc.get_threshold()
        gc.set_threshold(max(thresholds[0], OBJECTS_BETWEEN_COLLECTIONS), *thresholds[1:])
        try:
            for name, group in groupby(places, key=lambda place: rollouts[place].agent):
                chosen = {place: rollouts[place] for place in group}
                yield from self._run_fixed(crew, chosen) if name is None else self._run_agent(crew, name, chosen)
        finally:
            gc.set_threshold(*thresholds)
            self.counters.steps_executed += crew.steps_played - before

    def call(self, function: Callable[[Task, Any], Any], payload: Any) -> Any:
        """Run a function of the task; it may open environments of its own."""
        if self.task.one_per_process:
            self.close()
        return function(self.task, payload)

    def close(self) -> None:
        """Close all environments; they are opened again when needed."""
        if self._crew is not None:
            self._crew.close()
        self._crew = None
        self._tree.clear()

    def _awake(self) -> LaneCrew:
        if self._crew is None:
            self._crew = LaneCrew(
                self.task, self._conformance, self._tree, self.counters, lanes=self._lanes, costs=self._costs
            )
        return self._crew

    def _run_fixed(self, crew: LaneCrew, rollouts: Mapping[int, Rollout]) -> Iterator[tuple[int, Episode]]:
        drafting = Drafting(crew.walker, deterministic=self._conformance.deterministic)
        for place, rollout in rollouts.items():
            given_up = self._given_up(rollout)
            if given_up is not None:
                yield place, given_up
                continue
            episode, failure, drew = None, None, False
            try:
                if drafting.deterministic:
                    episode, drew = drafting.fixed_episode(rollout)
                else:
                    episode = self._play_with_fresh_randomness(crew, drafting, rollout)
            except BaseException as error:
                require_fault(error)
                failure = error
            # Outside of the except clause, so that this failure is no part of the next one's traceback.
            episode = self._run_alone(crew, rollout, failure) if episode is None else episode
            if drew:
                self._doubt(crew, episode)
            yield place, episode

    def _play_with_fresh_randomness(self, crew: LaneCrew, drafting: Drafting, rollout: Rollout) -> Episode:
        run, lane = drafting.run(rollout, None, again=True), crew.turn()
        goes_on = run.begin(lane)
        for action in rollout.actions:
            if not goes_on:
                break
            goes_on = run.tick(lane, action, None)
        return drafting.episode(run, None)

    def _run_agent(self, crew: LaneCrew, name: str, rollouts: Mapping[int, Rollout]) -> Iterator[tuple[int, Episode]]:
        agent = self.agents[name]
        drafting = Drafting(crew.walker, deterministic=self._conformance.deterministic)
        in_rows = runs_in_rows(crew.walker, agent, list(rollouts.values()), deterministic=drafting.deterministic)
        lanes = [] if in_rows else crew.lanes(name, agent, list(rollouts.values()))
        memories = Memories(agent, self._watched.setdefault(name, Remembered()))
        if agent.recurrent:
            memories.watch(drafting, rollouts.values(), lanes, self.counters)
        runs = self._drafted(drafting, agent, rollouts, memories)
        if in_rows:
            finished = RowLanes(crew.walker, agent, self.counters).run(runs)
        else:
            finished = run_in_lanes(agent, runs, lanes, self.counters, note_draws=drafting.deterministic)
        for run in finished:
            if run.failed:
                yield run.place, self._run_alone(crew, run.rollout, run.failure)
            else:
                episode = drafting.episode(run, agent)
                if run.drew:
                    self._doubt(crew, episode)
                yield run.place, episode

    def _doubt(self, crew: LaneCrew, episode: Episode) -> None:
        """An episode on whose way something was drawn stands for others only if fresh seeds lead to the same."""
        start, exact = episode.rollout.start, not isinstance(self.task.state_key, LossyKey)
        # Many ways lead to the same situation, and what is played from there on was played again already.
        begun_at = (start.seed, episode.checksum) if exact and episode.checksum is not None else start
        fresh_seeds_of(self.task).doubt(crew.spare_simulator(), episode.trace, begun_at=begun_at)

    def _run_alone(self, crew: LaneCrew, rollout: Rollout, failure: BaseException | None) -> Episode:
        """By the definition of a rollout, so that an error reads the same wherever it happened."""
        given_up = self._given_up(rollout)
        if given_up is not None:
            return given_up
        simulator = crew.spare_simulator()
        episode = run_naively(simulator, self.agents, rollout, deterministic=self._conformance.deterministic)
        self._hangs[rollout.agent] += episode.error is not None and episode.error.kind is ErrorKind.HANG
        if episode.error is None and failure is not None:
            return replace(episode, error=EpisodeError.of(failure, repeated=False))
        return episode

    def _drafted(
        self, drafting: Drafting, agent: Agent, rollouts: Mapping[int, Rollout], memories: Memories
    ) -> Iterator[Run]:
        """Each rollout's run, made when a lane is free for it."""
        uses = Counter(rollout.start for rollout in rollouts.values())
        for place, rollout in rollouts.items():
            uses[rollout.start] -= 1
            if self._given_up(rollout) is not None:
                yield Run(rollout=rollout, point=None, place=place, failed=True)
                continue
            try:
                run = drafting.run(rollout, agent, again=uses[rollout.start] > 0)
            except BaseException as error:
                require_fault(error)
                run = Run(rollout=rollout, point=None, failed=True, failure=error)
            begins_late = agent.recurrent and not run.failed and not run.forced and not run.prefix_outcome.terminal
            if begins_late and not memories.recall(run):
                run = drafting.watched_run(rollout, agent)
            run.place = place
            yield run

    def _given_up(self, rollout: Rollout) -> Episode | None:
        """An error for a rollout of an agent that too many have waited for in vain."""
        hangs = self._hangs[rollout.agent]
        return lost_episode(rollout, ErrorKind.HANG, hopeless(hangs)) if hangs >= MOST_HANGS else None
