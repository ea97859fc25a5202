"""Could somebody survive a situation? Held actions, random ones, and where nothing is random a short search.

This runs where the environments are.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, replace

from tightrope.errors import EnvironmentFailure
from tightrope.explanation.blame import ObservedRange, few_numbers
from tightrope.exploration.escapes import LONGEST_HOLD, EscapeTask, Seeker
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed, generator, stable_hash
from tightrope.simulation import Simulator, open_simulator, play
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

RUNS_BY_CHANCE, ENOUGH = 4, 3
"""Where chance decides: runs of each that is tried, and how many of them must survive."""
EFFORT = 800
"""Where nothing is random: steps for one moment."""
RANDOM_TRIES = 2
"""Where nothing is random: tries with random actions, each held for a while."""


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
    reach: tuple[tuple[float, float], ...] | None
    """The least and the most of each number that was seen on the way there."""
    steps: int


def attempt(task: Task, work: Attempt) -> Attempted:
    """Try to survive a situation."""
    with closing(open_simulator(task)) as simulator:
        reach = ObservedRange()
        for _ in play(simulator, work.prefix):
            reach.add(few_numbers(simulator.observation))
        key, seen = stable_hash(simulator.key()), few_numbers(simulator.observation)
        who, escape = work.survived_by, None
        if not who and not simulator.outcome.terminal:
            searched = work.deterministic and simulator.snapshotter is not None
            who, escape = _searched(simulator, work) if searched else _Attempts(simulator, work).survivor()
        counters = simulator.counters
        # Where situations can be saved, the way there was played before.
        steps = counters.steps + counters.replayed_steps
        return Attempted(who=who, escape=escape, key=key, observation=seen, reach=reach.bounds, steps=steps)


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
