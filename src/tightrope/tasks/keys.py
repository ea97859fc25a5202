"""State keys: hashable abstractions of a situation.

A key that throws something away is a `LossyKey`, because a search that cut a branch at such a key has proved nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tightrope.errors import TaskError, UsageError

KeyFunction: TypeAlias = Callable[[Any, Any, Mapping[str, Any]], Hashable]
"""``f(env, observation, info)`` with the outermost environment."""


class LossyKey:
    """A state key that throws something away: situations that share it need not be the same.

    Args:
        function: Makes the key, as any key function does; this class can be its decorator.
    """

    __slots__ = ("function",)

    def __init__(self, function: KeyFunction) -> None:
        self.function = function

    def __call__(self, env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
        """The key."""
        return self.function(env, observation, info)


def observation_bytes(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
    """The observation itself, as a hashable; works for arrays, numbers, dicts and tuples of them."""
    return freeze(observation)


def freeze(value: Any) -> Hashable:
    """An equal-if-and-only-if-identical hashable form of an observation."""
    if type(value) is int:
        return value
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, Mapping):
        return tuple((name, freeze(value[name])) for name in sorted(value))
    if isinstance(value, (tuple, list)):
        return tuple(freeze(part) for part in value)
    if isinstance(value, np.generic):
        return value.item()  # type: ignore[no-any-return]
    if hasattr(value, "__array__"):
        return np.asarray(value).tobytes()
    return value  # type: ignore[no-any-return]


def require_hashable(label: str, role: str, key: Any) -> Hashable:
    """The key itself; TaskError when it cannot be one."""
    try:
        hash(key)
    except TypeError:
        raise TaskError(
            f"task {label}: {role} returned {type(key).__name__} {key!r:.80}, which is not hashable; return a tuple, "
            f"bytes or a number (of an array: array.tobytes(), or tuple(array.tolist()))"
        ) from None
    return key  # type: ignore[no-any-return]


def rounded_key(*steps: float) -> KeyFunction:
    """A key that rounds each component of a flat observation to a multiple of its step.

    Args:
        *steps: One for all components, or one for each.
    """
    if not steps or any(step <= 0 for step in steps):
        raise UsageError(f"rounded_key needs one or more positive steps, not {steps}")
    widths = np.asarray(steps, dtype=np.float64)

    def state_key(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
        flat = np.asarray(observation, dtype=np.float64).ravel()
        if widths.size not in (1, flat.size):
            raise UsageError(
                f"rounded_key got {widths.size} steps for an observation of {flat.size} numbers; "
                f"give one step, or one for each number"
            )
        return tuple(np.floor(flat / widths + 0.5).astype(np.int64).tolist())

    return LossyKey(state_key)


def parts_key(*parts: int | str | Sequence[int | str]) -> KeyFunction:
    """A key made of chosen parts of the observation.

    Args:
        *parts: Indices of an array, names of a dict, or paths into both.
    """
    if not parts:
        raise UsageError("parts_key needs at least one index or name of the observation")
    paths = tuple((part,) if isinstance(part, (int, str)) else tuple(part) for part in parts)

    def state_key(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
        return tuple(freeze(_follow(observation, path)) for path in paths)

    return LossyKey(state_key)


def info_key(*names: str, lossy: bool = True) -> KeyFunction:
    """A key made of chosen entries of ``info``.

    Args:
        *names: Which entries.
        lossy: False when together they are the whole situation.
    """
    if not names:
        raise UsageError("info_key needs at least one name of an info entry")

    def state_key(env: Any, observation: Any, info: Mapping[str, Any]) -> Hashable:
        return tuple(freeze(info[name]) for name in names)

    return LossyKey(state_key) if lossy else state_key


def _follow(value: Any, path: Sequence[int | str]) -> Any:
    for part in path:
        value = value[part]
    return value
