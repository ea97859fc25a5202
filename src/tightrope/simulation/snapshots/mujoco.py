"""MuJoCo: the integration state, the derived arrays that rewards read, and the attributes of the layers."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np

from tightrope.errors import UsageError, require_extra
from tightrope.simulation.snapshots.attributes import AttributesSnapshotter

LARGEST_PART = 64 * 1024
"""Bytes of an array of a model that may change. Larger ones are shapes and pictures."""


class MujocoSnapshotter(AttributesSnapshotter):
    """Saves everything that a step starts from or that lags behind it.

    The integration state alone is not enough: rewards read ``xpos`` and contact forces, which belong to the positions
    *before* the last integration and which recomputing would move ahead.
    """

    name: ClassVar[str] = "mujoco"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        library: Any = require_extra("mujoco", "mujoco", "saving a MuJoCo environment")
        self._model, self._data = env.unwrapped.model, env.unwrapped.data
        self._kind = library.mjtState.mjSTATE_INTEGRATION
        self._size = library.mj_stateSize(self._model, self._kind)
        self._get_state, self._set_state = library.mj_getState, library.mj_setState
        self._arrays = _fixed_arrays(self._data)

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Whether the innermost environment keeps an ``MjData``."""
        return type(getattr(env.unwrapped, "data", None)).__module__.startswith("mujoco")

    def save(self) -> Any:
        """Integration state, arrays, attributes."""
        state = np.empty(self._size)
        self._get_state(self._model, self._data, state, self._kind)
        return state, bytes(self._arrays), super().save()

    def load(self, payload: Any) -> None:
        """Integration state, arrays, attributes."""
        state, arrays, attributes = payload
        self._set_state(self._model, self._data, state, self._kind)
        ctypes.memmove(self._arrays, arrays, len(arrays))
        super().load(attributes)


class ChangingModelSnapshotter(MujocoSnapshotter):
    """For environments that change their model, too: a door that hangs elsewhere after each reset."""

    name: ClassVar[str] = "mujoco with its model"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        held = (getattr(self._model, name) for name in dir(self._model) if not name.startswith("_"))
        self._parts = [part for part in held if isinstance(part, np.ndarray) and 0 < part.nbytes <= LARGEST_PART]

    def save(self) -> Any:
        """The model's numbers, then the rest."""
        return [part.copy() for part in self._parts], super().save()

    def load(self, payload: Any) -> None:
        """The model's numbers, then the rest."""
        numbers, rest = payload
        for part, saved in zip(self._parts, numbers, strict=True):
            part[...] = saved
        super().load(rest)


def _fixed_arrays(data: Any) -> Any:
    """All arrays of fixed size at once: MuJoCo lays them out in one buffer, which begins with the positions."""
    start, size = data.qpos.ctypes.data, int(data.nbuffer)
    for name in ("qvel", "xpos", "cfrc_ext", "qacc_warmstart"):
        array = getattr(data, name)
        if array.size and not start <= array.ctypes.data < start + size:
            raise UsageError(f"this version of MuJoCo keeps {name} outside the buffer that begins with qpos")
    return (ctypes.c_char * size).from_address(start)
