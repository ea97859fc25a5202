"""Observations as they are handed out: whoever is shown one cannot change what others see.

One observation is looked at by goal, unsafe and state key, by agents, and again by every rollout that begins at a
snapshot of it. So all of them are shown it read-only; an agent written in Python gets a copy of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

RULE = (
    "Observations are shared, so they cannot be changed in place: write `observation = observation / 255` instead of "
    "`observation /= 255`, or change a copy (`observation.copy()`)"
)
_UNCHANGEABLE = (int, float, complex, str, bytes, bool, np.generic, type(None))


class ReadOnlyDict(dict[Any, Any]):
    """A dict that refuses to be changed; a copy of it is an ordinary one."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("the observation is read-only")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[dict[Any, Any]], tuple[dict[Any, Any]]]:
        return dict, (dict(self),)


def read_only(observation: Any) -> Any:
    """The observation as nobody can change it, without copying its numbers: views of its arrays."""
    if isinstance(observation, np.ndarray):
        view = observation[...]
        # Without the argument's name, which would double the time that this takes at every step.
        view.setflags(False)  # type: ignore[call-arg]
        return view
    if isinstance(observation, (dict, tuple)):
        return _rebuilt(observation, read_only, ReadOnlyDict)
    return observation


def kept(observation: Any) -> Any:
    """A read-only copy, which stays as it is when the environment uses its arrays again."""
    if isinstance(observation, np.ndarray):
        array = observation.copy()
        array.setflags(write=False)
        return array
    if isinstance(observation, (dict, tuple, list)):
        return _rebuilt(observation, kept, ReadOnlyDict)
    return observation


def own_copy(observation: Any) -> Any:
    """A copy to do anything with; one that is drawn only when looked at (``__array__``) is looked at."""
    if isinstance(observation, np.ndarray):
        return observation.copy()
    if isinstance(observation, _UNCHANGEABLE):
        return observation
    if isinstance(observation, (dict, tuple, list)):
        return _rebuilt(observation, own_copy, dict)
    return np.array(observation) if hasattr(observation, "__array__") else copy.deepcopy(observation)


def own_info(info: Any) -> Any:
    """A copy of what an environment tells, down to its arrays; other things that it may hold are the same ones."""
    if isinstance(info, np.ndarray):
        return info.copy()
    if isinstance(info, (Mapping, tuple, list)):
        return _rebuilt(info, own_info, dict)
    return info


def shown_mask(info: Mapping[str, Any]) -> Any:
    """The available actions, where the environment tells them, as nobody can change them."""
    mask = info.get("action_mask")
    return None if mask is None else read_only(mask)


def is_change_in_place(error: BaseException) -> bool:
    """Whether this was raised because something read-only was written to (NumPy words it in several ways)."""
    return isinstance(error, (ValueError, TypeError)) and "read-only" in str(error)


def _rebuilt(observation: Any, part: Callable[[Any], Any], mapping: type[dict[Any, Any]]) -> Any:
    if isinstance(observation, Mapping):
        return mapping({name: part(value) for name, value in observation.items()})
    parts = [part(value) for value in observation]
    if hasattr(observation, "_fields"):
        return type(observation)(*parts)
    return tuple(parts) if isinstance(observation, tuple) else parts
