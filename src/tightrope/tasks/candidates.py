"""Which actions to try where nobody has listed any: a few that span the action space."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from tightrope.errors import TaskError
from tightrope.trace import Action

MOST_CANDIDATES = 32
"""A search tries every candidate in every situation. Three levels of three continuous numbers are 27, five switches 32;
of larger spaces only one component at a time leaves its resting place."""


class _Axes(NamedTuple):
    """The numbers an action is made of: what each may be, where it rests, and how they make the action."""

    values: list[list[Any]]
    resting: list[Any]
    build: Callable[[Sequence[Any]], Action]


def candidate_actions(space: gym.Space[Any]) -> tuple[Action, ...]:
    """All actions of a Discrete space; of any other, all combinations of a few levels, or, where those are more than
    ``MOST_CANDIDATES``, the resting action and those that differ from it in one component."""
    axes = _axes(space)
    if isinstance(space, gym.spaces.Discrete):
        return tuple(axes.values[0])
    if math.prod(map(len, axes.values)) <= MOST_CANDIDATES:
        return tuple(dict.fromkeys(map(axes.build, itertools.product(*axes.values))))
    return tuple(dict.fromkeys(map(axes.build, _thinned(list(_one_at_a_time(axes))))))


def every_action(space: gym.Space[Any]) -> tuple[Action, ...] | None:
    """All actions of a space, or None where they are without number, or combinations that are too many to be tried."""
    if isinstance(space, gym.spaces.Discrete):
        return candidate_actions(space)
    if not _is_finite(space) or math.prod(map(len, _axes(space).values)) > MOST_CANDIDATES:
        return None
    return candidate_actions(space)


def _is_finite(space: gym.Space[Any]) -> bool:
    if isinstance(space, gym.spaces.Tuple | gym.spaces.Dict):
        parts = space.spaces.values() if isinstance(space, gym.spaces.Dict) else space.spaces
        return all(map(_is_finite, parts))
    return isinstance(space, gym.spaces.Discrete | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary)


def _one_at_a_time(axes: _Axes) -> list[list[Any]]:
    rest = axes.resting
    moved = [
        [*rest[:place], value, *rest[place + 1 :]]
        for place, values in enumerate(axes.values)
        for value in values
        if value != rest[place]
    ]
    return [rest, *moved]


def _thinned(actions: list[list[Any]]) -> list[list[Any]]:
    """Evenly chosen ones, the first and the last among them."""
    if len(actions) <= MOST_CANDIDATES:
        return actions
    return [actions[round(place)] for place in np.linspace(0, len(actions) - 1, MOST_CANDIDATES)]


def _axes(space: gym.Space[Any]) -> _Axes:
    if isinstance(space, gym.spaces.Discrete):
        choices = list(range(int(space.start), int(space.start + space.n)))
        return _Axes([choices], choices[:1], lambda numbers: numbers[0])
    if isinstance(space, gym.spaces.Box):
        levels = [_levels(*bounds, space.dtype) for bounds in zip(space.low.flat, space.high.flat, strict=True)]
        return _Axes(levels, [values[len(values) // 2] for values in levels], _array(space))
    if isinstance(space, gym.spaces.MultiDiscrete):
        starts = np.broadcast_to(space.start, space.nvec.shape)
        each = [list(range(int(a), int(a + n))) for a, n in zip(starts.flat, space.nvec.flat, strict=True)]
        return _Axes(each, [values[0] for values in each], _array(space))
    if isinstance(space, gym.spaces.MultiBinary):
        size = math.prod(space.shape)
        return _Axes([[0, 1]] * size, [0] * size, _array(space))
    if isinstance(space, gym.spaces.Tuple):
        return _joined([_axes(part) for part in space.spaces])
    if isinstance(space, gym.spaces.Dict):
        return _joined([_axes(part) for part in space.spaces.values()])
    raise TaskError(unsupported(space))


def unsupported(space: gym.Space[Any]) -> str:
    """What to say of an action space that cannot be handled."""
    return (
        f"actions of {type(space).__name__} spaces are not supported; wrap the environment so that its action space is "
        f"Discrete, Box, MultiDiscrete, MultiBinary, Tuple or Dict"
    )


def _levels(low: Any, high: Any, dtype: Any) -> list[Any]:
    """Low, middle and high; a side without a bound counts as one away from the other, or from zero."""
    low, high = float(low), float(high)
    if not math.isfinite(low):
        low = -1.0 if not math.isfinite(high) else min(-1.0, high - 1.0)
    if not math.isfinite(high):
        high = max(1.0, low + 1.0)
    return list(dict.fromkeys(np.linspace(low, high, 3).astype(dtype).tolist()))


def _array(space: gym.Space[Any]) -> Callable[[Sequence[Any]], Action]:
    shape, dtype = space.shape, space.dtype
    assert shape is not None
    return lambda numbers: nested(np.array(numbers, dtype=dtype).reshape(shape).tolist())


def _joined(parts: Sequence[_Axes]) -> _Axes:
    ends = list(itertools.accumulate(len(part.values) for part in parts))

    def build(numbers: Sequence[Any]) -> Action:
        starts = [0, *ends[:-1]]
        return tuple(part.build(numbers[a:b]) for part, a, b in zip(parts, starts, ends, strict=True))

    return _Axes(
        [values for part in parts for values in part.values],
        [number for part in parts for number in part.resting],
        build,
    )


def nested(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(nested(part) for part in value) if isinstance(value, list) else value
