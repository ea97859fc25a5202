"""Whether the fields of a value that was read hold what their annotations say.

A file may hold anything in any place. What is read from one is compared with the dataclass that it became, once, so
that no text turns up later where a number is added.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

Check = Callable[[Any], bool]


class WrongField(TypeError):
    """A field holds another kind of value than it should."""


def require_fields(value: Any, *, believed: tuple[type, ...] = ()) -> None:
    """Refuse a dataclass with a field of another kind than its annotation says, at any depth.

    Tables are looked into; instances of the ``believed`` classes are not, because whoever made them has looked.
    """
    if isinstance(value, Mapping):
        for part in value.values():
            require_fields(part, believed=believed)
    elif is_dataclass(value):
        cls: Any = type(value)
        for name, fits in field_checks(cls).items():
            part = getattr(value, name)
            if not fits(part):
                raise WrongField(f"{name} of a {cls.__name__} is {part!r:.60}")
            _require_inside(part, believed)


def _require_inside(value: Any, believed: tuple[type, ...]) -> None:
    if isinstance(value, believed):
        return
    if isinstance(value, tuple) and value and (is_dataclass(value[0]) or isinstance(value[0], (tuple, Mapping))):
        for part in value:
            _require_inside(part, believed)
    elif is_dataclass(value) or isinstance(value, Mapping):
        require_fields(value, believed=believed)


@cache
def field_checks(cls: type[Any]) -> Mapping[str, Check]:
    """For each field of a dataclass: whether a value is of the kind that its annotation says."""
    hints = typing.get_type_hints(cls)
    return {part.name: _check(hints[part.name]) for part in fields(cls)}


def _check(hint: Any) -> Check:
    hint = _spelt_out(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, (typing.TypeVar, str)):
        return lambda value: True
    if hint is float:
        return lambda value: type(value) is float or (isinstance(value, (int, float)) and not isinstance(value, bool))
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    if origin in (typing.Union, types.UnionType):
        return _any_of([_check(argument) for argument in arguments])
    if origin is typing.Literal:
        return lambda value: any(type(value) is type(word) and value == word for word in arguments)
    if origin is tuple:
        return _tuple(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping) and arguments:
        return _table(*map(_check, arguments))
    kind = origin or hint
    return lambda value: isinstance(value, kind)


def _spelt_out(hint: Any) -> Any:
    """What a name made by a ``type`` statement stands for, such as NumPy's ``NDArray`` of late: it is no class itself.

    What such a name is applied to is not looked at: the kinds of an array's numbers are the codec's business.
    """
    name = typing.get_origin(hint) or hint
    return _spelt_out(name.__value__) if hasattr(name, "__value__") else hint


def _any_of(checks: list[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _tuple(arguments: tuple[Any, ...]) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        fits = _check(arguments[0])
        return lambda value: isinstance(value, tuple) and all(map(fits, value))
    checks = [_check(argument) for argument in arguments]
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(checks)
        and all(fits(part) for fits, part in zip(checks, value, strict=True))
    )


def _table(key_fits: Check, value_fits: Check) -> Check:
    return lambda value: (
        isinstance(value, Mapping) and all(map(key_fits, value)) and all(map(value_fits, value.values()))
    )
