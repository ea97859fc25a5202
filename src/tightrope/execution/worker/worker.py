"""One worker: runs lists of rollouts of one task in one process, spending as little as it can."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.execution.counters import Counters
from tightrope.execution.episode_error import EpisodeError, ErrorKind
from tightrope.execution.lost_rollouts import MOST_HANGS, hopeless, lost_episode
from tightrope.execution.naive import run_naively
from tightrope.execution.prefixes.costs import Costs
from tightrope.execution.prefixes.tree import PrefixTree
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.worker.agent_memory import PrefixMemories, Remembered
from tightrope.execution.worker.environments import WorkerEnvironments
from tightrope.execution.worker.jax_rows import RowLanes, runs_in_rows
from tightrope.execution.worker.lane_runs import LaneRuns
from tightrope.execution.worker.lockstep import LaneRun, run_in_lanes
from tightrope.execution.worker.todo import MoreWork, Todo, no_more
from tightrope.guards.faults import require_fault
from tightrope.simulation import Conformance, conformance_of, fresh_seeds_of
from tightrope.simulation.forking.process import lost_process
from tightrope.tasks.keys import LossyKey
from tightrope.tasks.task import Task

LOG = logging.getLogger("tightrope")

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
        self._environments: WorkerEnvironments | None = None
        self._watched: dict[str, Remembered] = {}
        self._hangs: Counter[str | None] = Counter()
        """By agent, rollouts in which a call did not return in time even when they were run alone."""

    def run(self, rollouts: Sequence[Rollout], more: MoreWork = no_more) -> Iterator[tuple[int, Episode]]:
        """Run all rollouts, and what comes meanwhile; yield each with its place as it finishes.

        RandomnessMet when the task was taken for deterministic and an episode leads elsewhere under fresh seeds.
        """
        environments = self._awake()
        before = environments.steps_played
        todo = Todo(rollouts, more)
        thresholds = gc.get_threshold()
        gc.set_threshold(max(thresholds[0], OBJECTS_BETWEEN_COLLECTIONS), *thresholds[1:])
        try:
            for name, chosen in todo.groups():
                yield from (
                    self._run_fixed(environments, chosen)
                    if name is None
                    else self._run_agent(environments, name, chosen, todo)
                )
        finally:
            gc.set_threshold(*thresholds)
            self.counters.steps_executed += environments.steps_played - before

    def call(self, function: Callable[[Task, Any], Any], payload: Any) -> Any:
        """Run a function of the task; it may open environments of its own."""
        if self.task.one_per_process:
            self.close()
        return function(self.task, payload)

    def close(self) -> None:
        """Close all environments; they are opened again when needed."""
        if self._environments is not None:
            self._environments.close()
        self._environments = None
        self._tree.clear()

    def _awake(self) -> WorkerEnvironments:
        if self._environments is None:
            self._environments = WorkerEnvironments(
                self.task, self._conformance, self._tree, self.counters, lanes=self._lanes, costs=self._costs
            )
        return self._environments

    def _run_fixed(
        self, environments: WorkerEnvironments, rollouts: Mapping[int, Rollout]
    ) -> Iterator[tuple[int, Episode]]:
        lane_runs = LaneRuns(environments.tree_player, deterministic=self._conformance.deterministic)
        for place, rollout in rollouts.items():
            given_up = self._given_up(rollout)
            if given_up is not None:
                yield place, given_up
                continue
            episode, failure, drew = None, None, False
            try:
                if lane_runs.deterministic:
                    episode, drew = lane_runs.fixed_episode(rollout)
                else:
                    episode = self._play_with_fresh_randomness(environments, lane_runs, rollout)
            except BaseException as error:
                require_fault(error)
                failure = error
            # Outside of the except clause, so that this failure is no part of the next one's traceback.
            episode = self._run_alone(environments, rollout, failure) if episode is None else episode
            if drew:
                self._doubt(environments, episode)
            yield place, episode

    def _play_with_fresh_randomness(
        self, environments: WorkerEnvironments, lane_runs: LaneRuns, rollout: Rollout
    ) -> Episode:
        run, lane = lane_runs.run(rollout, None, again=True), environments.shared_lane()
        goes_on = run.begin(lane)
        for action in rollout.actions:
            if not goes_on:
                break
            goes_on = run.tick(lane, action, None)
        return lane_runs.episode(run, None)

    def _run_agent(
        self, environments: WorkerEnvironments, name: str, rollouts: Mapping[int, Rollout], todo: Todo
    ) -> Iterator[tuple[int, Episode]]:
        agent = self.agents[name]
        lane_runs = LaneRuns(environments.tree_player, deterministic=self._conformance.deterministic)
        in_rows = runs_in_rows(
            environments.tree_player, agent, list(rollouts.values()), deterministic=lane_runs.deterministic
        )
        lanes = [] if in_rows else environments.lanes(name, agent, list(rollouts.values()))
        memories = PrefixMemories(agent, self._watched.setdefault(name, Remembered()))
        if agent.recurrent:
            memories.watch(lane_runs, rollouts.values(), lanes, self.counters)
        runs = self._runs_of_agent(lane_runs, agent, rollouts, memories)
        if in_rows:
            finished = RowLanes(environments.tree_player, agent, self.counters).run(runs)
        else:
            # An agent with memory is to watch all prefixes, once each, before any of its rollouts begins.
            fed = runs if agent.recurrent else self._with_latecomers(runs, lane_runs, name, memories, todo)
            finished = run_in_lanes(agent, fed, lanes, self.counters, note_draws=lane_runs.deterministic)
        for run in finished:
            if run.failed:
                yield run.place, self._run_alone(environments, run.rollout, run.failure)
            else:
                episode = lane_runs.episode(run, agent)
                if run.drew:
                    self._doubt(environments, episode)
                yield run.place, episode

    def _doubt(self, environments: WorkerEnvironments, episode: Episode) -> None:
        """An episode on whose way something was drawn stands for others only if fresh seeds lead to the same."""
        start, exact = episode.rollout.start, not isinstance(self.task.state_key, LossyKey)
        # Many ways lead to the same situation, and what is played from there on was played again already.
        begun_at = (start.seed, episode.checksum) if exact and episode.checksum is not None else start
        fresh_seeds_of(self.task).doubt(environments.spare_simulator(), episode.trace, begun_at=begun_at)

    def _run_alone(self, environments: WorkerEnvironments, rollout: Rollout, failure: BaseException | None) -> Episode:
        """By the definition of a rollout, so that an error reads the same wherever it happened."""
        given_up = self._given_up(rollout)
        if given_up is not None:
            return given_up
        simulator = environments.spare_simulator()
        episode = run_naively(simulator, self.agents, rollout, deterministic=self._conformance.deterministic)
        self._hangs[rollout.agent] += episode.error is not None and episode.error.kind is ErrorKind.HANG
        if episode.error is None and lost_process(failure) is not None:
            # As with a worker that dies: nobody's code has raised anything, and what was lost is done again.
            LOG.warning("task %s: %s; its rollout was run again, from reset", self.task.label, lost_process(failure))
        elif episode.error is None and failure is not None:
            return replace(episode, error=EpisodeError.of(failure, repeated=False))
        return episode

    def _runs_of_agent(
        self, lane_runs: LaneRuns, agent: Agent, rollouts: Mapping[int, Rollout], memories: PrefixMemories
    ) -> Iterator[LaneRun]:
        """Each rollout's run, made when a lane is free for it."""
        uses = Counter(rollout.start for rollout in rollouts.values())
        for place, rollout in rollouts.items():
            uses[rollout.start] -= 1
            if self._given_up(rollout) is not None:
                yield LaneRun(rollout=rollout, point=None, place=place, failed=True)
                continue
            try:
                run = lane_runs.run(rollout, agent, again=uses[rollout.start] > 0)
            except BaseException as error:
                require_fault(error)
                run = LaneRun(rollout=rollout, point=None, failed=True, failure=error)
            begins_late = agent.recurrent and not run.failed and not run.forced and not run.prefix_outcome.terminal
            if begins_late and not memories.recall(run):
                run = lane_runs.watched_run(rollout, agent)
            run.place = place
            yield run

    def _with_latecomers(
        self, runs: Iterator[LaneRun], lane_runs: LaneRuns, name: str, memories: PrefixMemories, todo: Todo
    ) -> Iterator[LaneRun | None]:
        """These runs, then those of what comes while they are under way; None: nothing has come so far."""
        yield from runs
        while True:
            latecomers = todo.also_for(name)
            if latecomers:
                yield from self._runs_of_agent(lane_runs, self.agents[name], latecomers, memories)
            else:
                yield None

    def _given_up(self, rollout: Rollout) -> Episode | None:
        """An error for a rollout of an agent that too many have waited for in vain."""
        hangs = self._hangs[rollout.agent]
        return lost_episode(rollout, ErrorKind.HANG, hopeless(hangs)) if hangs >= MOST_HANGS else None
