"""The moment at which a failed episode was lost, by trying: the last from which somebody survives.

Somebody is an agent at hand, a held action, random actions, or where nothing is random a short search. From the harm
backwards the distance doubles until somebody survives; where nothing is random, the moment is then found by bisection.
Doom is not proven by this, and need not be: what is shown is that the choice there matters, since the agent went on to
fail and somebody did not. That takes hundreds of steps where a proof would take thousands, and works for continuous
actions and where chance decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from tightrope.errors import EnvironmentFailure
from tightrope.execution import Engine, Episode, Rollout
from tightrope.explanation.blame import few_numbers
from tightrope.exploration.escapes import LONGEST_HOLD, EscapeTask, Seeker
from tightrope.failures.likelihood import held_actions
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed, generator, stable_hash
from tightrope.simulation import Simulator, open_simulator, play
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

HORIZON = 40
"""Steps that somebody must survive beyond the harm."""
FARTHEST = 64
"""Steps before the harm beyond which nobody looks: what is lost earlier than that was not lost by one decision."""
NEAREST_BY_CHANCE = 8
"""Where chance decides the moment is not told to the step, and nearer to the harm hardly anybody survives."""
RUNS_BY_CHANCE, ENOUGH = 4, 3
"""Where chance decides: runs of each that is tried, and how many of them must survive."""
EFFORT = 800
"""Where nothing is random: steps for one moment."""
RANDOM_TRIES = 2
"""Where nothing is random: tries with random actions, each held for a while."""


@dataclass(frozen=True, kw_only=True)
class LastMoment:
    """The last moment from which somebody survived."""

    depth: int
    """Steps since reset."""
    action: Action
    """What was done there."""
    escape: ActionTrace = field(repr=False)
    """How somebody survived, from reset on and with its luck."""
    who: str
    """Who did."""
    key: int = field(repr=False)
    """Hash of the state key there."""
    observation: tuple[float, ...] | None = field(default=None, repr=False)
    """What was seen there, where that is a few numbers."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A situation to be survived: work for one worker."""

    prefix: ActionTrace
    actions: tuple[Action, ...]
    length: int
    deterministic: bool
    limit: float = math.inf
    """Steps after which nobody more is tried."""
    survived_by: str = ""
    """Who is known to survive, so that nobody need be tried; the situation is only looked at."""


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """What came of it."""

    who: str
    """Who survived; empty: nobody."""
    escape: ActionTrace | None
    key: int
    observation: tuple[float, ...] | None
    steps: int


def find_moments(
    engine: Engine,
    episodes: Sequence[Episode],
    agents: Sequence[str] = (),
    length: int = HORIZON,
    limit: float = math.inf,
) -> tuple[list[LastMoment | None], int]:
    """Of each failed episode the moment it was lost, None where none was found; and the steps it took.

    ``limit``: steps after which what is known is returned.
    """
    first = 1 if engine.deterministic else NEAREST_BY_CHANCE
    searches = [_Backwards(episode.trace, first) for episode in episodes]
    steps = 0
    while steps < limit and (asked := [search for search in searches if search.depth is not None]):
        prefixes = [search.trace.prefix(search.depth or 0) for search in asked]
        # Beyond the harm: to come as far as the agent did is not to survive.
        watched = [len(search.trace) - len(prefix) + length for search, prefix in zip(asked, prefixes, strict=True)]
        if steps + _least_price(engine, prefixes, agents, watched) > limit:
            break
        by_agents, cost = _by_agents(engine, prefixes, agents, watched)
        actions = held_actions(engine.task)
        work = [
            Attempt(
                prefix=prefix,
                actions=actions,
                length=steps_to_survive,
                deterministic=engine.deterministic,
                limit=(limit - steps - cost) / len(asked),
                survived_by="" if survivor is None else str(survivor.rollout.agent),
            )
            for prefix, survivor, steps_to_survive in zip(prefixes, by_agents, watched, strict=True)
        ]
        answers: list[Attempted] = engine.map(attempt, work)
        steps += cost + sum(answer.steps for answer in answers)
        for search, answer, survivor in zip(asked, answers, by_agents, strict=True):
            known = answer if survivor is None else replace(answer, escape=survivor.trace)
            search.tell(known, refine=engine.deterministic)
    return [search.found for search in searches], steps


def _least_price(engine: Engine, prefixes: Sequence[ActionTrace], agents: Sequence[str], lengths: Sequence[int]) -> int:
    """Steps that asking about these situations takes at least: the ways there, and the agents' runs."""
    runs = len(agents) * (1 if engine.deterministic else RUNS_BY_CHANCE)
    ways = 1 + (runs if engine.conformance.method == REPLAY else 0)
    return sum(len(prefix) * ways + length * runs for prefix, length in zip(prefixes, lengths, strict=True))


class _Backwards:
    """Asks about moments of one failed episode, from its end backwards, then between the last two answers."""

    def __init__(self, trace: ActionTrace, distance: int) -> None:
        self.trace, self._distance = trace, min(distance, len(trace))
        self._lost = len(trace)
        self.found: LastMoment | None = None
        self.depth: int | None = len(trace) - self._distance if len(trace) else None

    def tell(self, answer: Attempted, *, refine: bool) -> None:
        """Take the answer for ``depth`` and choose the next."""
        assert self.depth is not None
        if not answer.who or answer.escape is None:
            self._lost = self.depth
        else:
            self.found = LastMoment(
                depth=self.depth,
                action=self.trace.actions[self.depth],
                escape=answer.escape,
                who=answer.who,
                key=answer.key,
                observation=answer.observation,
            )
        self.depth = self._next(refine)

    def _next(self, refine: bool) -> int | None:
        if self.found is None:
            self._distance *= 2
            earlier = len(self.trace) - self._distance
            return earlier if self._distance <= FARTHEST and earlier >= 0 else None
        between = (self.found.depth + self._lost) // 2
        return between if refine and between > self.found.depth else None


def _by_agents(
    engine: Engine, prefixes: Sequence[ActionTrace], agents: Sequence[str], lengths: Sequence[int]
) -> tuple[list[Episode | None], int]:
    """For each situation an episode of an agent that survives often enough, and what it took."""
    runs = 1 if engine.deterministic else RUNS_BY_CHANCE
    rollouts = [
        Rollout(
            start=prefix,
            agent=agent,
            length=length,
            seed=derive_seed("moment", prefix.id, agent, number),
            fixed_prefix=True,
        )
        for prefix, length in zip(prefixes, lengths, strict=True)
        for agent in agents
        for number in range(runs)
    ]
    episodes = engine.run(rollouts)
    survivors: list[Episode | None] = []
    for place in range(len(prefixes)):
        survivor = None
        for number in range(len(agents)):
            first = (place * len(agents) + number) * runs
            safe = [each for each in episodes[first : first + runs] if _survived(each)]
            if survivor is None and len(safe) >= (1 if engine.deterministic else ENOUGH):
                survivor = safe[0]
        survivors.append(survivor)
    return survivors, price(engine, episodes)


def price(engine: Engine, episodes: Sequence[Episode]) -> int:
    """Steps that episodes take whose starts are known: what was executed hangs on who did it, and a budget must not."""
    replayed = engine.conformance.method == REPLAY
    # A run that takes no step has cost a reset, and must not be free for ever.
    return sum(max(1, len(each.actions) + (each.prefix_steps if replayed else 0)) for each in episodes)


def _survived(episode: Episode) -> bool:
    return episode.error is None and episode.reached_handover and episode.outcome is not Outcome.UNSAFE


def attempt(task: Task, work: Attempt) -> Attempted:
    """Try to survive a situation."""
    with closing(open_simulator(task)) as simulator:
        for _ in play(simulator, work.prefix):
            pass
        key, seen = stable_hash(simulator.key()), few_numbers(simulator.observation)
        who, escape = work.survived_by, None
        if not who and not simulator.outcome.terminal:
            searched = work.deterministic and simulator.snapshotter is not None
            who, escape = _searched(simulator, work) if searched else _Attempts(simulator, work).survivor()
        counters = simulator.counters
        # Where situations can be saved, the way there was played before.
        steps = counters.steps + counters.replayed_steps
        return Attempted(who=who, escape=escape, key=key, observation=seen, steps=steps)


def _searched(simulator: Simulator, work: Attempt) -> tuple[str, ActionTrace | None]:
    """Where nothing is random and situations can be saved: quick attempts, then a search with backtracking."""
    task = EscapeTask(
        prefixes=(),
        actions=work.actions,
        deterministic=True,
        provable=False,
        length=work.length,
        steps_per_case=int(max(0, min(EFFORT, work.limit - simulator.depth))),
    )
    found = Seeker(simulator, task).seek_here(work.prefix)
    return ("", None) if found.witness is None else (found.evidence, work.prefix.then(found.witness))


class _Attempts:
    """Plays continuations from one situation."""

    def __init__(self, simulator: Simulator, work: Attempt) -> None:
        self.simulator, self.work, self.start = simulator, work, simulator.save()

    @property
    def _spent(self) -> int:
        return self.simulator.counters.steps + self.simulator.counters.replayed_steps

    def survivor(self) -> tuple[str, ActionTrace | None]:
        """The first who survives, and how; nobody: an empty name."""
        runs, enough = (1, 1) if self.work.deterministic else (RUNS_BY_CHANCE, ENOUGH)
        for action in self.work.actions:
            ways = self._runs(f"action {action} held", (action,), runs, enough)
            if len(ways) >= enough:
                return f"action {action} held", ways[0]
        runs, enough = (RANDOM_TRIES, 1) if self.work.deterministic else (RUNS_BY_CHANCE, ENOUGH)
        ways = self._runs("random actions", self.work.actions, runs, enough)
        return ("random actions", ways[0]) if len(ways) >= enough else ("", None)

    def _runs(self, name: str, actions: tuple[Action, ...], runs: int, enough: int) -> list[ActionTrace]:
        ways: list[ActionTrace] = []
        for number in range(runs):
            if self._spent >= self.work.limit:
                break
            if len(ways) + runs - number < enough or len(ways) >= enough:
                break
            way = self._run(derive_seed("attempt", self.work.prefix.id, name, number), actions)
            ways += [] if way is None else [way]
        return ways

    def _run(self, seed: int, actions: tuple[Action, ...]) -> ActionTrace | None:
        """One run of held actions drawn from these; the whole way, if it survives."""
        simulator, prefix, rng = self.simulator, self.work.prefix, generator("attempt", seed)
        fresh = None if self.work.deterministic else seed
        simulator.load(self.start, reseed=fresh)
        played: list[Action] = []
        try:
            while len(played) < self.work.length and not simulator.outcome.terminal:
                available = simulator.available_actions(actions)
                if not available:
                    return None
                action = available[int(rng.integers(len(available)))]
                for _ in range(int(rng.integers(1, LONGEST_HOLD + 1))):
                    simulator.advance(action)
                    played.append(action)
                    if simulator.outcome.terminal or len(played) == self.work.length:
                        break
        except EnvironmentFailure:
            return None
        if simulator.outcome is Outcome.UNSAFE:
            return None
        way = prefix.then(played)
        return way if fresh is None else replace(way, reseeds=(*prefix.reseeds, (len(prefix), seed)))
