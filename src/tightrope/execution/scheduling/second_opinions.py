"""A sample of the episodes is run once more, at another time and in other company: what differs stops the run.

An episode depends on its rollout alone. An agent that was not what it seemed to be when it was loaded (it remembers
after all, or draws where nobody seeds) is found out this way, before a verdict depends on how the work was divided.
"""

from __future__ import annotations

from tightrope.errors import NotReproducible
from tightrope.execution.rollout import Episode
from tightrope.seeding import stable_hash

ONE_IN = 100
"""Episodes of agents, chosen by their ids, so that the same ones are asked for wherever they are run."""


def wants_second_opinion(episode: Episode) -> bool:
    """Whether to run this one again; errors are told as they are."""
    rollout = episode.rollout
    asked = rollout.agent is not None and episode.error is None and episode.reached_handover
    return asked and stable_hash(rollout.id) % ONE_IN == 0


def require_same(first: Episode, second: Episode) -> None:
    """Raise NotReproducible when the second run of a rollout went another way than the first."""
    if second.error is not None or first == second:
        return
    rollout = first.rollout
    raise NotReproducible(
        f"agent {rollout.agent!r} was run twice on the same rollout (reset seed {rollout.start.seed}, "
        f"{len(rollout.start)} actions before it took over, seed {rollout.seed}), and {_difference(first, second)}. "
        f"Its answers depend on more than its observation, its memory and its random stream, so its results cannot be "
        f"relied on. Write f(observation, rng) if it draws, f(observation, memory) or an object with reset() if "
        f"it remembers"
    )


def _difference(first: Episode, second: Episode) -> str:
    steps = enumerate(zip(first.actions, second.actions, strict=False), 1)
    for step, (one, other) in steps:
        if one != other:
            return f"at its step {step} it played {one!r}, then {other!r}"
    return f"it played {len(first.actions)} steps to {first.outcome}, then {len(second.actions)} to {second.outcome}"
