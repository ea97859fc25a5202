"""The fails of an agent where chance decides and situations come again: all of them together, by a model of the task.

A failed episode is a row of decisions, and the same decisions come in many of them. What each costs is learnt once:
how often the best known player survives before it, and after it. Then every fail is told by what it shares with others:
the one decision that cost most, many that cost a little each, or none that cost anything, which is bad luck.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tightrope.execution import Engine, Episode
from tightrope.explanation.cause import Cause
from tightrope.explanation.chance import MOST_MOMENTS
from tightrope.explanation.decisions import Fail, FreshRuns, decisions_of, first_ways, is_shown, runs_to_show
from tightrope.explanation.explanation import Explanation
from tightrope.explanation.learning import Learner
from tightrope.exploration.learnt_survival import Decision
from tightrope.statistics import Estimate
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
MOST_MEASURED = 5
"""Decisions that are measured."""

Floats = NDArray[np.float64]


def explain_by_model(
    engine: Engine, episodes: Sequence[Episode], length: int, actions: tuple[Action, ...], steps: int
) -> list[Explanation | None] | None:
    """Why each failed; None where that stays open, and None for all where there is too much to learn."""
    if not engine.task.key_is_exact:
        return None
    fails = decisions_of(engine, episodes)
    made = Counter(decision for fail in fails for decision in fail.decisions)
    if not made or made.total() < FEWEST_RETURNS * len(made):
        return None
    learner = Learner(engine, length, actions)
    learnt = learner.learn(first_ways(fails, made), int(steps * SHARE_OF_LEARNING))
    if learnt is None:
        return None
    model, policy = learnt
    order = {decision: place for place, decision in enumerate(made)}
    for fail in fails:
        fail.places = [order[decision] for decision in fail.decisions]
    before, after = model.of(list(made))
    found = Found(fails, list(made), before, after, model.steps, length)
    measure = FreshRuns(learner, policy, actions, steps)
    return found.explanations(measure)


class Found:
    """What the model says of the fails: rows are draws of its counts, the first as they are."""

    def __init__(
        self, fails: list[Fail], made: list[Decision], before: Floats, after: Floats, steps: int, length: int
    ) -> None:
        self.fails, self.made, self.before, self.steps, self.length = fails, made, before, steps, length
        self._known_survival: dict[int, Estimate] = {}
        self.drops = before - after
        with np.errstate(invalid="ignore", divide="ignore"):
            kept = np.where(before > 0, after / before, 1.0)
        self.kept = np.where(np.isnan(before), np.nan, np.maximum(kept, 0.0))
        self.given = [1.0 - np.minimum(self.kept[:, fail.places].prod(axis=1), 1.0) for fail in fails]

    def explanations(self, measure: FreshRuns) -> list[Explanation | None]:
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
                measured, better = measure.drop(decision, fails, left, runs_to_show(*self._known(decision)))
                if (measured.high or 0.0) < (shared.low or 0.0):
                    rest += members
                    continue
                shared = measured if is_shown(measured) else shared
            for each in members:
                found[each] = self.by_decision(each, decision, shared, better)
        for cause, members in self._without(rest).items():
            shared = self._mean(members)
            for each in members:
                found[each] = self._by_all(each, cause, shared)
        return found

    def _worst(self, fail: Fail) -> Decision | None:
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

    def by_decision(
        self,
        number: int,
        decision: Decision,
        drop: Estimate,
        better: Mapping[Action, Sequence[ActionTrace | None]],
        fault: bool | None = True,
    ) -> Explanation:
        """The explanation of a fail by the decision that is to blame for it."""
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
            agents_fault=fault,
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
