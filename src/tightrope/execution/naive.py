"""The naive way to run a rollout: one environment, replay from reset, one agent query per step.

It is the definition of what a rollout means. The engine must return the same episodes; tests compare the two, and the
benchmarks measure the engine against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.errors import AgentFailure, EnvironmentFailure, TaskError
from tightrope.execution.episode_error import EpisodeError
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.worker.recording import plain_actions
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import misdeed, require_fault
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed, generator, stable_hash
from tightrope.simulation import Simulator, TraceMoment, play
from tightrope.tasks.observations import RULE, is_change_in_place, shown_mask
from tightrope.tasks.spaces import unshared_actions


def agent_generator(rollout: Rollout) -> np.random.Generator:
    """The agent's random stream in this rollout."""
    return generator("agent", rollout.seed, rollout.start.id)


def watching_generator(rollout: Rollout) -> np.random.Generator:
    """The random stream of an agent with memory while it watches the prefix, which others play.

    It belongs to the reset seed alone, so that what the agent remembers at hand-over depends on nothing but the prefix.
    """
    return generator("watching", rollout.start.seed)


def environment_seed(rollout: Rollout) -> int:
    """The environment's fresh randomness in this rollout."""
    return derive_seed("environment", rollout.seed, rollout.start.id)


def run_naively(
    simulator: Simulator, agents: Mapping[str, Agent], rollout: Rollout, *, deterministic: bool = False
) -> Episode:
    """Run one rollout from reset. ``deterministic``: the environment is, so it is not reseeded."""
    agent = None if rollout.agent is None else agents[rollout.agent]
    rng, watching = agent_generator(rollout), watching_generator(rollout)
    record = _Record(simulator, rollout)
    memory: Any = None
    error: EpisodeError | None = None
    try:
        reseeds = record.plan_reseeds(deterministic)
        for moment in play(simulator, replace(rollout.start, reseeds=record.reseeds)):
            record.prefix_moment(moment)
            if agent is not None and agent.recurrent and moment.upcoming is not None:
                _, memory = record.ask(agent, memory, watching)
        if not simulator.outcome.terminal:
            record.hand_over()
            if len(rollout.start) in reseeds:
                simulator.reseed(reseeds[len(rollout.start)])
            limit = rollout.length if agent is not None else len(rollout.actions)
            while not simulator.outcome.terminal and (limit is None or len(record.actions) < limit):
                if agent is None:
                    action = rollout.actions[len(record.actions)]
                else:
                    action, memory = record.ask(agent, memory, rng)
                _play(simulator, agent, action)
                record.step(action)
    except BaseException as raised:
        require_fault(raised)
        error = EpisodeError.of(raised, asking=record.asking)
    quiet_agent = agent is None or agent.deterministic
    return record.episode(deterministic=deterministic and quiet_agent, error=error)


@calls_out("agent {agent.name!r}", act="its answer")
def _ask(agent: Agent, simulator: Simulator, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    try:
        answer = agent.act([simulator.observation], [memory], [rng], [shown_mask(simulator.info)])
    except (ValueError, TypeError) as error:
        if not is_change_in_place(error):
            raise
        raise AgentFailure(f"agent {agent.name!r} changed its observation: {error}. {RULE}") from error
    except Exception:
        raise
    except BaseException as error:
        raise AgentFailure(f"agent {agent.name!r} {misdeed(error)}") from error
    return unshared_actions(answer.actions)[0], answer.memories[0]


def _play(simulator: Simulator, agent: Agent | None, action: Any) -> None:
    """The simulator refuses what is no action of the task; here is known whose answer it was."""
    try:
        simulator.advance(action)
    except EnvironmentFailure as failure:
        if agent is None or not isinstance(failure.__cause__, TaskError):
            raise
        raise AgentFailure(
            f"agent {agent.name!r} answered {action!r}, and the action space of task {simulator.task.label} is "
            f"{simulator.env.action_space}"
        ) from None


class _Record:
    """Collects what an episode reports."""

    def __init__(self, simulator: Simulator, rollout: Rollout) -> None:
        self.simulator, self.rollout = simulator, rollout
        self.prefix_steps, self.prefix_reward, self.prefix_outcome = 0, 0.0, Outcome.ONGOING
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        self.keys: list[int] = []
        self.positions: list[tuple[float, float]] = []
        self.checksum: int | None = None
        self.reseeds: tuple[tuple[int, int], ...] = ()
        self.asking = False

    def ask(self, agent: Agent, memory: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        self.asking = True
        answer = _ask(agent, self.simulator, memory, rng)
        self.asking = False
        return answer

    def plan_reseeds(self, deterministic: bool) -> dict[int, int]:
        """Where this execution gives the environment fresh randomness."""
        fresh = environment_seed(self.rollout)
        if deterministic:
            self.reseeds = ()
        elif self.rollout.fixed_prefix:
            self.reseeds = (*self.rollout.start.reseeds, (len(self.rollout.start), fresh))
        else:
            self.reseeds = ((0, fresh),)
        return dict(self.reseeds)

    def visit(self) -> None:
        if self.rollout.record_keys:
            self.keys.append(stable_hash(self.simulator.key()))
        if self.rollout.record_positions and self.simulator.task.position is not None:
            self.positions.append(self.simulator.look("position"))

    def prefix_moment(self, moment: TraceMoment) -> None:
        self.prefix_steps = moment.depth
        self.prefix_reward += moment.reward
        self.prefix_outcome = moment.outcome
        self.visit()

    def hand_over(self) -> None:
        self.checksum = stable_hash(self.simulator.key())

    def step(self, action: Any) -> None:
        self.actions.append(action)
        self.rewards.append(self.simulator.reward)
        self.visit()

    def episode(self, *, deterministic: bool, error: EpisodeError | None) -> Episode:
        return Episode(
            rollout=self.rollout,
            prefix_steps=self.prefix_steps,
            prefix_reward=self.prefix_reward,
            prefix_outcome=self.prefix_outcome,
            outcome=self.simulator.outcome,
            actions=plain_actions(self.actions),
            rewards=tuple(self.rewards),
            reseeds=self.reseeds,
            checksum=self.checksum,
            keys=np.array(self.keys, dtype=np.uint64) if self.rollout.record_keys else None,
            positions=np.array(self.positions, dtype=np.float64) if self.positions else None,
            deterministic=deterministic,
            error=error,
        )
