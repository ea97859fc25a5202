"""Rollouts that came to no end: they ended the process they ran in, or a call in them did not return."""

from __future__ import annotations

from tightrope.execution.episode_error import EpisodeError, ErrorKind
from tightrope.execution.rollout import Episode, Rollout
from tightrope.outcome import Outcome

MOST_HANGS = 3
"""Rollouts of one agent that may each be waited for in vain; after as many, the agent's others are given up."""


def lost_episode(rollout: Rollout, kind: ErrorKind, why: str) -> Episode:
    """The episode of a rollout that could not be finished, with what it takes to try it again."""
    return Episode(
        rollout=rollout,
        prefix_steps=0,
        prefix_reward=0.0,
        prefix_outcome=Outcome.ONGOING,
        outcome=Outcome.ONGOING,
        error=EpisodeError(
            kind=kind,
            message=f"{why}: after reset(seed={rollout.start.seed}), the actions {rollout.start.actions!r}, then "
            f"{rollout.agent or rollout.actions!r}",
        ),
    )


def hopeless(hangs: int) -> str:
    """Why a rollout is not run at all."""
    return f"not run, because in {hangs} others of the same agent a call had not returned in time"
