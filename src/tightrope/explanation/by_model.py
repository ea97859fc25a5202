"""The fails of an agent where chance decides and situations come again: all of them together, by a model of the task.

A failed episode is a row of decisions, and the same decisions come in many of them. What each costs is learnt once:
how often the best known player survives before it, and after it. Then every fail is told by what it shares with others:
the one decision that cost most, many that cost a little each, or none that cost anything, which is bad luck.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tightrope.execution import Engine, Episode
from tightrope.explanation.cause import Cause
from tightrope.explanation.chance import MOST_MOMENTS, drop_between
from tightrope.explanation.explanation import Explanation
from tightrope.explanation.learning import Learner
from tightrope.explanation.watching import keys_along
from tightrope.exploration.learnt_survival import Decision
from tightrope.exploration.policies import ByTable
from tightrope.statistics import Estimate, rate_estimate
from tightrope.trace import Action, ActionTrace

NOTICEABLE = 0.05
"""What one decision must cost to be a cause by itself, in survival: less needs thousands of runs to be seen."""
LITTLE = 0.1
"""What all decisions of an episode must give away together, of the chance to survive, to be more than bad luck."""
DOUBTFUL = 0.25
"""Where so much may have been given away, it is not called luck."""
FEWEST_RETURNS = 2
"""How often a decision comes in the fails, in the mean, below which there is nothing to learn together."""
SHARE_OF_LEARNING = 0.75
"""Of the steps; the rest measures the most frequent decisions with fresh runs."""
MOST_MEASURED, PLACES = 5, 8
"""Decisions that are measured, and episodes in which each is, from the shortest on."""
FEWEST_RUNS, MOST_RUNS, OTHERS = 40, 800, 4
POWER = 2.8
"""Standard errors that a drop should measure: then 80 in 100 of such drops are shown at 95 %."""
EPISODES_AT_A_TIME = 16

Floats = NDArray[np.float64]


@dataclass
class _Fail:
    """One failed episode as a row of decisions."""

    episode: Episode
    decisions: list[Decision]
    places: list[int]
    """Where each stands among all decisions."""

    @property
    def trace(self) -> ActionTrace:
        return self.episode.trace

    def depth(self, decision: Decision) -> int:
        """The last moment at which it was made."""
        last = max(place for place, made in enumerate(self.decisions) if made == decision)
        return self.episode.prefix_steps + last


def explain_by_model(
    engine: Engine, episodes: Sequence[Episode], length: int, actions: tuple[Action, ...], steps: int
) -> list[Explanation | None] | None:
    """Why each failed; None where that stays open, and None for all where there is too much to learn."""
    if not engine.task.key_is_exact:
        return None
    fails = _fails(engine, episodes)
    made = Counter(decision for fail in fails for decision in fail.decisions)
    if not made or made.total() < FEWEST_RETURNS * len(made):
        return None
    learner = Learner(engine, length, actions)
    learnt = learner.learn(_starts(fails, made), int(steps * SHARE_OF_LEARNING))
    if learnt is None:
        return None
    model, policy = learnt
    order = {decision: place for place, decision in enumerate(made)}
    for fail in fails:
        fail.places = [order[decision] for decision in fail.decisions]
    before, after = model.of(list(made))
    found = _Found(fails, list(made), before, after, model.steps, length)
    measure = _Measure(learner, policy, actions, steps)
    return found.explanations(measure)


def _fails(engine: Engine, episodes: Sequence[Episode]) -> list[_Fail]:
    traces = [episode.trace for episode in episodes]
    parts = [tuple(traces[at : at + EPISODES_AT_A_TIME]) for at in range(0, len(traces), EPISODES_AT_A_TIME)]
    keys = [row for part in engine.map(keys_along, parts) for row in part]
    return [_Fail(episode, _decisions(episode, row), []) for episode, row in zip(episodes, keys, strict=True)]


def _decisions(episode: Episode, keys: Sequence[int]) -> list[Decision]:
    """What the agent decided where; nothing where the episode no longer goes as it went."""
    if len(keys) != len(episode.trace) + 1:
        return []
    return list(zip(keys[episode.prefix_steps : -1], episode.actions, strict=True))


def _starts(fails: Sequence[_Fail], made: Counter[Decision]) -> dict[Decision, ActionTrace]:
    """For each decision the shortest way to it; the most frequent first."""
    found: dict[Decision, ActionTrace] = {}
    for fail in fails:
        for number, decision in enumerate(fail.decisions):
            depth = fail.episode.prefix_steps + number
            if decision not in found or depth < len(found[decision]):
                found[decision] = fail.trace.prefix(depth)
    return {decision: found[decision] for decision, _ in made.most_common()}


class _Found:
    """What the model says of the fails: rows are draws of its counts, the first as they are."""

    def __init__(
        self, fails: list[_Fail], made: list[Decision], before: Floats, after: Floats, steps: int, length: int
    ) -> None:
        self.fails, self.made, self.before, self.steps, self.length = fails, made, before, steps, length
        self._known_survival: dict[int, Estimate] = {}
        self.drops = before - after
        with np.errstate(invalid="ignore", divide="ignore"):
            kept = np.where(before > 0, after / before, 1.0)
        self.kept = np.where(np.isnan(before), np.nan, np.maximum(kept, 0.0))
        self.given = [1.0 - np.minimum(self.kept[:, fail.places].prod(axis=1), 1.0) for fail in fails]

    def explanations(self, measure: _Measure) -> list[Explanation | None]:
        """One for each fail."""
        found: list[Explanation | None] = [None] * len(self.fails)
        by_decision: defaultdict[Decision, list[int]] = defaultdict(list)
        rest = []
        for number, fail in enumerate(self.fails):
            worst = self._worst(fail)
            if worst is not None:
                by_decision[worst].append(number)
            elif fail.decisions and not np.isnan(self.given[number][0]):
                rest.append(number)
        frequent = sorted(by_decision, key=lambda decision: -len(by_decision[decision]))
        for place, decision in enumerate(frequent):
            members = by_decision[decision]
            shared, better = self._drop(decision), dict[Action, list[ActionTrace | None]]()
            if place < MOST_MEASURED:
                left = min(MOST_MEASURED, len(frequent)) - place
                fails = [self.fails[each] for each in members]
                measured, better = measure.drop(decision, fails, *self._known(decision), left)
                if (measured.high or 0.0) < (shared.low or 0.0):
                    rest += members
                    continue
                shared = measured if _shown(measured) else shared
            for each in members:
                found[each] = self._by_decision(each, decision, shared, better)
        for cause, members in self._without(rest).items():
            shared = self._mean(members)
            for each in members:
                found[each] = self._by_all(each, cause, shared)
        return found

    def _worst(self, fail: _Fail) -> Decision | None:
        """The decision that cost most, where one cost enough by itself."""
        costs = self.drops[0, fail.places]
        if not len(costs) or np.isnan(costs).all():
            return None
        worst = fail.places[int(np.nanargmax(costs))]
        shown = self.drops[0, worst] >= NOTICEABLE and np.quantile(self.drops[1:, worst], 0.025) > 0
        return self.made[worst] if shown else None

    def _without(self, members: Sequence[int]) -> dict[Cause, list[int]]:
        """Those that no single decision is to blame for, by what is."""
        found: dict[Cause, list[int]] = {}
        for number in members:
            given = self.given[number]
            low, high = np.quantile(given[1:], (0.025, 0.975))
            if given[0] >= LITTLE and low > 0:
                found.setdefault(Cause.LITTLE_BY_LITTLE, []).append(number)
            elif given[0] < LITTLE and high <= DOUBTFUL:
                found.setdefault(Cause.LUCK, []).append(number)
            else:
                found.setdefault(Cause.OPEN, []).append(number)
        return found

    def _known(self, decision: Decision) -> tuple[float, float]:
        place = self.made.index(decision)
        return float(self.before[0, place]), float(self.before[0, place] - self.drops[0, place])

    def _drop(self, decision: Decision) -> Estimate:
        return self._estimate(self.drops[:, self.made.index(decision)])

    def _mean(self, members: Sequence[int]) -> Estimate:
        return self._estimate(np.mean([self.given[number] for number in members], axis=0))

    def _estimate(self, draws: Floats) -> Estimate:
        value, (low, high) = float(draws[0]), np.quantile(draws[1:], (0.025, 0.975))
        method = f"95% by drawing again what {self.steps} steps of a learnt model showed"
        return Estimate(value, min(value, float(low)), max(value, float(high)), self.steps, method)

    def _by_decision(
        self, number: int, decision: Decision, drop: Estimate, better: Mapping[Action, Sequence[ActionTrace | None]]
    ) -> Explanation:
        fail = self.fails[number]
        depth = fail.depth(decision)
        start = fail.trace.prefix(depth)
        escapes = {
            action: way
            for action, ways in better.items()
            for way in ways
            if way is not None and len(way) > depth and way.prefix(depth) == start
        }
        return replace(
            self._bare(number),
            depth=depth,
            action=decision[1],
            better=tuple(better),
            witnesses=escapes,
            agents_fault=True,
            key=decision[0],
            drop=drop,
        )

    def _by_all(self, number: int, cause: Cause, given: Estimate) -> Explanation:
        bare, fail = replace(self._bare(number), cause=cause, given_away=given), self.fails[number]
        if cause is not Cause.LITTLE_BY_LITTLE:
            return bare
        costs: defaultdict[int, float] = defaultdict(float)
        for place in fail.places:
            costs[place] += float(self.drops[0, place])
        dearest = self.made[max(costs, key=costs.__getitem__)]
        fault = (given.low or 0.0) > 0 or None
        return replace(bare, depth=fail.depth(dearest), action=dearest[1], key=dearest[0], agents_fault=fault)

    def _bare(self, number: int) -> Explanation:
        fail = self.fails[number]
        return Explanation(
            trace=fail.trace,
            handover=fail.episode.prefix_steps,
            horizon=self.length,
            depth=None,
            action=None,
            agents_fault=None,
            proven=False,
            estimates=tuple(
                (fail.episode.prefix_steps + at, self._survival(place))
                for at, place in enumerate(fail.places)
                if at == 0 or at >= len(fail.places) - MOST_MOMENTS
            ),
        )

    def _survival(self, place: int) -> Estimate:
        if place not in self._known_survival:
            self._known_survival[place] = self._estimate(self.before[:, place])
        return self._known_survival[place]


def _shown(drop: Estimate) -> bool:
    return (drop.low or 0.0) > 0


@dataclass
class _Measure:
    """Fresh runs from where a decision was made, which no model has a part in but for whom they follow."""

    learner: Learner
    policy: ByTable
    actions: tuple[Action, ...]
    steps: int

    def drop(
        self, decision: Decision, fails: Sequence[_Fail], before: float, after: float, shares: int
    ) -> tuple[Estimate, dict[Action, list[ActionTrace | None]]]:
        """What it costs, and which actions are better, each with ways out from where it was tried."""
        chosen = sorted(fails, key=lambda fail: len(fail.trace))
        chosen = [chosen[0], *chosen[1 :: max(1, len(chosen) // PLACES)]][:PLACES]
        starts = [fail.trace.prefix(fail.depth(decision)) for fail in chosen]
        noise = before * (1 - before) + after * (1 - after)
        enough = noise * (POWER / (before - after)) ** 2
        # The best and what was done are run often; each other action a quarter as often, to see if it is better, too.
        arms = 2 + (len(self.actions) - 2) / OTHERS
        spare = (self.steps - self.learner.spent) / shares / (self.learner.length * arms)
        runs = int(max(FEWEST_RUNS, min(enough, spare, MOST_RUNS))) // len(starts) + 1
        best, ways = self._fared(starts, None, runs)
        taken, _ = self._fared(starts, decision[1], runs)
        drop = drop_between(best, taken)
        better = {way.actions[len(start)]: ways for start, way in zip(starts, ways, strict=True) if way is not None}
        for action in self.actions if _shown(drop) else ():
            if action not in better and action != decision[1]:
                rate, ways = self._fared(starts, action, runs // OTHERS + 1)
                if _shown(drop_between(rate, taken)):
                    better[action] = ways
        return drop, better

    def _fared(
        self, starts: Sequence[ActionTrace], first: Action | None, runs: int
    ) -> tuple[Estimate, list[ActionTrace | None]]:
        tried = self.learner.fare(starts, self.policy, first, runs)
        counts = [each.survived[0] for each in tried if each is not None]
        ways = [None if each is None else each.escapes[0] for each in tried]
        return rate_estimate(sum(counts), runs * len(counts)), ways
