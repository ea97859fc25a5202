"""Where chance decides: the decision after which somebody survives less often by most.

At the moments of the agent's part two things are compared, both with fresh randomness: how often somebody survives from
there, and how often somebody does who first plays what the agent played. Bad luck after a decision is no part of it.
The moment is chosen by some runs and measured by others, so that the drop is not the luckiest of many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import hypot

from tightrope.execution import Engine, Episode
from tightrope.explanation.explanation import Explanation
from tightrope.exploration.best_survival import find_best_survival
from tightrope.exploration.survival_bound import BestSurvival
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.statistics import Estimate, rate_estimate
from tightrope.trace import Action, ActionTrace

MOST_MOMENTS = 40
"""Decisions that are looked at: the last ones before the harm."""
CLOSELY = 6
"""Times as many steps for the two numbers whose difference is told: with so few as choosing takes, it says little."""
APART = 6
"""Where each is hundreds of steps of replay away: every so many of them first, then all between two of those."""


def explain_by_chance(
    engine: Engine, episode: Episode, length: int, actions: tuple[Action, ...], effort: int
) -> Explanation:
    """The explanation of one failed episode."""
    return _Decisions(engine, episode, length, actions, effort).explanation()


class _Decisions:
    """The agent's decisions in one episode, and what survival is like before and after each."""

    def __init__(self, engine: Engine, episode: Episode, length: int, actions: tuple[Action, ...], effort: int) -> None:
        self.engine, self.length, self.actions, self.effort = engine, length, actions, effort
        self.trace, self.handover = episode.trace, episode.prefix_steps
        self.moments = range(max(self.handover, len(self.trace) - MOST_MOMENTS), len(self.trace))
        self.prefixes = {depth: self.trace.prefix(depth) for depth in self.moments}
        self.dear = engine.conformance.method == REPLAY

    def explanation(self) -> Explanation:
        """Choose the moment, then measure it."""
        prefixes = self._candidates()
        taken = {prefix.id: self.trace.actions[depth] for depth, prefix in prefixes.items()}
        before = self._survival("choose before", prefixes.values(), rough=self.dear)
        after = self._survival("choose after", prefixes.values(), taken, rough=self.dear)
        drops = {
            depth: (before[prefix.id].estimate.value or 0.0) - (after[prefix.id].estimate.value or 0.0)
            for depth, prefix in prefixes.items()
            if prefix.id in before and prefix.id in after
        }
        curve = tuple((depth, before[self.prefixes[depth].id].estimate) for depth in drops)
        if not drops:
            return self._undecided()
        return self._measured(max(drops, key=lambda depth: (drops[depth], -depth)), curve)

    def _candidates(self) -> dict[int, ActionTrace]:
        """The decisions that are worth a look; of those that are dear to reach, where survival sinks most."""
        if not self.dear or len(self.moments) <= 2 * APART:
            return self.prefixes
        coarse = self.moments[::APART]
        seen = self._survival("look", [self.prefixes[depth] for depth in coarse], rough=True)
        names = [self.prefixes[depth].id for depth in coarse]
        values = [seen[name].estimate.value or 0.0 if name in seen else 0.0 for name in names]
        losses = [value - after for value, after in zip(values, [*values[1:], 0.0], strict=True)]
        first = coarse[losses.index(max(losses))]
        return {depth: self.prefixes[depth] for depth in self.moments if first <= depth < first + APART}

    def _measured(self, depth: int, curve: tuple[tuple[int, Estimate], ...]) -> Explanation:
        """The chosen moment with fresh runs: how often somebody survives, and what each action there leaves of it."""
        prefix, taken = self.prefixes[depth], self.trace.actions[depth]
        [best] = self._survival("measure", [prefix], closely=True).values()
        after = {
            action: next(
                iter(
                    self._survival(f"measure {action}", [prefix], {prefix.id: action}, closely=action == taken).values()
                )
            )
            # What the agent did may be none of those tried: of continuous actions they are a few.
            for action in dict.fromkeys((*self.actions, taken))
        }
        drop = drop_between(best.estimate, after[taken].estimate)
        shown = (drop.low or 0.0) > 0
        better = {
            action: seen
            for action, seen in after.items()
            if shown and action != taken and (drop_between(seen.estimate, after[taken].estimate).low or 0.0) > 0
        }
        return Explanation(
            trace=self.trace,
            handover=self.handover,
            horizon=self.length,
            depth=depth,
            action=taken,
            better=tuple(better),
            witnesses={action: seen.escape for action, seen in better.items() if seen.escape is not None},
            agents_fault=True if shown else None,
            proven=False,
            key=best.checksum,
            drop=drop,
            estimates=curve,
        )

    def _undecided(self) -> Explanation:
        return Explanation(
            trace=self.trace,
            handover=self.handover,
            horizon=self.length,
            depth=None,
            action=None,
            agents_fault=None,
            proven=False,
        )

    def _survival(
        self,
        purpose: str,
        prefixes: Iterable[ActionTrace],
        first: Mapping[str, Action] | None = None,
        *,
        rough: bool = False,
        closely: bool = False,
    ) -> dict[str, BestSurvival]:
        return find_best_survival(
            self.engine,
            prefixes,
            self.length,
            actions=self.actions,
            agents=tuple(self.engine.agents),
            steps_per_case=self.effort * (CLOSELY if closely else 1),
            first=first,
            purpose=purpose,
            rough=rough,
        )


def drop_between(before: Estimate, after: Estimate) -> Estimate:
    """How much less often one survives after than before, from independent runs (Newcombe's interval)."""
    high, low = (rate_estimate(round((seen.value or 0.0) * seen.n), seen.n) for seen in (before, after))
    if high.value is None or low.value is None:
        return Estimate.of_nothing()
    value = high.value - low.value
    down = hypot(high.value - (high.low or 0.0), (low.high or 1.0) - low.value)
    up = hypot((high.high or 1.0) - high.value, low.value - (low.low or 0.0))
    return Estimate(value, max(-1.0, value - down), min(1.0, value + up), high.n + low.n, "95% Newcombe, fresh runs")
