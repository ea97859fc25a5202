"""From a rollout to a run that a lane can begin, and from what was seen back to an episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.execution.naive import agent_generator, environment_seed, watching_generator
from tightrope.execution.prefixes.player import TreePlayer
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.worker.handover import PathEnd, path_labels, play_path, point_at
from tightrope.execution.worker.lockstep import LaneRun
from tightrope.execution.worker.recording import Wanted, plain_actions, running_sum
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace


class _Handover(NamedTuple):
    """Where the latest rollout was handed over, and what is the same for all that are handed over there."""

    start: ActionTrace
    wanted: Wanted
    losses: int
    """How often the tree had forgotten something."""
    end: PathEnd
    reward: float
    checksum: int | None
    drew: bool

    def holds_for(self, rollout: Rollout, wanted: Wanted, losses: int) -> bool:
        """Whether another rollout is handed over there too."""
        same = rollout.start is self.start or rollout.start == self.start
        return same and wanted == self.wanted and losses == self.losses


class LaneRuns:
    """Makes runs and episodes of one task."""

    def __init__(self, tree_player: TreePlayer, *, deterministic: bool) -> None:
        self._tree_player = tree_player
        self._task = tree_player.simulator.task
        self.deterministic = deterministic
        self._latest: _Handover | None = None

    def leads_to_one_place(self, rollout: Rollout) -> bool:
        """Whether the prefix ends in the same situation in every execution."""
        return self.deterministic or rollout.fixed_prefix or not rollout.start.actions

    def _handover(self, rollout: Rollout) -> _Handover:
        """The end of a prefix that leads to one place; repetitions come one after the other, and all begin there."""
        tree, latest = self._tree_player.tree, self._latest
        wanted = Wanted.by(rollout, self._task)
        if latest is not None and latest.holds_for(rollout, wanted, tree.losses):
            tree.meet(latest.end.point)
            return latest
        labels = path_labels(rollout.start, deterministic=self.deterministic)
        end = play_path(self._tree_player, rollout.start.seed, labels, wanted)
        checksum = None if end.outcome.terminal else self._tree_player.checksum(end.point)
        drew = end.outcome.terminal and self.deterministic and self._drew(end)
        self._latest = _Handover(rollout.start, wanted, tree.losses, end, end.reward, checksum, drew)
        return self._latest

    def run(self, rollout: Rollout, agent: Agent | None, *, again: bool) -> LaneRun:
        """The rollout, ready for a lane; the tree player then stands where it begins."""
        run = self._from_handover(rollout, again) if self.leads_to_one_place(rollout) else self._from_reset(rollout)
        run.wanted = Wanted.by(rollout, self._task)
        run.limit = rollout.length if agent is not None else len(rollout.actions)
        run.reseed = None if self.deterministic else environment_seed(rollout)
        if agent is not None:
            run.watches = agent.recurrent
            run.generator = None if agent.deterministic else agent_generator(rollout)
            run.watching = None if agent.deterministic or not run.forced else watching_generator(rollout)
        return run

    def watched_run(self, rollout: Rollout, agent: Agent) -> LaneRun:
        """The rollout from its reset on, for an agent that must watch a prefix that leads to one place."""
        return LaneRun(
            rollout=rollout,
            point=self._tree_player.root(rollout.start.seed),
            again=True,
            wanted=Wanted.by(rollout, self._task),
            limit=rollout.length,
            handover_seed=None if self.deterministic else environment_seed(rollout),
            forced=path_labels(rollout.start, deterministic=self.deterministic),
            watches=True,
            generator=None if agent.deterministic else agent_generator(rollout),
            watching=None if agent.deterministic else watching_generator(rollout),
        )

    def watcher(self, rollout: Rollout, agent: Agent, marks: frozenset[int]) -> LaneRun:
        """A run that only builds up the agent's memory along a prefix that leads to one place."""
        return LaneRun(
            rollout=rollout,
            point=self._tree_player.root(rollout.start.seed),
            again=True,
            limit=0,
            forced=path_labels(rollout.start, deterministic=self.deterministic),
            watches=True,
            marks=marks,
            watching=None if agent.deterministic else watching_generator(rollout),
        )

    def episode(self, run: LaneRun, agent: Agent | None) -> Episode:
        """What a run showed."""
        rollout = run.rollout
        return Episode(
            rollout=rollout,
            prefix_steps=run.prefix_steps,
            prefix_reward=run.prefix_reward,
            prefix_outcome=run.prefix_outcome,
            outcome=run.outcome,
            actions=plain_actions(run.actions),
            rewards=tuple(run.rewards),
            reseeds=self._reseeds(rollout),
            checksum=run.checksum,
            keys=np.array(run.keys, dtype=np.uint64) if rollout.record_keys else None,
            positions=np.array(run.positions, dtype=np.float64) if run.positions else None,
            deterministic=self.deterministic and (agent is None or agent.deterministic),
        )

    def fixed_episode(self, rollout: Rollout) -> tuple[Episode, bool]:
        """A rollout without an agent on a deterministic task: all of it is a path in the tree.

        Also whether something was drawn on the way, as far as it was not played before.
        """
        labels = [*rollout.start.actions, *rollout.actions]
        end = play_path(self._tree_player, rollout.start.seed, labels, Wanted.by(rollout, self._task))
        drew = self._drew(end)
        prefix, handed_over = len(rollout.start), self._handed_over(rollout, end)
        steps = min(prefix, end.steps)
        here = point_at(self._tree_player.tree, end.point, prefix) if handed_over else None
        episode = Episode(
            rollout=rollout,
            prefix_steps=steps,
            prefix_reward=running_sum(end.rewards[:steps]),
            prefix_outcome=Outcome.ONGOING if handed_over else end.outcome,
            outcome=end.outcome,
            actions=rollout.actions[: end.steps - steps],
            rewards=tuple(end.rewards[steps:]),
            checksum=None if here is None else self._tree_player.checksum(here),
            keys=np.array(end.keys, dtype=np.uint64) if rollout.record_keys else None,
            positions=np.array(end.positions, dtype=np.float64) if end.positions else None,
            deterministic=True,
        )
        return episode, drew

    def _drew(self, end: PathEnd) -> bool:
        """Whether something was drawn on a path that was just played; one that was known was looked at before."""
        return self._tree_player.at == end.point and self._tree_player.simulator.has_drawn()

    @staticmethod
    def _handed_over(rollout: Rollout, end: PathEnd) -> bool:
        prefix = len(rollout.start)
        return end.steps > prefix or (end.steps == prefix and (prefix == 0 or not end.outcome.terminal))

    def _from_handover(self, rollout: Rollout, again: bool) -> LaneRun:
        known = self._handover(rollout)
        end = known.end
        return LaneRun(
            rollout=rollout,
            point=end.point,
            again=again,
            prefix_steps=end.steps,
            prefix_reward=known.reward,
            prefix_outcome=end.outcome,
            outcome=end.outcome,
            checksum=known.checksum,
            keys=[*end.keys],
            positions=[*end.positions],
            drew=known.drew,
        )

    def _from_reset(self, rollout: Rollout) -> LaneRun:
        root = self._tree_player.root(rollout.start.seed)
        return LaneRun(rollout=rollout, point=root, again=True, forced=list(rollout.start.actions))

    def _reseeds(self, rollout: Rollout) -> tuple[tuple[int, int], ...]:
        if self.deterministic:
            return ()
        fresh = environment_seed(rollout)
        return (*rollout.start.reseeds, (len(rollout.start), fresh)) if rollout.fixed_prefix else ((0, fresh),)
