"""What a world written in JAX is: pure functions of a key and a state, and what is goal and unsafe in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym

Array = Any
"""An array of JAX, or one of NumPy that is handed to it."""


class Moment(NamedTuple):
    """Where a step of a world led. All parts are arrays, so that it can be compiled and batched."""

    state: Any
    """Any pytree of arrays: all that the future depends on, but for the key."""
    observation: Array
    reward: Array
    terminated: Array
    truncated: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Functions that JAX can compile and batch; none of them begins a new episode by itself."""

    name: str
    reset: Callable[[Array], tuple[Any, Array]]
    """``reset(key)`` gives a state and its observation."""
    step: Callable[[Array, Any, Array], Moment]
    """``step(key, state, action)``."""
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    goal: Callable[[Moment], Array]
    """Whether the task is solved there; of arrays, as the world itself: ``&`` and ``~`` instead of and, not."""
    unsafe: Callable[[Moment], Array]
    """Whether safety was violated there."""
    max_steps: int | None = None
    """Its time limit, where it has one."""
