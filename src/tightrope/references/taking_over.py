"""Where an agent goes wrong on a way that somebody else found: it takes over there, and the last moment from which it
fails is found by bisection.

The way itself shows that the moment is survived, and one step later the agent survives as well: what it does there is
what loses. So there is an answer for an agent that is lost from the start of its own runs, and on tasks where nothing
can be proven. That takes as many runs as the way's length has binary digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tightrope.budget import Meter
from tightrope.execution import Engine, Episode, Rollout
from tightrope.failures.attempts import ENOUGH, RUNS_BY_CHANCE
from tightrope.failures.moments import HORIZON, price
from tightrope.outcome import Outcome
from tightrope.reference import BoundaryState, Reference
from tightrope.seeding import derive_seed
from tightrope.trace import Action

FIRST_LOOKS = (0, 1 / 2, 1 / 4, 3 / 4)
"""Parts of the way after which the agent takes over, one after the other until it fails: who is good fails nowhere."""


@dataclass(frozen=True, kw_only=True)
class TakingOver:
    """Lets agents take over on ways that reach the goal.

    Args:
        engine: Where they play.
        seed: Determines everything random.
        meter: What that costs, and the most that it may.
    """

    engine: Engine
    seed: int
    meter: Meter

    def lost(self, way: Reference, agents: Sequence[str]) -> Reference | None:
        """The way with the moment that the first of the agents loses who loses any; None: nobody does, or no steps are
        left."""
        for agent in agents:
            failed = self._last_failed(way, agent)
            if failed is not None:
                return _marked(way, agent, failed)
        return None

    def _last_failed(self, way: Reference, agent: str) -> Episode | None:
        """Its episode from the last moment found from which it fails."""
        looks = dict.fromkeys(int(part * len(way)) for part in FIRST_LOOKS)
        failed = next((found for depth in looks if (found := self._failed(way, agent, depth))), None)
        # The end of the way is the goal, which nobody fails from.
        lost, safe = 0 if failed is None else failed.prefix_steps, len(way)
        while failed is not None and safe - lost > 1:
            if self.meter.spent:
                return None
            middle = (lost + safe) // 2
            found = self._failed(way, agent, middle)
            failed, lost, safe = (failed, lost, middle) if found is None else (found, middle, safe)
        return failed

    def _failed(self, way: Reference, agent: str, depth: int) -> Episode | None:
        """How it fails if it takes over there; None: it survives until after the way's end, or nobody knows."""
        if self.meter.spent:
            return None
        start = way.actions.prefix(depth)
        runs = 1 if self.engine.deterministic else RUNS_BY_CHANCE
        episodes = self.engine.run(
            [
                Rollout(
                    start=start,
                    agent=agent,
                    length=len(way) - depth + HORIZON,
                    seed=derive_seed("taking over", self.seed, start.id, number),
                    fixed_prefix=True,
                )
                for number in range(runs)
            ]
        )
        self.meter.spend(price(self.engine, episodes))
        failed = [each for each in episodes if each.reached_handover and each.outcome is Outcome.UNSAFE]
        # What now and then survives by chance has not lost it.
        return failed[0] if len(failed) > runs - (1 if runs == 1 else ENOUGH) else None


def _marked(way: Reference, agent: str, failed: Episode) -> Reference | None:
    """The way with that moment as boundary state; None where the agent did there what the way does."""
    depth, action = failed.prefix_steps, failed.actions[0]
    if action == way.actions.actions[depth]:
        return None  # it remembers more than is seen there, or drew: the action alone does not lose
    told = f"{way.method}; {agent} fails when it takes over after {depth} steps"
    return replace(way, boundary_states=(unproven(way, depth, action),), method=told, agent=agent, by_failing=True)


def unproven(way: Reference, depth: int, action: Action) -> BoundaryState:
    """A boundary state where an action was seen to lose, which proves nothing of other players."""
    return BoundaryState(
        depth=depth, key=way.trace.keys[depth], actions=(action,), proven=False, evidence={"unsafe": 1}
    )
