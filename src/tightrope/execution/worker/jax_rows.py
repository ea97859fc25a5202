"""Lanes that are rows of arrays: a world and an agent that are both written in JAX step in one call for all rollouts.

Each tick is two compiled calls, the very ones that a single environment and a single question use, so that what comes
out is the same bit for bit; only the looking at it is done for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import random_action
from tightrope.agents.networks.jax_network import JaxNetwork
from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.player import Walker
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.lockstep import Run
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import require_fault
from tightrope.outcome import Outcome
from tightrope.tasks.jaxworlds import JaxEnvironment
from tightrope.tasks.jaxworlds.rows import WIDTH, Rows, key_of, rows_of

REFILL = WIDTH // 4
"""Rows that are free before new rollouts are put in: doing so copies all of them once."""
LONGEST_KEPT = 2048
"""Steps that can be looked back on; a longer episode is run in ordinary lanes."""


def runs_in_rows(walker: Walker, agent: Agent, rollouts: Sequence[Rollout], *, deterministic: bool) -> bool:
    """Whether world and agent are both JAX's, and nothing is asked that only a single environment can tell."""
    simulator = walker.simulator
    if not isinstance(simulator.env, JaxEnvironment) or not isinstance(agent, NetworkAgent):
        return False
    if not isinstance(agent.network, JaxNetwork) or not agent.picks_the_best_of_numbered:
        return False
    if deterministic and not simulator.env.draws_nothing:
        # An episode on whose way something may have been drawn is doubted one by one.
        return False
    own = all(deterministic or rollout.fixed_prefix or not rollout.start.actions for rollout in rollouts)
    looks = any(rollout.record_keys or rollout.record_positions for rollout in rollouts)
    greedy = agent.behaviour.kind == "greedy"
    return own and greedy and not looks and simulator.time_limit <= LONGEST_KEPT


class RowLanes:
    """WIDTH rollouts of one agent at a time."""

    def __init__(self, walker: Walker, agent: Agent, counters: Counters) -> None:
        env: Any = walker.simulator.env
        assert isinstance(agent, NetworkAgent)
        assert isinstance(agent.network, JaxNetwork)
        self._walker, self._agent, self._counters = walker, agent, counters
        self._rows: Rows = rows_of(env.world)
        self._network = agent.network
        self._epsilon = agent.behaviour.epsilon
        self._runs: list[Run | None] = [None] * WIDTH
        self._situations: Any = None
        self._observations: Any = None
        self._tick = 0
        self._begun, self._limit, self._ends = (np.zeros(WIDTH, dtype=np.int64) for _ in range(3))
        self._live = np.zeros(WIDTH, dtype=bool)
        self._actions = np.zeros((LONGEST_KEPT, WIDTH), dtype=np.int64)
        self._rewards = np.zeros((LONGEST_KEPT, WIDTH))
        self._noise = np.full((LONGEST_KEPT, WIDTH), -1, dtype=np.int64)

    def run(self, runs: Iterator[Run]) -> Iterator[Run]:
        """Run all, and yield each when it is over or has failed."""
        more = True
        while more or self._live.any():
            free = WIDTH - int(self._live.sum())
            if more and (free >= REFILL or free == WIDTH):
                over, more = self._refill(runs)
                yield from over
            if self._live.any():
                yield from self._step_all()

    def _refill(self, runs: Iterator[Run]) -> tuple[list[Run], bool]:
        """Put new rollouts into the free rows; those that are over already, and whether there may be more."""
        over: list[Run] = []
        places = list(np.flatnonzero(~self._live))
        begun: list[tuple[int, Any, Any]] = []
        more = True
        while places:
            run = next(runs, None)
            if run is None:
                more = False
                break
            started = self._begin(run)
            if started is None:
                over.append(run)
                continue
            place = int(places.pop())
            self._enter(place, run)
            begun.append((place, *started))
        if begun:
            self._place(begun)
        return over, more

    def _begin(self, run: Run) -> tuple[Any, Any] | None:
        """Where a rollout begins, and what it shows; None: it is over before the agent is asked."""
        if run.failed or run.prefix_outcome.terminal or run.point is None or run.limit == 0:
            return None
        try:
            self._walker.go(run.point)
        except BaseException as error:
            require_fault(error)
            run.failed, run.failure = True, error
            return None
        simulator: Any = self._walker.simulator
        key, state = simulator.env.situation
        if run.reseed is not None:
            key = key_of(run.reseed)
        return (key, state), simulator.transition.observation

    def _enter(self, place: int, run: Run) -> None:
        simulator = self._walker.simulator
        self._runs[place], self._live[place] = run, True
        self._begun[place] = self._tick
        self._ends[place] = simulator.cut_at - simulator.depth
        longest = simulator.time_limit - simulator.depth
        self._limit[place] = longest if run.limit is None else min(run.limit, longest)
        if self._epsilon:
            self._draw(place, run)

    def _draw(self, place: int, run: Run) -> None:
        """When the rollout's own stream has the agent play at random, and what: it does not hang on what is seen."""
        assert run.generator is not None
        steps, space = int(self._limit[place]), self._walker.simulator.env.action_space
        slots = np.arange(self._tick, self._tick + steps) % LONGEST_KEPT
        self._noise[slots, place] = -1
        for step, action in planned_noise(run.generator, self._epsilon, space, steps):
            self._noise[slots[step], place] = action

    def _place(self, begun: list[tuple[int, Any, Any]]) -> None:
        places = [place for place, _, _ in begun]
        new = self._rows.stacked([situation for _, situation, _ in begun])
        seen = np.stack([observation for _, _, observation in begun])
        if self._situations is None:
            # Whatever is in rows that nobody uses is stepped too; it must only be some situation.
            self._situations = self._rows.filled(begun[0][1])
            self._observations = np.broadcast_to(seen[0], (WIDTH, *seen.shape[1:]))
        self._situations = self._rows.replaced(self._situations, places, new)
        observations = np.array(self._observations)
        observations[places] = seen
        self._observations = observations

    def _step_all(self) -> Iterator[Run]:
        actions = self._ask()
        if actions is None:
            yield from self._fail_all()
            return
        started = perf_counter()
        self._situations, shown = self._rows.step(self._situations, actions)
        self._observations = shown.observation
        slot = self._tick % LONGEST_KEPT
        self._actions[slot], self._rewards[slot] = actions, shown.reward
        self._tick += 1
        age = self._tick - self._begun
        unsafe, goal = np.asarray(shown.unsafe), np.asarray(shown.goal)
        ended = np.asarray(shown.terminated) | np.asarray(shown.truncated) | (age == self._ends)
        over = self._live & (unsafe | goal | ended | (age == self._limit))
        self._counters.seconds_environment += perf_counter() - started
        for place in np.flatnonzero(over):
            yield self._finished(int(place), _outcome(unsafe[place], goal[place], ended[place]))

    @calls_out("agent {self._agent.name!r}", _network="its answer")
    def _ask(self) -> NDArray[np.int64] | None:
        started = perf_counter()
        try:
            scores = np.asarray(self._network.compiled(self._observations))
            best = self._agent.best_of_numbered(scores)
        except BaseException as error:
            require_fault(error)
            return None
        finally:
            self._counters.seconds_agent += perf_counter() - started
            self._counters.agent_queries += 1
            self._counters.observations_answered += int(self._live.sum())
        if self._epsilon:
            noise = self._noise[self._tick % LONGEST_KEPT]
            best = np.where(noise >= 0, noise, best)
        return best

    def _finished(self, place: int, outcome: Outcome) -> Run:
        run = self._runs[place]
        assert run is not None
        slots = np.arange(self._begun[place], self._tick) % LONGEST_KEPT
        run.actions = self._actions[slots, place].tolist()
        run.rewards = _shared_floats(self._rewards[slots, place])
        run.outcome = outcome
        # A world that goes on beyond the time limit it named: to be run alone, which looks at every step.
        run.failed = outcome is Outcome.ONGOING and len(slots) != run.limit
        self._walker.simulator.counters.steps += len(slots)
        self._runs[place], self._live[place] = None, False
        return run

    def _fail_all(self) -> Iterator[Run]:
        """The agent raised; each rollout is run again alone, which tells whose fault it was."""
        for place in np.flatnonzero(self._live):
            run = self._runs[place]
            assert run is not None
            run.failed, self._live[place] = True, False
            yield run


def planned_noise(
    generator: np.random.Generator, epsilon: float, space: gym.Space[Any], steps: int
) -> Iterator[tuple[int, Any]]:
    """At which of so many steps an action is replaced by noise, and by which: what asking step by step would give.

    Numbers are drawn for all steps at once; at the first that means noise the stream goes back to just behind it.
    """
    bits, done = generator.bit_generator, 0
    while done < steps:
        # Going back forgets the half of a number that the last whole number left over.
        left_over = {name: bits.state[name] for name in ("has_uint32", "uinteger")}
        noisy = np.flatnonzero(generator.random(steps - done) < epsilon)
        if not noisy.size:
            return
        first = int(noisy[0])
        bits.advance(first + 1 - (steps - done))  # type: ignore[attr-defined]
        bits.state = {**bits.state, **left_over}
        done += first + 1
        yield done - 1, random_action(space, generator)


def _outcome(unsafe: Any, goal: Any, ended: Any) -> Outcome:
    if unsafe:
        return Outcome.UNSAFE
    if goal:
        return Outcome.GOAL
    return Outcome.TRUNCATED if ended else Outcome.ONGOING


def _shared_floats(rewards: NDArray[np.float64]) -> list[Any]:
    """As a list that keeps equal numbers once: a million steps of the same reward are one object."""
    if len(rewards) and (rewards == rewards[0]).all():
        return [float(rewards[0])] * len(rewards)
    known: dict[float, float] = {}
    return [known.setdefault(reward, reward) for reward in rewards.tolist()]
