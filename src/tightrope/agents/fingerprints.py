"""A hash of what an agent is, the same in every process: of its file, or of its code and the values it holds."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import logging
import types
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tightrope.files import read_content
from tightrope.files.limits import AGENT_FILE

DIGITS = 16

LIBRARIES = frozenset({"torch", "stable_baselines3", "sb3_contrib"})
"""A network of theirs is its weights; what their code does is told by their versions, which a run records."""


def file_fingerprint(path: str | PathLike[str], *options: object) -> str:
    """Hash of a file's content and of the options it is used with."""
    digest = hashlib.sha256(read_content(Path(path), AGENT_FILE))
    digest.update(repr(options).encode())
    return digest.hexdigest()[:DIGITS]


def object_fingerprint(value: object, *options: object) -> str:
    """Hash of a Python object: the code of functions, the attributes of instances, the content of arrays."""
    digest = hashlib.sha256(_digest(value, {}))
    digest.update(repr(options).encode())
    return digest.hexdigest()[:DIGITS]


Known: TypeAlias = dict[int, tuple[object, bytes]]
"""Digests by identity. The objects are kept with them, or a freed one's identity could come back as another's."""


def _digest(value: Any, known: Known) -> bytes:
    """What tells this value from another; never an address, nor an order that changes between processes."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return f"{type(value).__name__}:{value!r}".encode()
    if id(value) not in known:
        known[id(value)] = (value, b"itself")
        digest = hashlib.sha256()
        for piece in _pieces(value, known):
            digest.update(piece + b"\x1f")
        known[id(value)] = (value, digest.digest())
    return known[id(value)][1]


def _pieces(value: Any, known: Known) -> Iterable[bytes]:
    if isinstance(value, types.CodeType):
        yield value.co_code
        yield repr(value.co_names).encode()
        yield from (_digest(constant, known) for constant in value.co_consts)
    elif isinstance(value, types.FunctionType):
        yield from _function(value, known)
    elif isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        yield _name(value)
    elif isinstance(value, logging.Logger):
        # It leads to all other loggers of the process, and says nothing about what the agent does.
        yield value.name.encode()
    else:
        yield _name(type(value))
        yield from _contents(value, known)


def _contents(value: Any, known: Known) -> Iterable[bytes]:
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        yield f"{array.dtype}{array.shape}".encode()
        yield repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    elif isinstance(value, Mapping):
        yield from (_digest(part, known) for item in value.items() for part in item)
    elif isinstance(value, (set, frozenset)):
        yield from sorted(_digest(item, known) for item in value)
    elif isinstance(value, (list, tuple)):
        yield from (_digest(item, known) for item in value)
    elif isinstance(value, functools.partial):
        yield from (_digest(part, known) for part in (value.func, value.args, value.keywords))
    elif isinstance(value, types.MethodType):
        yield from (_digest(part, known) for part in (value.__func__, value.__self__))
        yield from (_digest(method, known) for method in _methods(type(value.__self__), value.__name__))
    elif hasattr(value, "state_dict"):
        yield _digest({name: np.asarray(part.cpu()) for name, part in value.state_dict().items()}, known)
        if type(value).__module__.split(".")[0] not in LIBRARIES:
            yield from (_digest(method, known) for method in _methods(type(value), "forward"))
    else:
        yield from (_digest(method, known) for method in _methods(type(value), "__call__", "predict"))
        yield _digest(getattr(value, "__dict__", None), known)


def _methods(kind: type, *first: str) -> list[types.FunctionType]:
    """The methods of these names, and those that they name in turn: all that happens when the object is asked."""
    found: dict[str, types.FunctionType] = {}
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        entry = inspect.getattr_static(kind, name, None)
        # A property holds its function as fget, a class or static method as __func__.
        method = getattr(entry, "fget", None) or getattr(entry, "__func__", entry)
        if name not in found and isinstance(method, types.FunctionType):
            found[name] = method
            waiting += _named(method.__code__)
    return [found[name] for name in sorted(found)]


def _named(code: types.CodeType) -> list[str]:
    """The names that code uses, and the functions written inside of it."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _named(part)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def _function(function: types.FunctionType, known: Known) -> Iterable[bytes]:
    yield _name(function)
    yield _digest(function.__code__, known)
    yield _digest(function.__defaults__, known)
    yield _digest(function.__kwdefaults__, known)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a cell that nothing was put into yet
            yield _digest(cell.cell_contents, known)
    for name in _named(function.__code__):
        if name in function.__globals__:
            yield _digest(function.__globals__[name], known)


def _name(thing: Any) -> bytes:
    own = getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
    return f"{getattr(thing, '__module__', '')}:{own}".encode()
