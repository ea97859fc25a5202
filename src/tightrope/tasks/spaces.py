"""Actions as hashable values, and back as what an environment's action space expects."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import TaskError
from tightrope.trace import Action


def encode_action(space: gym.Space[Any], action: Any) -> Action:
    """The hashable form of an action of this space; raises TaskError when it is not one."""
    if isinstance(space, gym.spaces.Discrete):
        if isinstance(action, (int, np.integer)) or (isinstance(action, np.ndarray) and action.size == 1):
            value = int(action)
            if space.start <= value < space.start + space.n:
                return value
    elif isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        array = np.asarray(action, dtype=space.dtype)
        if array.shape == space.shape and (not isinstance(space, gym.spaces.Box) or bool(np.all(np.isfinite(array)))):
            nested: Action = _nested(array.tolist())
            return nested
    elif isinstance(space, gym.spaces.Tuple):
        return tuple(encode_action(part, value) for part, value in zip(space.spaces, action, strict=True))
    elif isinstance(space, gym.spaces.Dict):
        return tuple(encode_action(part, action[name]) for name, part in space.spaces.items())
    raise TaskError(f"{action!r} is not an action of {space}")


def action_decoder(space: gym.Space[Any]) -> Callable[[Action], Any]:
    """The function that turns the hashable form back into what ``env.step`` expects."""
    if isinstance(space, gym.spaces.Discrete):
        return _Numbers(space).__getitem__
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        dtype = space.dtype
        return lambda action: np.array(action, dtype=dtype)
    if isinstance(space, gym.spaces.Tuple):
        parts = [action_decoder(part) for part in space.spaces]
        return lambda action: tuple(part(value) for part, value in zip(parts, action, strict=True))  # type: ignore[arg-type]
    if isinstance(space, gym.spaces.Dict):
        named = {name: action_decoder(part) for name, part in space.spaces.items()}
        return lambda action: {
            name: part(value)
            for (name, part), value in zip(named.items(), action, strict=True)  # type: ignore[arg-type]
        }
    raise TaskError(
        f"actions of {type(space).__name__} spaces are not supported; wrap the environment so that its action space is "
        f"Discrete, Box, MultiDiscrete, MultiBinary, Tuple or Dict"
    )


class _Numbers(dict[Any, int]):
    """The actions of a Discrete space by themselves, as plain numbers.

    Many environments take any number for an action and do something with it. Looking it up costs no more than handing
    it on would.
    """

    def __init__(self, space: gym.spaces.Discrete) -> None:
        super().__init__()
        self._space = space

    def __missing__(self, action: Any) -> int:
        # Whatever equals an action is found once that has been looked up, so it must be taken before, too.
        try:
            number = int(action)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number != action:
            raise TaskError(f"{action!r} is not an action of {self._space}")
        self[action] = int(encode_action(self._space, number))  # type: ignore[arg-type]
        return self[action]


def plain_action(action: Any) -> Action:
    """An action as plain numbers and tuples: NumPy's would change the id of a case and cannot be stored."""
    if isinstance(action, np.generic | np.ndarray):
        return plain_action(action.tolist())
    return tuple(plain_action(part) for part in action) if isinstance(action, list | tuple) else action


def action_list(task_name: str, space: gym.Space[Any], actions: Sequence[Any] | None) -> tuple[Action, ...]:
    """The search actions in hashable form: those given, or all of a Discrete space."""
    if actions is not None:
        encoded = tuple(encode_action(space, action) for action in actions)
        if len(set(encoded)) != len(encoded):
            raise TaskError(f"task {task_name!r}: actions {list(actions)!r} names an action twice")
        return encoded
    if isinstance(space, gym.spaces.Discrete):
        return tuple(range(int(space.start), int(space.start + space.n)))
    raise TaskError(
        f"task {task_name!r}: the action space {space} cannot be listed; give actions=[…], "
        f"or actions=tightrope.span_box(env.action_space, levels=3)"
    )


def span_box(space: gym.Space[Any], levels: int = 3) -> tuple[Action, ...]:
    """A grid over a bounded Box: all combinations of some values in each dimension.

    Args:
        space: The Box.
        levels: How many values from low to high in each dimension.
    """
    if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
        raise TaskError(f"span_box needs a Box bounded on both sides, not {space}")
    if levels < 2:
        raise TaskError(f"span_box needs 2 or more levels, not {levels}")
    axes = [
        np.linspace(low, high, levels, dtype=space.dtype).tolist()
        for low, high in zip(space.low.ravel(), space.high.ravel(), strict=True)
    ]
    return tuple(
        _nested(np.array(values, dtype=space.dtype).reshape(space.shape).tolist())
        for values in itertools.product(*axes)
    )


def _nested(value: Any) -> Any:
    return tuple(_nested(part) for part in value) if isinstance(value, list) else value
