"""The environments of one worker: the tree player's, and those of its lanes."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from tightrope.agents.agent import Agent
from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.costs import Costs, measure
from tightrope.execution.prefixes.player import TreePlayer
from tightrope.execution.prefixes.tree import PrefixTree
from tightrope.execution.rollout import Rollout
from tightrope.execution.scheduling.affinity import TYPICAL_LENGTH
from tightrope.execution.worker.batch_size import best_lane_count, seconds_per_observation
from tightrope.execution.worker.lanes import Lane, OwnLane, SharedEnvironment, SharedLane, TreeLane
from tightrope.simulation import Conformance, Simulator, open_simulator
from tightrope.tasks.task import Task

CHEAP_SAVING = 0.35
"""Saving costs at most this share of a step: then every step is saved, and never stepped twice."""
FEWEST_TREE_LANES = 64
"""Tree lanes cost nothing, and repetitions that have not parted yet are one question to the agent."""
OPENING_SHARE = 0.1
"""Opening more environments may take at most this share of the time the work takes."""


class WorkerEnvironments:
    """Opens environments when they pay, and hands out lanes of the kind that suits the task."""

    def __init__(
        self,
        task: Task,
        conformance: Conformance,
        tree: PrefixTree,
        counters: Counters,
        *,
        lanes: int | None,
        costs: Costs | None,
    ) -> None:
        self._task, self._conformance, self._counters = task, conformance, counters
        self._wanted_lanes = lanes
        self._simulators: list[Simulator] = []
        self._opening_seconds = 0.0
        simulator = self._open()
        self._costs = costs or measure(simulator)
        self.tree_player = TreePlayer(simulator, tree, self._costs.snapshot_spacing, counters)
        self._shared = SharedEnvironment(self.tree_player)
        self._own_lanes: list[OwnLane] = []
        self._agent_seconds: dict[str, dict[int, float]] = {}
        self._spare: Simulator | None = None

    @property
    def steps_played(self) -> int:
        """Steps of all environments, replays included."""
        return sum(simulator.counters.steps + simulator.counters.replayed_steps for simulator in self._simulators)

    def kind(self, rollouts: Sequence[Rollout]) -> type[TreeLane] | type[SharedLane] | type[OwnLane]:
        """Which lanes suit the task and these rollouts."""
        found, costs = self._conformance, self._costs
        looks = any(rollout.record_keys or rollout.record_positions for rollout in rollouts)
        if found.deterministic and costs.save is not None and costs.save <= CHEAP_SAVING * costs.step and not looks:
            return TreeLane
        saves_only_here = costs.save is not None and not found.transferable
        return SharedLane if self._task.one_per_process or saves_only_here else OwnLane

    def lanes(self, name: str, agent: Agent, rollouts: Sequence[Rollout]) -> list[Lane]:
        """Lanes for an agent that has these rollouts before it."""
        self.tree_player.tree.begun.clear()
        kind = self.kind(rollouts)
        count = min(self._wanted_lanes or self._best_count(name, agent, rollouts[0], kind), len(rollouts))
        if kind is TreeLane:
            # As many even for a few rollouts: others may come while those are under way.
            count = self._wanted_lanes or max(count, FEWEST_TREE_LANES)
            return [TreeLane(self.tree_player) for _ in range(count)]
        if kind is SharedLane:
            count = count if self._costs.save is not None else 1
            return [SharedLane(self.tree_player, self._shared) for _ in range(count)]
        return list(self._open_own_lanes(count, rollouts))

    def spare_simulator(self) -> Simulator:
        """An environment to run something alone, while lanes are under way."""
        if self._task.one_per_process:
            self._shared.clear()
            self.tree_player.at = None
            return self.tree_player.simulator
        if self._spare is None:
            self._spare = self._open()
        return self._spare

    def shared_lane(self) -> SharedLane:
        """A lane on the tree player's own environment."""
        return SharedLane(self.tree_player, self._shared)

    def close(self) -> None:
        """Close all environments."""
        for simulator in self._simulators:
            simulator.close()

    def _best_count(self, name: str, agent: Agent, rollout: Rollout, kind: type) -> int:
        if name not in self._agent_seconds:
            self.tree_player.go(self.tree_player.root(rollout.start.seed))
            started = perf_counter()
            self._agent_seconds[name] = seconds_per_observation(
                agent, self.tree_player.simulator.transition, self._costs.step
            )
            self._counters.seconds_agent += perf_counter() - started
        switching = (self._costs.save or 0.0) + (self._costs.load or 0.0) if kind is SharedLane else 0.0
        return best_lane_count(self._agent_seconds[name], self._costs.step, switching)

    def _open_own_lanes(self, count: int, rollouts: Sequence[Rollout]) -> list[OwnLane]:
        steps = sum(TYPICAL_LENGTH if rollout.length is None else rollout.length for rollout in rollouts)
        affordable = int(OPENING_SHARE * steps * self._costs.step / max(self._opening_seconds, 1e-6))
        if self._wanted_lanes is None:
            count = min(count, max(len(self._own_lanes), affordable, 1))
        while len(self._own_lanes) < count:
            self._own_lanes.append(OwnLane(self.tree_player, self._open()))
        return self._own_lanes[:count]

    def _open(self) -> Simulator:
        started = perf_counter()
        simulator = open_simulator(self._task, self._conformance)
        self._opening_seconds = perf_counter() - started
        self._simulators.append(simulator)
        return simulator
