"""The last moment of a failed run from which an agent by itself survives, by bisection with the agents alone.

A run that was lost through noise, or by another agent, is survived from its beginning by who is good: somewhere between
that and the harm one action loses it. Where situations are put back by replay, an agent that takes over is one walk,
and all that else might be tried at a moment is some twenty, so that this is done first there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tightrope.budget import Meter
from tightrope.execution import Engine, Rollout
from tightrope.failures.moments import HORIZON, price
from tightrope.outcome import Outcome
from tightrope.seeding import derive_seed
from tightrope.trace import ActionTrace


@dataclass(frozen=True, kw_only=True)
class Recovering:
    """Lets agents take over on failed runs of a task without chance.

    Args:
        engine: Where they play.
        seed: Determines everything random.
        meter: What that costs, and the most that it may.
    """

    engine: Engine
    seed: int
    meter: Meter

    def last_survived(self, run: ActionTrace, agents: Sequence[str]) -> int | None:
        """The depth from which one of the agents survives, while from the next on none does.

        None: none survives from any moment that was tried, or no steps are left to tell.
        """
        distance, lost = 1, len(run)
        while not self._survived(run, len(run) - distance, agents):
            lost = len(run) - distance
            if lost <= 0 or self.meter.spent:
                return None
            distance = min(2 * distance, len(run))
        survived = len(run) - distance
        while lost - survived > 1:
            if self.meter.spent:
                return None
            middle = (lost + survived) // 2
            if self._survived(run, middle, agents):
                survived = middle
            else:
                lost = middle
        return survived

    def _survived(self, run: ActionTrace, depth: int, agents: Sequence[str]) -> bool:
        """Whether one of them lasts from there until well after the harm."""
        start = run.prefix(depth)
        episodes = self.engine.run(
            [
                Rollout(
                    start=start,
                    agent=agent,
                    length=len(run) - depth + HORIZON,
                    seed=derive_seed("recovering", self.seed, start.id, agent),
                    fixed_prefix=True,
                )
                for agent in agents
            ]
        )
        self.meter.spend(price(self.engine, episodes))
        return any(each.reached_handover and each.outcome is not Outcome.UNSAFE for each in episodes)
