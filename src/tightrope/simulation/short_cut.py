"""Shorter ways through what Gymnasium does at every step, to the same result.

``gymnasium.make`` puts two wrappers around every environment: ``OrderEnforcing`` refuses a step before the first reset
and hands all others on; ``TimeLimit`` counts them. Three calls for a check and a sum are a twentieth of a step of
CartPole. What they do is done here in one, with their own counters, so that whoever looks at these, saves them or calls
the wrapper itself finds what it would find without.

Many environments ask ``action_space.contains(action)`` at every step, and ``Discrete`` looks up the limits of its NumPy
type each time, which is a third of a step of CartPole. For plain whole numbers two comparisons tell the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import OrderEnforcing, TimeLimit


def step_function(env: Any) -> Callable[[Any], Any]:
    """``env.step``, or a function that does the same in fewer calls."""
    # A Gymnasium that counts under other names is left to count by itself.
    limited = _is_just(env, TimeLimit, "_elapsed_steps", "_max_episode_steps")
    if limited and _is_just(env.env, OrderEnforcing, "_has_reset"):
        return _counted(env, env.env)
    return env.step  # type: ignore[no-any-return]


def _is_just(env: Any, wrapper: type, *counters: str) -> bool:
    """Whether it is that wrapper, as it is known, and none made of it, nor one whose ``step`` somebody has replaced."""
    return type(env) is wrapper and "step" not in vars(env) and vars(env).keys() >= set(counters)


def _counted(limit: Any, order: Any) -> Callable[[Any], Any]:
    def step(action: Any) -> Any:
        if not order._has_reset:
            return limit.step(action)  # which says what is wrong
        result = order.env.step(action)
        steps = limit._elapsed_steps + 1
        limit._elapsed_steps = steps
        if steps < limit._max_episode_steps:
            return result
        observation, reward, terminated, _, info = result
        return observation, reward, terminated, True, info

    return step


def speed_up_spaces(layers: Iterable[Any]) -> None:
    """Let the Discrete spaces of these environments tell by two comparisons whether a plain number is theirs."""
    for layer in layers:
        for space in vars(layer).values():
            if type(space) is Discrete and "contains" not in vars(space):
                _speed_up(space)


def _speed_up(space: Discrete) -> None:
    first, end, limits = int(space.start), int(space.start) + int(space.n), np.iinfo(space.dtype)
    if limits.min <= first and end - 1 <= limits.max:
        # A partial, because an environment may copy or pickle itself, and its space with it.
        quick = partial(_contains, space, space.start, space.n, first, end)
        space.contains = quick  # type: ignore[method-assign]


def _contains(space: Discrete, start: Any, number: Any, first: int, end: int, value: Any) -> bool:
    # Of any other type, or once somebody has changed the space: as ever.
    if type(value) is int and space.start is start and space.n is number:
        return first <= value < end
    return Discrete.contains(space, value)
