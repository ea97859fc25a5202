"""What to hold instead of the agent's own action, and how likely that is in use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from tightrope.tasks.spaces import encode_action
from tightrope.tasks.task import Task
from tightrope.trace import Action

NOISE = 0.05
"""Share of random actions that is taken for the agent's own noise: what exploring agents are trained with at last."""
SPREAD = 0.1
"""The same for continuous actions: standard deviation as a share of what a component spans."""
NEAR = 0.5
"""Where candidates near the agent's own action are drawn from, in the same measure: five standard deviations."""
MOST_CORNERS = 12
"""Of the search actions of continuous tasks; one near the agent's own action comes beside them."""


def candidates(task: Task, own: Action, rng: np.random.Generator) -> list[Action]:
    """Actions to be held: all of a few, or some that span the space and one near the agent's own."""
    actions = task.search_actions
    space = task.action_space
    if not isinstance(space, gym.spaces.Box):
        return list(actions)
    corners = [actions[round(place)] for place in np.linspace(0, len(actions) - 1, min(MOST_CORNERS, len(actions)))]
    near = np.asarray(own, dtype=float) + NEAR * _span(space) * rng.standard_normal(space.shape)
    return [*dict.fromkeys(corners), encode_action(space, np.clip(near, space.low, space.high).astype(space.dtype))]


def held_actions(task: Task) -> tuple[Action, ...]:
    """Actions that somebody may hold who tries to survive: all of a few, or every so many of many."""
    actions = task.search_actions
    return tuple(actions[:: -(-len(actions) // MOST_CORNERS)])


def log_likelihood(task: Task, played: Sequence[Action], own: Sequence[Action] | None) -> float:
    """How much less likely it is to play these actions than what the agent played undisturbed in their place.

    ``own``: None where nobody asked the agent. Then every action counts as another than its own, and of continuous ones
    its own as the middle of the space.
    """
    space = task.action_space
    if isinstance(space, gym.spaces.Box):
        wanted = [_middle(space)] * len(played) if own is None else own
        pairs = zip(played, wanted, strict=False)
        off = [(np.asarray(x, float) - np.asarray(y, float)) / (SPREAD * _span(space)) for x, y in pairs]
        return float(-0.5 * np.sum(np.square(off)))
    number = len(task.possible_actions or task.search_actions)
    rare = math.log(NOISE / number) - math.log(1 - NOISE + NOISE / number)
    other = len(played) if own is None else sum(x != y for x, y in zip(played, own, strict=False))
    return rare * other


def _middle(space: gym.spaces.Box) -> Action:
    bounded = np.isfinite(space.low) & np.isfinite(space.high)
    return encode_action(space, np.where(bounded, (space.low + space.high) / 2, 0.0).astype(space.dtype))


def _span(space: gym.spaces.Box) -> np.ndarray:
    spans = space.high.astype(float) - space.low.astype(float)
    return np.where(np.isfinite(spans), spans, 2.0)
