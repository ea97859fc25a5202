"""Rollouts of one agent side by side: one question to the agent per tick, for all lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.tree import Label, Reseeded, TreePoint
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.lanes import Lane, Mover
from tightrope.execution.worker.recording import NOTHING, Wanted, key_hash, position_of
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import require_fault
from tightrope.outcome import Outcome
from tightrope.tasks.observations import shown_mask
from tightrope.tasks.spaces import unshared_actions
from tightrope.trace import Action

ONGOING = Outcome.ONGOING


@dataclass(slots=True)
class LaneRun:
    """One rollout under way, and what it has shown so far."""

    rollout: Rollout
    point: TreePoint | None
    """Where its lane begins."""
    place: int = 0
    """The rollout's place in the list it came from."""
    wanted: Wanted = NOTHING
    limit: int | None = None
    reseed: int | None = None
    """Fresh randomness for the environment at the beginning of the lane."""
    handover_seed: int | None = None
    """Fresh randomness for the environment at the end of a prefix that the agent watches in the lane."""
    again: bool = False
    """Whether others begin at the same point."""
    forced: Sequence[Label] = ()
    """The prefix, when it is played in the lane: because it is this execution's own, or because the agent watches."""
    watches: bool = False
    """Whether the agent is asked during the prefix, to build up its memory."""
    marks: frozenset[int] = frozenset()
    """Prefix lengths after which to keep the agent's memory."""
    memory: Any = None
    generator: np.random.Generator | None = None
    watching: np.random.Generator | None = None
    prefix_reward: float = 0.0
    prefix_outcome: Outcome = Outcome.ONGOING
    prefix_steps: int = 0
    outcome: Outcome = Outcome.ONGOING
    checksum: int | None = None
    actions: list[Action] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    positions: list[tuple[float, float]] = field(default_factory=list)
    memories: dict[int, Any] = field(default_factory=dict)
    plain: bool = False
    """Neither prefix to play, nor memory to keep, nor details to note."""
    drew: bool = False
    """Whether something was drawn from the environment's generators on the way; noted only where none should be."""
    failed: bool = False
    """Environment or agent raised; the rollout is to be run again alone, which tells what happened."""
    failure: BaseException | None = None
    """What the environment raised; None when the agent failed, which may be another run's fault."""

    def begin(self, lane: Lane) -> bool:
        """Put the rollout into a lane; False when it is over before the agent is first asked."""
        if self.failed or self.prefix_outcome.terminal or self.point is None:
            return False
        self.plain = not (self.forced or self.watches or self.wanted.keys or self.wanted.positions)
        lane.begin(self.point, self.reseed, again=self.again)
        if self.forced:
            self._visit(lane)
            if not self.watches:
                self._play_prefix(lane)
            return not lane.mover.outcome.terminal and self._goes_on()
        return self._goes_on()

    def tick(self, lane: Lane, action: Action, memory: Any) -> bool:
        """One step with the agent's answer; False when the rollout is over."""
        self.memory = memory
        if self.prefix_steps < len(self.forced):
            return self._watched_step(lane)
        mover = lane.mover
        reward = mover.advance(action)
        self.actions.append(action)
        self.rewards.append(reward)
        if self.wanted.keys or self.wanted.positions:
            self._visit(lane)
        if mover.outcome is not ONGOING:
            self.outcome = mover.outcome
            return False
        return len(self.actions) != self.limit

    @property
    def random_stream(self) -> np.random.Generator | None:
        """What the agent may draw from now."""
        return self.watching if self.prefix_steps < len(self.forced) else self.generator

    def _goes_on(self) -> bool:
        return self.limit is None or self.limit > 0 or self.prefix_steps < len(self.forced)

    def _play_prefix(self, lane: Lane) -> None:
        while self.prefix_steps < len(self.forced) and not lane.mover.outcome.terminal:
            self._prefix_step(lane)
        self._arrived(lane)

    def _watched_step(self, lane: Lane) -> bool:
        self._prefix_step(lane)
        if self.prefix_steps in self.marks:
            self._keep_memory()
        if lane.mover.outcome.terminal or self.prefix_steps == len(self.forced):
            self._arrived(lane)
            if self.handover_seed is not None and not lane.mover.outcome.terminal:
                lane.simulator().reseed(self.handover_seed)
        return not lane.mover.outcome.terminal and self._goes_on()

    def _keep_memory(self) -> None:
        """A copy, since the agent may change what it was handed; none of what cannot be copied."""
        with suppress(Exception):
            self.memories[self.prefix_steps] = deepcopy(self.memory)

    def _prefix_step(self, lane: Lane) -> None:
        label = self.forced[self.prefix_steps]
        if isinstance(label, Reseeded):
            lane.simulator().reseed(label.seed)
            label = label.action
        reward = lane.mover.advance(label)
        self.prefix_steps += 1
        self.prefix_reward += reward
        self._visit(lane)

    def _arrived(self, lane: Lane) -> None:
        self.outcome = self.prefix_outcome = lane.mover.outcome
        if not lane.mover.outcome.terminal and not self.marks:
            self.checksum = key_hash(lane.simulator())

    def _visit(self, lane: Lane) -> None:
        if self.wanted.keys:
            self.keys.append(key_hash(lane.simulator()))
        if self.wanted.positions:
            self.positions.append(position_of(lane.simulator()))


Active: TypeAlias = tuple[LaneRun, Lane, Mover]
"""A run, its lane, and what plays the lane's actions: looked up when the run begins, not at every step."""


def run_in_lanes(
    agent: Agent, runs: Iterator[LaneRun | None], lanes: Sequence[Lane], counters: Counters, *, note_draws: bool = False
) -> Iterator[LaneRun]:
    """Run all, refilling every lane as it becomes free; yield each run when it is over or has failed.

    Where ``runs`` say None there is none now, and they are asked again after the next step of those under way.
    """
    active: list[Active] = []
    free = list(lanes)
    while True:
        yield from _refill(active, free, runs, counters)
        if not active:
            return
        asked = perf_counter()
        answer = _ask(agent, active)
        answered = perf_counter()
        counters.seconds_agent += answered - asked
        counters.agent_queries += 1
        counters.observations_answered += len(active)
        if answer is None:
            for run, _, _ in active:
                run.failed = True
                yield run
            free, active = list(lanes), []
            continue
        saving = counters.seconds_snapshot
        over = _step_all(active, answer.actions, answer.memories, note_draws)
        counters.seconds_environment += perf_counter() - answered - (counters.seconds_snapshot - saving)
        if over:
            ended = [active[place] for place in over]
            gone = set(over)
            active = [one for place, one in enumerate(active) if place not in gone]
            free.extend(lane for _, lane, _ in ended)
            for run, _, _ in ended:
                yield run


def _refill(
    active: list[Active], free: list[Lane], runs: Iterator[LaneRun | None], counters: Counters
) -> Iterator[LaneRun]:
    while free:
        run = next(runs, None)
        if run is None:
            return
        saving, started = counters.seconds_snapshot + counters.seconds_environment, perf_counter()
        try:
            goes_on = run.begin(free[-1])
        except BaseException as error:
            require_fault(error)
            run.failed, run.failure = True, error
            goes_on = False
        spent = counters.seconds_snapshot + counters.seconds_environment - saving
        counters.seconds_environment += perf_counter() - started - spent
        if goes_on:
            lane = free.pop()
            active.append((run, lane, lane.mover))
        else:
            yield run


@calls_out("agent {agent.name!r}", act="its answer")
def _ask(agent: Agent, active: list[Active]) -> Any:
    nothing = [None] * len(active)
    try:
        answer = agent.act(
            [mover.observation for _, _, mover in active],
            [run.memory for run, _, _ in active] if agent.recurrent else nothing,
            nothing if agent.deterministic else [run.random_stream for run, _, _ in active],
            # Most environments tell nothing at all.
            [shown_mask(mover.info) if mover.info else None for _, _, mover in active],
        )
    except BaseException as error:
        require_fault(error)
        return None
    if not len(answer.actions) == len(answer.memories) == len(active):
        return None
    return Answer(unshared_actions(answer.actions), answer.memories)


def _step_all(active: list[Active], actions: Sequence[Action], memories: Sequence[Any], note_draws: bool) -> list[int]:
    """One step in every lane; the places of those that are over. The plain case is spelt out, because it is hot."""
    over = []
    for place, (run, lane, mover) in enumerate(active):
        try:
            if not run.plain:
                goes_on = run.tick(lane, actions[place], memories[place])
            else:
                action = actions[place]
                reward = mover.advance(action)
                played = run.actions
                played.append(action)
                run.rewards.append(reward)
                if mover.outcome is ONGOING and len(played) != run.limit:
                    continue
                run.outcome = mover.outcome
                goes_on = False
        except BaseException as error:
            require_fault(error)
            run.failed, run.failure = True, error
            goes_on = False
        if not goes_on:
            over.append(place)
            if note_draws and not run.failed:
                simulator = lane.standing()
                run.drew = simulator is not None and simulator.has_drawn()
    return over
