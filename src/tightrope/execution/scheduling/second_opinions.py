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
    rollout, parted = first.rollout, _parted(first, second)
    told = (
        f"agent {rollout.agent!r} was run twice on the same rollout (reset seed {rollout.start.seed}, "
        f"{len(rollout.start)} actions before it took over, seed {rollout.seed})"
    )
    if parted is None:
        raise NotReproducible(
            f"{told}, and it played the same, but the environment answered otherwise: {_ended(first)}, then "
            f"{_ended(second)}. It depends on more than its reset seed and the actions, such as a global random "
            f"generator or a clock: let it draw from self.np_random alone"
        )
    raise NotReproducible(
        f"{told}, and at its step {parted + 1} it played {first.actions[parted]!r}, then {second.actions[parted]!r}. "
        f"Its answers depend on more than its observation, its memory and its random stream, so its results cannot be "
        f"relied on. Write f(observation, rng) if it draws, f(observation, memory) or an object with reset() if "
        f"it remembers"
    )


def _parted(first: Episode, second: Episode) -> int | None:
    """The first step at which the agent played something else; None: wherever both went on it played the same."""
    pairs = zip(first.actions, second.actions, strict=False)
    return next((step for step, (one, other) in enumerate(pairs) if one != other), None)


def _ended(episode: Episode) -> str:
    return f"{len(episode.actions)} steps to {episode.outcome} with a return of {sum(episode.rewards):g}"
