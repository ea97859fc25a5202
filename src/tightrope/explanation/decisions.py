"""Failed episodes as rows of decisions, and what a decision costs, measured with fresh runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tightrope.execution import Engine, Episode
from tightrope.explanation.chance import drop_between
from tightrope.explanation.learning import Learner
from tightrope.explanation.watching import keys_along
from tightrope.exploration.learnt_survival import Decision
from tightrope.exploration.policies import ByTable
from tightrope.statistics import Estimate, rate_estimate
from tightrope.trace import Action, ActionTrace

PLACES = 8
"""Episodes in which a decision is measured, from the shortest on."""
FEWEST_RUNS, MOST_RUNS, OTHERS = 40, 800, 4
POWER = 2.8
"""Standard errors that a drop should measure: then 80 in 100 of such drops are shown at 95 %."""
EPISODES_AT_A_TIME = 16


@dataclass
class Fail:
    """One failed episode as a row of decisions."""

    episode: Episode
    decisions: list[Decision]
    places: list[int]
    """Where each stands among all decisions."""

    @property
    def trace(self) -> ActionTrace:
        """The whole episode from reset on."""
        return self.episode.trace

    def depth(self, decision: Decision) -> int:
        """The last moment at which it was made."""
        last = max(place for place, made in enumerate(self.decisions) if made == decision)
        return self.episode.prefix_steps + last


def decisions_of(engine: Engine, episodes: Sequence[Episode]) -> list[Fail]:
    """Failed episodes as rows of decisions."""
    traces = [episode.trace for episode in episodes]
    parts = [tuple(traces[at : at + EPISODES_AT_A_TIME]) for at in range(0, len(traces), EPISODES_AT_A_TIME)]
    keys = [row for part in engine.map(keys_along, parts) for row in part]
    return [Fail(episode, _decisions(episode, row), []) for episode, row in zip(episodes, keys, strict=True)]


def _decisions(episode: Episode, keys: Sequence[int]) -> list[Decision]:
    """What the agent decided where; nothing where the episode no longer goes as it went."""
    if len(keys) != len(episode.trace) + 1:
        return []
    return list(zip(keys[episode.prefix_steps : -1], episode.actions, strict=True))


def first_ways(fails: Sequence[Fail], made: Counter[Decision]) -> dict[Decision, ActionTrace]:
    """For each decision the shortest way to it; the most frequent first."""
    found: dict[Decision, ActionTrace] = {}
    for fail in fails:
        for number, decision in enumerate(fail.decisions):
            depth = fail.episode.prefix_steps + number
            if decision not in found or depth < len(found[decision]):
                found[decision] = fail.trace.prefix(depth)
    return {decision: found[decision] for decision, _ in made.most_common()}


def runs_to_show(before: float, after: float) -> float:
    """Runs of each after which such a drop of survival is shown in 80 of 100 cases."""
    noise = before * (1 - before) + after * (1 - after)
    return noise * (POWER / (before - after)) ** 2


def is_shown(drop: Estimate) -> bool:
    """Whether it is beyond chance."""
    return (drop.low or 0.0) > 0


@dataclass
class FreshRuns:
    """Fresh runs from where a decision was made, which no model has a part in but for whom they follow."""

    learner: Learner
    policy: ByTable
    actions: tuple[Action, ...]
    steps: int
    best: Estimate = field(default_factory=Estimate.of_nothing)
    """How often the best player known survived in the latest measurement."""

    def drop(
        self, decision: Decision, fails: Sequence[Fail], shares: int = 1, enough: float = math.inf
    ) -> tuple[Estimate, dict[Action, list[ActionTrace | None]]]:
        """What it costs, and which actions are better, each with ways out from where it was tried.

        ``shares``: how many decisions have a share in the steps that are left; ``enough``: more runs are not needed.
        """
        chosen = sorted(fails, key=lambda fail: len(fail.trace))
        chosen = [chosen[0], *chosen[1 :: max(1, len(chosen) // PLACES)]][:PLACES]
        starts = [fail.trace.prefix(fail.depth(decision)) for fail in chosen]
        # The best and what was done are run often; each other action a quarter as often, to see if it is better, too.
        arms = 2 + (len(self.actions) - 2) / OTHERS
        spare = (self.steps - self.learner.spent) / shares / (self.learner.length * arms)
        runs = int(max(FEWEST_RUNS, min(enough, spare, MOST_RUNS))) // len(starts) + 1
        self.best, ways = self._fared(starts, None, runs)
        taken, _ = self._fared(starts, decision[1], runs)
        drop = drop_between(self.best, taken)
        better = {way.actions[len(start)]: ways for start, way in zip(starts, ways, strict=True) if way is not None}
        for action in self.actions if is_shown(drop) else ():
            if action not in better and action != decision[1]:
                rate, ways = self._fared(starts, action, runs // OTHERS + 1)
                if is_shown(drop_between(rate, taken)):
                    better[action] = ways
        return drop, better

    def _fared(
        self, starts: Sequence[ActionTrace], first: Action | None, runs: int
    ) -> tuple[Estimate, list[ActionTrace | None]]:
        tried = self.learner.fare(starts, self.policy, first, runs)
        counts = [each.survived[0] for each in tried if each is not None]
        ways = [None if each is None else each.escapes[0] for each in tried]
        return rate_estimate(sum(counts), runs * len(counts)), ways
