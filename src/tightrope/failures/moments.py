"""The moment at which a failed episode was lost, by trying: the last from which somebody survives.

Somebody is an agent at hand, a held action, random actions, or where nothing is random a short search. Where nothing
is random, hand-over is asked about first, and the moment is then found by bisection: nobody is dear to search for where
nobody survives. Where chance decides, the distance from the harm doubles until somebody survives.
Doom is not proven by this, and need not be: what is shown is that the choice there matters, since the agent went on to
fail and somebody did not. That takes hundreds of steps where a proof would take thousands, and works for continuous
actions and where chance decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tightrope.execution import Engine, Episode, Rollout
from tightrope.failures.attempts import ENOUGH, RUNS_BY_CHANCE, Attempt, Attempted, attempt
from tightrope.failures.likelihood import held_actions
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.trace import Action, ActionTrace

HORIZON = 40
"""Steps that somebody must survive beyond the harm."""
FARTHEST = 64
"""Steps before the harm beyond which nobody looks: what is lost earlier than that was not lost by one decision."""
NEAREST_BY_CHANCE = 8
"""Where chance decides the moment is not told to the step, and nearer to the harm hardly anybody survives."""


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
    reach: tuple[tuple[float, float], ...] | None = field(default=None, repr=False)
    """The least and the most of each of them on the way there."""


@dataclass(frozen=True)
class Look:
    """What came of looking for the moment of one failed episode."""

    moment: LastMoment | None
    """None: nobody was found who survives."""
    finished: bool
    """Whether all were tried; False: the steps ran out before anybody was found."""


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
    looks, steps = look_back(engine, episodes, agents, length, limit)
    return [look.moment for look in looks], steps


def look_back(
    engine: Engine,
    episodes: Sequence[Episode],
    agents: Sequence[str] = (),
    length: int = HORIZON,
    limit: float = math.inf,
) -> tuple[list[Look], int]:
    """The same, with whether the steps were enough to know."""
    questions = _Halving if engine.deterministic else _Backwards
    searches = [questions(episode) for episode in episodes]
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
            search.tell(known)
    return [search.look(in_time=steps < limit) for search in searches], steps


def _least_price(engine: Engine, prefixes: Sequence[ActionTrace], agents: Sequence[str], lengths: Sequence[int]) -> int:
    """Steps that asking about these situations takes at least: the ways there, and the agents' runs."""
    runs = len(agents) * (1 if engine.deterministic else RUNS_BY_CHANCE)
    ways = 1 + (runs if engine.conformance.method == REPLAY else 0)
    return sum(len(prefix) * ways + length * runs for prefix, length in zip(prefixes, lengths, strict=True))


class _Questions:
    """Asks about moments of one failed episode."""

    def __init__(self, episode: Episode) -> None:
        self.trace = episode.trace
        self.found: LastMoment | None = None
        self.depth: int | None = None
        """What is asked next; None: nothing more."""

    def look(self, *, in_time: bool) -> Look:
        """What is known; ``in_time``: whether the last question was answered before the steps ran out."""
        return Look(self.found, self.found is not None or (self.depth is None and in_time))

    def tell(self, answer: Attempted) -> None:
        """Take the answer for ``depth`` and choose the next."""
        assert self.depth is not None
        survived = bool(answer.who) and answer.escape is not None
        if answer.escape is not None and survived:
            self.found = LastMoment(
                depth=self.depth,
                action=self.trace.actions[self.depth],
                escape=answer.escape,
                who=answer.who,
                key=answer.key,
                observation=answer.observation,
                reach=answer.reach,
            )
        self.depth = self._next(self.depth, survived=survived)

    def _next(self, depth: int, *, survived: bool) -> int | None:
        raise NotImplementedError


class _Backwards(_Questions):
    """From the harm backwards, twice as far each time: where chance decides, the moment is not told to the step."""

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode)
        self._distance = min(NEAREST_BY_CHANCE, len(self.trace))
        self.depth = len(self.trace) - self._distance if self._distance else None

    def _next(self, depth: int, *, survived: bool) -> int | None:
        self._distance *= 2
        earlier = len(self.trace) - self._distance
        return None if survived or self._distance > FARTHEST or earlier < 0 else earlier


class _Halving(_Questions):
    """At hand-over first, which tells whether it was the agent's to avoid; then between who survives and the harm.

    Where nobody survives from hand-over on, the farthest moment alone is asked about: it was lost in the disturbance.
    """

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode)
        self._lost = len(self.trace)
        self._farthest = max(0, self._lost - FARTHEST)
        self._handover = max(self._farthest, min(episode.prefix_steps, self._lost - 1))
        self.depth = self._handover if self._lost else None

    def _next(self, depth: int, *, survived: bool) -> int | None:
        if depth < self._handover or (depth == self._handover == self._farthest and not survived):
            return None
        if not survived and depth == self._handover:
            return self._farthest
        assert self.found is not None
        self._lost = self._lost if survived else depth
        between = (self.found.depth + self._lost) // 2
        return between if between > self.found.depth else None


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
