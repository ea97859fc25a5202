"""Actions as hashable values, and back as what an environment's action space expects."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import TaskError
from tightrope.tasks.candidates import candidate_actions, nested, unsupported
from tightrope.trace import Action


def encode_action(space: gym.Space[Any], action: Any) -> Action:
    """The hashable form of an action of this space, from either form; raises TaskError when it is not one."""
    try:
        encoded = _encoded(space, action)
    except (TypeError, ValueError, KeyError, OverflowError):
        encoded = None
    if encoded is None:
        raise TaskError(f"{action!r} is not an action of {space}")
    return encoded


def _encoded(space: gym.Space[Any], action: Any) -> Action | None:
    if isinstance(space, gym.spaces.Discrete):
        if isinstance(action, (int, np.integer)) or (isinstance(action, np.ndarray) and action.size == 1):
            value = int(action.item() if isinstance(action, np.ndarray) else action)
            return value if space.start <= value < space.start + space.n else None
        return None
    if isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        array = np.asarray(action, dtype=space.dtype)
        return nested(array.tolist()) if array.shape == space.shape and _fits(space, array, action) else None
    if isinstance(space, gym.spaces.Tuple):
        return tuple(encode_action(part, value) for part, value in zip(space.spaces, action, strict=True))
    if isinstance(space, gym.spaces.Dict):
        # The hashable form has the values alone, in the order of the space.
        values = [action[name] for name in space.spaces] if isinstance(action, Mapping) else action
        return tuple(encode_action(part, value) for part, value in zip(space.spaces.values(), values, strict=True))
    return None


def _fits(space: gym.Space[Any], array: Any, given: Any) -> bool:
    """A Box takes any number, since environments clip; the others only what they hold, unrounded."""
    if isinstance(space, gym.spaces.Box):
        return bool(np.all(np.isfinite(array)))
    return bool(np.all(array == np.asarray(given))) and space.contains(array)


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
    raise TaskError(unsupported(space))


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


def unshared_actions(actions: Any) -> Any:
    """A batch of answers that stays as it is when the agent writes its next ones into the same arrays."""
    if isinstance(actions, np.ndarray) or np.ndarray in set(map(type, actions)):
        return tuple(map(plain_action, actions))
    return actions


def plain_action(action: Any) -> Action:
    """An action as plain numbers and tuples: NumPy's would change the id of a case and cannot be stored."""
    if isinstance(action, np.generic | np.ndarray):
        return plain_action(action.tolist())
    return tuple(plain_action(part) for part in action) if isinstance(action, list | tuple) else action


def action_list(task_name: str, space: gym.Space[Any], actions: Sequence[Any] | None) -> tuple[Action, ...]:
    """The search actions in hashable form: those given, or the candidates of the space."""
    if actions is None:
        return candidate_actions(space)
    encoded = tuple(encode_action(space, action) for action in actions)
    if len(set(encoded)) != len(encoded):
        raise TaskError(f"task {task_name!r}: actions {list(actions)!r} names an action twice")
    return encoded


def mask_allows(space: gym.Space[Any], mask: Any, action: Action) -> bool:
    """Whether ``info["action_mask"]`` allows an action: one flag for each of a Discrete space, or for each choice of
    every dimension of a MultiDiscrete one. Masks of other spaces say nothing that is known."""
    try:
        return _mask_allows(space, mask, action)
    except (LookupError, TypeError, ValueError) as error:
        raise TaskError(
            f'the environment\'s info["action_mask"] is {mask!r:.60}, and must have one flag for each action of {space}'
        ) from error


def _mask_allows(space: gym.Space[Any], mask: Any, action: Action) -> bool:
    if isinstance(space, gym.spaces.Discrete) and isinstance(action, int):
        return bool(mask[action - int(space.start)])
    if isinstance(space, gym.spaces.MultiDiscrete):
        parts = mask if isinstance(mask, tuple) else (mask,)
        flags = np.concatenate([np.ravel(np.asarray(part)) for part in parts])
        choices = (np.asarray(action) - space.start).ravel()
        starts = np.concatenate([[0], np.cumsum(space.nvec.ravel())[:-1]])
        return bool(np.all(flags[starts + choices]))
    return True


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
        nested(np.array(values, dtype=space.dtype).reshape(space.shape).tolist()) for values in itertools.product(*axes)
    )
