"""Which functions of tightrope call code of the user's, so that a look at a stack tells whose call is under way."""

from __future__ import annotations

import contextlib
import dis
import re
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_marked: dict[CodeType, _Mark] = {}
DUMPED_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<name>.+)$', re.MULTILINE)
"""How ``faulthandler`` writes a frame, the innermost first."""


class _Mark(NamedTuple):
    whose: str
    """In words, with the function's local variables in braces."""
    roles: dict[str, str]
    """By the name of the attribute that is called, what the call is."""


NOT_MARKED = _Mark("", {})


def calls_out(whose: str, **roles: str) -> Callable[[Function], Function]:
    """Mark a function that calls code of the user's. It is not wrapped: the busiest of them would notice.

    One without roles calls none itself, and knows whose it is that others call for it.
    """

    def mark(function: Function) -> Function:
        _marked[function.__code__] = _Mark(whose, roles)
        return function

    return mark


def open_call(frame: FrameType | None) -> FrameType | None:
    """The innermost marked function on a stack."""
    while frame is not None and not _mark_of(frame).roles:
        frame = frame.f_back
    return frame


def describe(frame: FrameType) -> str:
    """Whose call is under way in a marked function, and which."""
    role = _role(frame.f_code, frame.f_lineno)
    return f"{_whose(frame)}: {role}"


def described_in(dump: str) -> str | None:
    """Which call was under way when ``faulthandler`` wrote this; it knows no variables, so it is not known whose."""
    for found in DUMPED_FRAME.finditer(dump):
        for code in _marked:
            if (code.co_filename, code.co_name) == (found["file"], found["name"]):
                return _role(code, int(found["line"]))
    return None


def _mark_of(frame: FrameType) -> _Mark:
    return _marked.get(frame.f_code, NOT_MARKED)


def _whose(frame: FrameType) -> str:
    """By the innermost function that knows a name; by the very innermost if none does."""
    unnamed = _mark_of(frame).whose
    outer: FrameType | None = frame
    while outer is not None:
        whose = _mark_of(outer).whose
        if "{" in whose:
            with contextlib.suppress(AttributeError, KeyError):
                return whose.format_map(outer.f_locals)
        outer = outer.f_back
    return unnamed


def _role(code: CodeType, line: int | None) -> str:
    roles = _marked[code].roles
    on_line = (step.argval for step in dis.get_instructions(code) if step.positions and step.positions.lineno == line)
    named = (roles[name] for name in on_line if isinstance(name, str) and name in roles)
    return next(named, next(iter(roles.values())))
