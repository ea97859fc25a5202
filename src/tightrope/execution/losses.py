"""Rollouts that came to no end: they ended the process they ran in, or a call in them did not return."""

from __future__ import annotations

from tightrope.execution.rollout import Episode, Rollout
from tightrope.outcome import Outcome

MOST_HANGS = 3
"""Rollouts of one agent that may each be waited for in vain; after as many, the agent's others are given up."""


def lost_episode(rollout: Rollout, why: str) -> Episode:
    """The episode of a rollout that could not be finished, with what it takes to try it again."""
    return Episode(
        rollout=rollout,
        prefix_steps=0,
        prefix_reward=0.0,
        prefix_outcome=Outcome.ONGOING,
        outcome=Outcome.ONGOING,
        error=f"{why}. This was rollout {rollout.id}: reset(seed={rollout.start.seed}), the actions "
        f"{rollout.start.actions!r}, then {rollout.agent or rollout.actions!r}, seed {rollout.seed}\n",
    )


def hopeless(hangs: int) -> str:
    """Why a rollout is not run at all."""
    return f"not run, because in {hangs} others of the same agent a call had not returned in time"
