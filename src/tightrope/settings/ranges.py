"""What a value may be: kinds of numbers with their ranges, and the rule that a value breaks, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from tightrope.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers that a setting may have."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def __contains__(self, value: Any) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"between {self.at_least:g} and {self.at_most:g}"
        low = "" if self.at_least is None else f"{self.at_least:g} or more"
        low = low if self.above is None else f"above {self.above:g}"
        high = "" if self.at_most is None else f"at most {self.at_most:g}"
        high = high if self.below is None else f"below {self.below:g}"
        return " and ".join(part for part in (low, high) if part)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        bounds = {"ge": self.at_least, "gt": self.above, "le": self.at_most, "lt": self.below}
        schema = {**handler(source), **{name: bound for name, bound in bounds.items() if bound is not None}}
        if schema["type"] != "float" or self.at_most != 1:
            return schema
        return {"type": "function-before", "function": {"type": "no-info", "function": _as_share}, "schema": schema}


Count = Annotated[int, Range(at_least=1)]
Natural = Annotated[int, Range(at_least=0)]
Positive = Annotated[float, Range(above=0)]
Weight = Annotated[float, Range(at_least=0)]
Fraction = Annotated[float, Range(at_least=0, at_most=1)]
Share = Annotated[float, Range(above=0, at_most=1)]


def parse_share(text: str) -> float:
    """A share as people write it: ``0.05``, ``5%`` or ``1/20``."""
    number = text.strip().removesuffix("%")
    part, _, whole = number.partition("/")
    try:
        # In floats 0.7 / 100 is less than 0.007, and a rate of 7 in 1000 would be above a limit of 0.7%.
        value = Decimal(part) / Decimal(whole or 1)
        return float(value / 100 if text.strip().endswith("%") else value)
    except (ValueError, ArithmeticError):
        raise ValueError(f"{text!r} is not a share; write 5% or 0.05") from None


def _as_share(value: Any) -> Any:
    """A share that is written as people write it in a file; what is none stays what it is, and is refused as such."""
    try:
        return parse_share(value) if isinstance(value, str) else value
    except ValueError:
        return value


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) and value < 1e5 else str(value)


def either(words: Sequence[Any]) -> str:
    """A choice in words."""
    *first, last = map(str, words)
    return f"{', '.join(first)} or {last}" if first else last


def broken_rule(type_: Any, value: Any) -> str:
    """What a value of this type must be, if it is not; else empty."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        rules = [broken_rule(part, value) for part in arguments]
        return "" if "" in rules else next(rule for rule in rules if rule != "nothing")
    if origin is Annotated:
        return broken_rule(arguments[0], value) or ("" if value in arguments[1] else str(arguments[1]))
    if origin is Literal:
        return "" if value in arguments else either(arguments)
    if origin is tuple:
        return _broken_rule_of_items(arguments, value)
    accepted, rule = _PLAIN.get(type_, (object, ""))
    wrong = not isinstance(value, accepted) or (isinstance(value, bool) and type_ in (int, float))
    return rule if wrong else ""


def require(called: str, value: Any, type_: Any, advice: str = "") -> None:
    """Refuse a value that something of this name may not have, and say what to do about it."""
    if rule := broken_rule(type_, value):
        raise UsageError(f"{called} must be {rule}, not {value!r}{advice}")


_PLAIN: Mapping[Any, tuple[Any, str]] = {
    NoneType: (NoneType, "nothing"),
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
    Path: ((str, Path), "a path"),
}


def _broken_rule_of_items(types: tuple[Any, ...], value: Any) -> str:
    if not isinstance(value, tuple | list):
        return "a list"
    if types[-1] is Ellipsis:
        types = types[:1] * len(value)
    if len(value) != len(types):
        return f"{len(types)} values"
    rules = [rule for type_, item in zip(types, value, strict=True) if (rule := broken_rule(type_, item))]
    return f"values that are each {rules[0]}" if rules else ""
