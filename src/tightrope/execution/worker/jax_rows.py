"""Lanes that are rows of arrays: a world and an agent that are both written in JAX step in one call for all rollouts.

Each tick is two compiled calls, the very ones that a single environment and a single question use, so that what comes
out is the same bit for bit; only the looking at it is done for all rows at once. Where there is more to do, many ticks
are one call (``jax_stretch``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.agent import Agent
from tightrope.agents.formats.jax_network import JaxNetwork
from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.errors import NotReproducible
from tightrope.execution.counters import Counters
from tightrope.execution.prefixes.player import TreePlayer
from tightrope.execution.prefixes.tree import TreePoint
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.jax_stretch import LONGEST, Met, Player, RowScene, Stretch, StretchPlan, stretches_of
from tightrope.execution.worker.lockstep import LaneRun
from tightrope.execution.worker.planned_noise import planned_noise
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import require_fault
from tightrope.outcome import Outcome
from tightrope.tasks.jaxworlds import JaxEnvironment
from tightrope.tasks.jaxworlds.rows import WIDTH, Rows, key_of, rows_of

REFILL = WIDTH // 4
"""Rows that are free before new rollouts are put in: doing so copies all of them once."""
LONGEST_KEPT = 2048
"""Steps that can be looked back on; a longer episode is run in ordinary lanes."""


def runs_in_rows(tree_player: TreePlayer, agent: Agent, rollouts: Sequence[Rollout], *, deterministic: bool) -> bool:
    """Whether world and agent are both JAX's, and nothing is asked that only a single environment can tell."""
    simulator = tree_player.simulator
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

    def __init__(self, tree_player: TreePlayer, agent: Agent, counters: Counters) -> None:
        env: Any = tree_player.simulator.env
        assert isinstance(agent, NetworkAgent)
        assert isinstance(agent.network, JaxNetwork)
        self._tree_player, self._agent, self._counters = tree_player, agent, counters
        self._rows: Rows = rows_of(env.world)
        space = env.action_space
        self._actions_from, self._number = int(space.start), int(space.n)
        self._stretches = stretches_of(
            Player(rows=self._rows, network=agent.network, actions=self._number, first=self._actions_from)
        )
        self._epsilon = agent.behaviour.epsilon
        self._runs: list[LaneRun | None] = [None] * WIDTH
        self._scene: RowScene | None = None
        self._tick = 0
        self._begun, self._limit, self._ends = (np.zeros(WIDTH, dtype=np.int64) for _ in range(3))
        self._live = np.zeros(WIDTH, dtype=bool)
        self._actions = np.zeros((WIDTH, LONGEST_KEPT), dtype=np.int64)
        self._rewards = np.zeros((WIDTH, LONGEST_KEPT))
        self._noise = np.full((LONGEST_KEPT if self._epsilon else LONGEST, WIDTH), -1, dtype=np.int32)
        self._start: _Start | None = None

    def run(self, runs: Iterator[LaneRun]) -> Iterator[LaneRun]:
        """Run all, and yield each when it is over or has failed."""
        more = True
        while more or self._live.any():
            free = WIDTH - int(self._live.sum())
            if more and (free >= REFILL or free == WIDTH):
                over, more = self._refill(runs)
                yield from over
            if self._live.any():
                yield from self._advance(fewest=WIDTH - REFILL + 1 if more else 1)

    def _refill(self, runs: Iterator[LaneRun]) -> tuple[list[LaneRun], bool]:
        """Put new rollouts into the free rows; those that are over already, and whether there may be more."""
        over: list[LaneRun] = []
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
            self._enter(place, run, started)
            situation = started.situation if run.reseed is None else (key_of(run.reseed), started.situation[1])
            begun.append((place, situation, started.observation))
        if begun:
            self._place(begun)
            if self._epsilon:
                self._plan_noise([place for place, _, _ in begun])
        return over, more

    def _begin(self, run: LaneRun) -> _Start | None:
        """Where a rollout begins; None: it is over before the agent is asked."""
        if run.failed or run.prefix_outcome.terminal or run.point is None or run.limit == 0:
            return None
        known = self._start
        if known is not None and known.point[0] is run.point[0] and known.point[1] == run.point[1]:
            return known
        try:
            self._tree_player.go(run.point)
        except BaseException as error:
            require_fault(error)
            run.failed, run.failure = True, error
            return None
        simulator: Any = self._tree_player.simulator
        self._start = _Start(
            run.point,
            simulator.env.situation,
            simulator.transition.observation,
            simulator.cut_at - simulator.depth,
            simulator.time_limit - simulator.depth,
        )
        return self._start

    def _enter(self, place: int, run: LaneRun, start: _Start) -> None:
        self._runs[place], self._live[place] = run, True
        self._begun[place] = self._tick
        self._ends[place] = start.ends
        self._limit[place] = start.longest if run.limit is None else min(run.limit, start.longest)

    def _plan_noise(self, places: list[int]) -> None:
        """When each rollout's own stream has the agent play at random, and what: it does not hang on what is seen."""
        streams = [run.generator for place in places if (run := self._runs[place]) is not None and run.generator]
        planned = planned_noise(streams, self._epsilon, self._number, self._limit[places].tolist())
        noise = np.where(planned >= 0, planned + self._actions_from, -1)
        slots = np.arange(self._tick, self._tick + noise.shape[1]) % LONGEST_KEPT
        self._noise[np.ix_(slots, np.array(places))] = noise.T

    def _place(self, begun: list[tuple[int, Any, Any]]) -> None:
        places = [place for place, _, _ in begun]
        new = self._rows.stacked([situation for _, situation, _ in begun])
        seen = np.stack([observation for _, _, observation in begun])
        if self._scene is None:
            # Whatever is in rows that nobody uses is stepped too; it must only be some situation.
            spread = np.broadcast_to(seen[0], (WIDTH, *seen.shape[1:]))
            self._scene = RowScene(self._rows.filled(begun[0][1]), spread)
        observations = np.array(self._scene.observations)
        observations[places] = seen
        self._scene = RowScene(self._rows.replaced(self._scene.situations, places, new), observations)

    def _advance(self, fewest: int) -> Iterator[LaneRun]:
        """Play until rollouts are over, or some ticks at least."""
        stretch = self._played(fewest)
        if stretch is None:
            yield from self._fail_all()
            return
        ticks = len(stretch.actions)
        slots = self._slots(self._tick, ticks)
        self._actions[:, slots], self._rewards[:, slots] = stretch.actions.T, stretch.rewards.T
        over = (stretch.met & Met.OVER) > 0
        ended_at = over.argmax(axis=0)
        for place in np.flatnonzero(self._live & over.any(axis=0)):
            tick = int(ended_at[place])
            yield self._finished(int(place), self._tick + tick + 1, int(stretch.met[tick, place]))
        self._tick += ticks

    @calls_out("agent {self._agent.name!r} and its world", play="an answer or a step")
    def _played(self, fewest: int) -> Stretch | None:
        """The next ticks; None where agent or world raised."""
        assert self._scene is not None
        age = self._tick - self._begun
        noise = self._noise[self._slots(self._tick, LONGEST)] if self._epsilon else self._noise
        plan = StretchPlan(
            noise, (self._ends - age).astype(np.int32), (self._limit - age).astype(np.int32), self._live, fewest
        )
        started, asked, stretch = perf_counter(), 1, None
        try:
            self._scene, stretch = self._stretches.play(self._scene, plan)
            asked = len(stretch.actions)
        except NotReproducible:
            raise
        except BaseException as error:
            require_fault(error)
        seconds, share = perf_counter() - started, self._stretches.agent_share
        self._counters.seconds_agent += share * seconds
        self._counters.seconds_environment += (1 - share) * seconds
        self._counters.agent_queries += asked
        return stretch

    @staticmethod
    def _slots(tick: int, ticks: int) -> Any:
        """Where so many ticks from this one on are kept."""
        first = tick % LONGEST_KEPT
        if first + ticks <= LONGEST_KEPT:
            return slice(first, first + ticks)
        return np.arange(first, first + ticks) % LONGEST_KEPT

    def _finished(self, place: int, end: int, met: int) -> LaneRun:
        run = self._runs[place]
        assert run is not None
        steps = end - int(self._begun[place])
        slots = self._slots(int(self._begun[place]), steps)
        run.actions = self._actions[place, slots].tolist()
        run.rewards = _shared_floats(self._rewards[place, slots])
        run.outcome = _outcome(met)
        # A world that goes on beyond the time limit it named: to be run alone, which looks at every step.
        run.failed = bool(met & Met.NO_NUMBER) or (run.outcome is Outcome.ONGOING and steps != run.limit)
        self._tree_player.simulator.counters.steps += steps
        self._counters.observations_answered += steps
        self._runs[place], self._live[place] = None, False
        return run

    def _fail_all(self) -> Iterator[LaneRun]:
        """Somebody raised; each rollout is run again alone, which tells whose fault it was."""
        for place in np.flatnonzero(self._live):
            run = self._runs[place]
            assert run is not None
            run.failed, self._live[place] = True, False
            yield run


class _Start(NamedTuple):
    """Where rollouts begin, and how long they can go on from there."""

    point: TreePoint
    situation: Any
    observation: Any
    ends: int
    longest: int


def _outcome(met: int) -> Outcome:
    if met & Met.UNSAFE:
        return Outcome.UNSAFE
    if met & Met.GOAL:
        return Outcome.GOAL
    return Outcome.TRUNCATED if met & Met.ENDED else Outcome.ONGOING


def _shared_floats(rewards: NDArray[np.float64]) -> list[Any]:
    """As a list that keeps equal numbers once: a million steps of the same reward are one object."""
    if len(rewards) and (rewards == rewards[0]).all():
        return [float(rewards[0])] * len(rewards)
    known: dict[float, float] = {}
    return [known.setdefault(reward, reward) for reward in rewards.tolist()]
