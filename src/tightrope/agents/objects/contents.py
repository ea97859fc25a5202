"""What a Python object is made of: the code it runs, the values it holds, and what that code names.

Libraries are left at their names, since a run records their versions. Random generators are left at their types: where
they stand is no part of what an agent is.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import random
import sys
import types
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import AgentError

RECURSION_LIMIT = 50_000
"""A project's functions name each other in long chains. Frames of Python code lie on the heap, not on the stack."""
BOOKKEEPING = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate_func__",
     "__annotations_cache__", "__slotnames__", "__firstlineno__", "__static_attributes__",
     "__abstractmethods__", "_abc_impl"}
)  # fmt: skip
"""What Python keeps in a class for itself."""


class Known(dict[int, tuple[object, bytes]]):
    """Digests by identity. The objects are kept with them, or a freed one's identity could come back as another's."""

    numbers: bool
    """Whether the numbers in arrays are looked at."""


class Contents:
    """A digest of all that an object is made of, the same in every process, and the parts it was made from.

    ``numbers=False`` leaves the content of arrays out, for who wants the parts alone.
    """

    def __init__(self, value: object, *, numbers: bool = True) -> None:
        self._known = Known()
        self._known.numbers = numbers
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
        try:
            self.digest = _digest(value, self._known)
        except RecursionError:
            raise AgentError(
                "the agent holds values that lie within each other thousands deep, so its content cannot be compared; "
                "keep such a structure in a flat list"
            ) from None
        finally:
            sys.setrecursionlimit(limit)

    @property
    def parts(self) -> list[Any]:
        """Everything that was looked into, each once."""
        return [part for part, _ in self._known.values()]


def is_generator(value: object) -> bool:
    """Whether this is something that random numbers are drawn from."""
    if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
        return True
    return type(value).__module__.startswith("torch") and type(value).__name__ == "Generator"


def _digest(value: Any, known: Known) -> bytes:
    """What tells this value from another; never an address, nor an order that changes between processes."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return f"{type(value).__name__}:{value!r}".encode()
    if id(value) not in known:
        known[id(value)] = (value, b"itself")
        known[id(value)] = (value, hashlib.sha256(b"\x1f".join(_pieces(value, known))).digest())
    return known[id(value)][1]


def _all(values: Any, known: Known) -> list[bytes]:
    return [_digest(value, known) for value in values]


def _pieces(value: Any, known: Known) -> list[bytes]:
    if isinstance(value, types.CodeType):
        return [value.co_code, repr(value.co_names).encode(), *_all(value.co_consts, known)]
    if isinstance(value, types.FunctionType):
        return _function(value, known)
    if isinstance(value, type):
        return [_name(value), *([] if _of_library(value) else _class(value, known))]
    if isinstance(value, (types.ModuleType, types.BuiltinFunctionType)) or is_generator(value):
        return [_name(value if hasattr(value, "__name__") else type(value))]
    if isinstance(value, logging.Logger):
        # It leads to all other loggers of the process, and says nothing about what the agent does.
        return [value.name.encode()]
    return [_digest(type(value), known), *_held(value, known)]


def _held(value: Any, known: Known) -> list[bytes]:
    """What an instance holds."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _array(value, known)
    if isinstance(value, (set, frozenset)):
        return sorted(_all(value, known))
    if isinstance(value, functools.partial):
        return _all((value.func, value.args, value.keywords), known)
    if isinstance(value, types.MethodType):
        return _all((value.__func__, value.__self__), known)
    if isinstance(value, (os.PathLike, gym.Space)):
        # Paths remember how they were last spelt, and spaces make their generators when first asked.
        return [str(value).encode(), *_all(_generators(value), known)]
    if hasattr(value, "__array__") and hasattr(value, "dtype"):
        return _array(value, known)
    if hasattr(value, "state_dict") and _of_library(type(value)):
        return [repr(value).encode(), _digest(dict(value.state_dict()), known)]
    items: list[bytes] = []
    if isinstance(value, Mapping):
        items = [_digest(part, known) for item in value.items() for part in item]
    elif isinstance(value, (list, tuple, deque)):
        items = _all(value, known)
    return items + _attributes(value, known)


def _attributes(value: Any, known: Known) -> list[bytes]:
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    held = [_digest(getattr(value, name, None), known) for name in slots]
    own = getattr(value, "__dict__", None)
    if own is not None:
        return [*held, _digest(own, known)]
    if slots or isinstance(value, (Mapping, list, tuple)):
        return held
    # Made by a compiled library: what it would be pickled as, where it can be.
    with contextlib.suppress(Exception):
        reduced = value.__reduce_ex__(4)
        return _all(reduced[1:3], known) if isinstance(reduced, tuple) else []
    return []


def _class(kind: type, known: Known) -> list[bytes]:
    """The methods and values of a class, and those of its bases."""
    names = sorted(name for name in vars(kind) if name not in BOOKKEEPING)
    slots = _slots(kind)
    own = [_digest(_inner(vars(kind)[name]), known) for name in names if name not in slots]
    return [repr(names).encode(), *own, *_all(kind.__bases__, known)]


def _inner(entry: Any) -> Any:
    """The functions behind a property, a class method or a static method."""
    if isinstance(entry, property):
        return (entry.fget, entry.fset, entry.fdel)
    return entry.__func__ if isinstance(entry, (classmethod, staticmethod)) else entry


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    private = f"_{kind.__name__.lstrip('_')}"
    return [f"{private}{name}" if name.startswith("__") and name[-2:] != "__" else name for name in names
            if name not in ("__dict__", "__weakref__")]  # fmt: skip


def _function(function: types.FunctionType, known: Known) -> list[bytes]:
    pieces = [_name(function), *_all((function.__defaults__, function.__kwdefaults__, function.__dict__), known)]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a cell that nothing was put into yet
            pieces.append(_digest(cell.cell_contents, known))
    if is_library(str(function.__globals__.get("__name__"))):
        return pieces
    names = _named(function.__code__)
    return [*pieces, _digest(function.__code__, known), *_all(_found(names, function.__globals__), known)]


def _found(names: list[str], scope: Mapping[str, Any]) -> Iterator[Any]:
    """What the names in a function's code stand for, also by way of the user's own modules."""
    for name in names:
        if name in scope:
            yield scope[name]
            module = scope[name]
            if isinstance(module, types.ModuleType) and not is_library(module.__name__):
                yield from _found([other for other in names if other != name], vars(module))


def _named(code: types.CodeType) -> list[str]:
    """The names that code uses, and the functions written inside of it."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _named(part)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def _array(value: Any, known: Known) -> list[bytes]:
    """An array of NumPy, torch or any library that can give it as one."""
    described = f"{value.dtype}{tuple(value.shape)}".encode()
    if not known.numbers:
        return [described]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    try:
        array = np.asarray(value)
    except TypeError:  # bfloat16 and the like, which NumPy does not know
        array = np.asarray(value.float())
    return [described, repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()]


def _generators(value: Any) -> list[Any]:
    if not isinstance(value, gym.Space):
        return []
    inner = getattr(value, "spaces", ())
    return [value.np_random, *(inner.values() if isinstance(inner, Mapping) else inner)]


def _name(thing: Any) -> bytes:
    own = getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
    return f"{getattr(thing, '__module__', '')}:{own}".encode()


def _of_library(kind: type) -> bool:
    return is_library(str(getattr(kind, "__module__", "")))


@functools.cache
def is_library(module: str) -> bool:
    """Whether a module was installed, and is not the user's own."""
    top = module.partition(".")[0]
    if top == "tightrope" or top in sys.stdlib_module_names:
        return True
    place = getattr(sys.modules.get(module), "__file__", None) or getattr(sys.modules.get(top), "__file__", None)
    return place is not None and not {"site-packages", "dist-packages"}.isdisjoint(Path(place).parts)
