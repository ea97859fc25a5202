"""Taking the values of an environment's attributes apart from the live objects among them.

One pickle of all layers keeps what they share shared. Three things are not pickled but kept beside it: arrays (copied),
random generators (their state), and live objects that cannot or must not be copied (by reference).
"""

from __future__ import annotations

import enum
import io
import pickle
import random
from collections.abc import Mapping, Sequence
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

LIVE_MODULES = frozenset(
    {
        "Box2D",
        "OpenGL",
        "ale_py",
        "cv2",
        "glfw",
        "mujoco",
        "pybullet_utils",
        "pygame",
        "pyglet",
        "stable_retro",
        "vizdoom",
    }
)
"""Libraries whose objects are handles: a copy would be a fresh or a broken one."""

WORLDS = frozenset({("pettingzoo.utils.env", "AECEnv"), ("pettingzoo.utils.env", "ParallelEnv")})
"""Classes of environments that are no Gymnasium environments; pickled, many of them come back as new."""

LIVE_TYPES = (gym.Env, gym.Space, gym.envs.registration.EnvSpec, ModuleType)

CONSTANT_TYPES = (np.generic, np.dtype, np.ufunc, enum.Enum, FunctionType, type, range)
"""Values that never change; pickling would copy them slowly or not at all."""

OTHER_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
"""Generators that are pickled by value, being rare."""


class Capture(NamedTuple):
    """Values taken at one moment. Valid only in the process that made it."""

    pickled: bytes
    arrays: Sequence[np.ndarray[Any, Any]]
    generator_states: Sequence[Mapping[str, Any]]
    references: Sequence[Any]


def capture(values: Any, layer_index: Mapping[int, int]) -> Capture:
    """Take ``values`` apart; ``layer_index`` gives the place of each environment layer by its id."""
    buffer = io.BytesIO()
    saver = _Saver(buffer, layer_index)
    saver.dump(values)
    states = [generator.bit_generator.state for generator in saver.generators]
    return Capture(buffer.getvalue(), saver.arrays, states, saver.references)


def revive(captured: Capture, layers: Sequence[Any], pool: list[np.random.Generator]) -> Any:
    """The values again. ``pool`` lends this instance's generator objects, which are costly to make."""
    return _Loader(captured, layers, pool).load()


def find_generators(values: Any, layer_index: Mapping[int, int]) -> list[Any]:
    """Every random generator that can be reached from ``values``, in the order met."""
    saver = _Saver(io.BytesIO(), layer_index)
    saver.dump(values)
    return saver.generators + saver.other_generators


class _WorldTypes(dict[type, bool]):
    """Whether objects of a type are environments; worked out once per type."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, gym.Env) or any((one.__module__, one.__name__) in WORLDS for one in kind.__mro__)
        return self[kind]


IS_WORLD: Mapping[type, bool] = _WorldTypes()


class _LiveTypes(dict[type, bool]):
    """Whether objects of a type are live; worked out once per type."""

    def __missing__(self, kind: type) -> bool:
        live = (
            issubclass(kind, LIVE_TYPES)
            or IS_WORLD[kind]
            or any(base.__module__.split(".")[0] in LIVE_MODULES for base in kind.__mro__)
        )
        # MuJoCo's viewers hold graphics contexts inside plain Python objects.
        self[kind] = live or kind.__module__ == "gymnasium.envs.mujoco.mujoco_rendering"
        return self[kind]


IS_LIVE: Mapping[type, bool] = _LiveTypes()


class _Saver(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, layer_index: Mapping[int, int]) -> None:
        super().__init__(buffer, 5)
        self.layer_index = layer_index
        self.arrays: list[Any] = []
        self.generators: list[np.random.Generator] = []
        self.other_generators: list[Any] = []
        self.references: list[Any] = []

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            if not value.dtype.hasobject:
                self.arrays.append(value.copy())
                return _array, (len(self.arrays) - 1,)
        elif kind is np.random.Generator:
            if type(value.bit_generator) is np.random.PCG64:
                self.generators.append(value)
                return _generator, (len(self.generators) - 1,)
            self.other_generators.append(value)
        elif kind is FunctionType and value.__module__ == __name__:
            return NotImplemented
        elif issubclass(kind, CONSTANT_TYPES) or kind is object:
            return self._reference(value)
        elif IS_LIVE[kind]:
            index = self.layer_index.get(id(value))
            return self._reference(value) if index is None else (_layer, (index,))
        elif issubclass(kind, OTHER_GENERATORS):
            self.other_generators.append(value)
        return self._copied(value)

    def _reference(self, value: Any) -> Any:
        self.references.append(value)
        return _reference, (len(self.references) - 1,)

    def _copied(self, value: Any) -> Any:
        try:
            reduced = value.__reduce_ex__(5)
        except Exception:
            return self._reference(value)
        return self._reference(value) if isinstance(reduced, str) else reduced


class _Loader(pickle.Unpickler):
    """Nothing that it hands out refers back to it: otherwise it would stay, with its buffer, until the garbage
    collector comes by, once for every snapshot that is loaded.
    """

    def __init__(self, captured: Capture, layers: Sequence[Any], pool: list[np.random.Generator]) -> None:
        super().__init__(io.BytesIO(captured.pickled))
        self._places: Mapping[str, Any] = {
            "_array": partial(_copied_array, captured.arrays),
            "_generator": partial(_lent_generator, pool, captured.generator_states),
            "_layer": layers.__getitem__,
            "_reference": captured.references.__getitem__,
        }

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__:
            return self._places[name]
        return super().find_class(module, name)


def _copied_array(arrays: Sequence[np.ndarray[Any, Any]], index: int) -> Any:
    return arrays[index].copy()


def _lent_generator(
    pool: list[np.random.Generator], states: Sequence[Mapping[str, Any]], index: int
) -> np.random.Generator:
    while len(pool) <= index:
        pool.append(np.random.Generator(np.random.PCG64(0)))
    generator = pool[index]
    generator.bit_generator.state = states[index]
    return generator


# Pickle stores these by name; `_Loader.find_class` puts what they stand for in their place.
def _array(index: int) -> Any: ...


def _generator(index: int) -> Any: ...


def _layer(index: int) -> Any: ...


def _reference(index: int) -> Any: ...
