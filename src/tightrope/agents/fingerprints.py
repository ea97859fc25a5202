"""A hash of what an agent is, the same in every process: of its file, or of its code and the values it holds."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = 16


def file_fingerprint(path: str | PathLike[str], *options: object) -> str:
    """Hash of a file's content and of the options it is used with."""
    digest = hashlib.sha256(Path(path).read_bytes())
    digest.update(repr(options).encode())
    return digest.hexdigest()[:DIGITS]


def object_fingerprint(value: object, *options: object) -> str:
    """Hash of a Python object: the code of functions, the attributes of instances, the content of arrays."""
    digest = hashlib.sha256()
    for piece in _pieces(value, set()):
        digest.update(piece)
        digest.update(b"\x1f")
    digest.update(repr(options).encode())
    return digest.hexdigest()[:DIGITS]


def _pieces(value: Any, seen: set[int]) -> Iterable[bytes]:
    """What tells this value from another, as bytes; never an address or an order that changes between processes."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield f"{type(value).__name__}:{value!r}".encode()
        return
    if id(value) in seen:
        yield b"seen"
        return
    seen.add(id(value))
    if isinstance(value, types.CodeType):
        yield from _code(value, seen)
    elif isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    elif isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        yield _name(value)
    else:
        yield from _contents(value, seen)


def _contents(value: Any, seen: set[int]) -> Iterable[bytes]:
    yield _name(type(value))
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        yield f"{array.dtype}{array.shape}".encode()
        yield repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pieces(key, seen)
            yield from _pieces(item, seen)
    elif isinstance(value, (set, frozenset)):
        yield from sorted(object_fingerprint(item).encode() for item in value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _pieces(item, seen)
    elif isinstance(value, functools.partial):
        yield from _pieces((value.func, value.args, value.keywords), seen)
    elif isinstance(value, types.MethodType):
        yield from _pieces((value.__func__, value.__self__), seen)
    elif hasattr(value, "state_dict"):
        yield from _pieces({name: np.asarray(part) for name, part in value.state_dict().items()}, seen)
    else:
        for method in ("__call__", "predict"):
            yield from _pieces(getattr(type(value), method, None), seen)
        yield from _pieces(getattr(value, "__dict__", None), seen)


def _function(function: types.FunctionType, seen: set[int]) -> Iterable[bytes]:
    yield _name(function)
    yield from _pieces(function.__code__, seen)
    yield from _pieces((function.__defaults__, function.__kwdefaults__), seen)
    for cell in function.__closure__ or ():
        yield from _pieces(cell.cell_contents, seen)
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield from _pieces(function.__globals__[name], seen)


def _code(code: types.CodeType, seen: set[int]) -> Iterable[bytes]:
    yield code.co_code
    yield repr(code.co_names).encode()
    for constant in code.co_consts:
        yield from _pieces(constant, seen)


def _name(thing: Any) -> bytes:
    own = getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
    return f"{getattr(thing, '__module__', '')}:{own}".encode()
