"""What is goal and what is unsafe in the worlds of known libraries, and how their names are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tightrope.errors import UnknownName, UsageError
from tightrope.tasks.jaxworlds.world import Array, Moment

OWN_WORLD = "Any other is a task by tightrope.jax_task, which takes a World of your own."
"""The next move where a world has no name here."""


def lasted(moment: Moment) -> Array:
    """The time limit was reached, and nothing ended the episode before."""
    return moment.truncated & ~moment.terminated


def ended(moment: Moment) -> Array:
    """The world says that it is over."""
    return moment.terminated


@dataclass(frozen=True, kw_only=True)
class WorldRule:
    """What is goal and what is unsafe in a world, and how a search looks at it."""

    goal: Callable[[Moment], Array] = lasted
    unsafe: Callable[[Moment], Array] = ended
    fields: Mapping[str, Any] = field(default_factory=dict)


def rule_of(library: str, known: Mapping[str, WorldRule], name: str, max_episode_steps: int | None) -> WorldRule:
    """The rule of a world by its name; UsageError where there is none, or the time limit is no limit."""
    if name not in known:
        raise UnknownName(f"world of {library} with a known goal and danger", name, known, OWN_WORLD)
    if max_episode_steps is not None and max_episode_steps < 1:
        raise UsageError(f"max_episode_steps must be 1 or more, not {max_episode_steps}")
    return known[name]
