"""Portable JSON files: of a stated format and version, shallow, and with numbers of a sensible length."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from tightrope.errors import FormatError
from tightrope.files.content import read_content
from tightrope.files.limits import DIGITS, JSON_FILE, NESTING

Migrations: TypeAlias = Mapping[int, Callable[[Mapping[str, Any]], Mapping[str, Any]]]

DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""What a reader meets when a field is missing or of another kind than it should be."""

HASH_DIGITS = 16
LONG_NUMBER = re.compile(rf"[0-9]{{{DIGITS + 1}}}")
BEYOND_BOUNDS = re.compile(r"[eE]\+?[0-9]{3}")
"""How a number may be written that is read as infinity; a long one is another."""
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json_file(path: Path, *, kind: str, version: int) -> dict[str, Any]:
    """The content of a portable file after its format (``kind``) and version were checked."""
    content: dict[str, Any] = parse_json(read_content(path, JSON_FILE), path.name)
    check_header(path.name, content, kind, version)
    return content


def parse_json(content: bytes | str, source: str, *, finite: bool = True) -> Any:
    """The value of a JSON text; anything else, and anything out of all proportion, is a FormatError.

    JSON has neither infinity nor NaN, but some who write it do; without ``finite`` they are read.
    """
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        value = json.loads(text, **_hooks(text, finite))
        if SURROGATE.search(text):
            # Half of a pair can be held, but neither written nor printed.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise _too_deep(source) from None
    except ValueError as error:
        raise FormatError(f"{source} is not a JSON file ({error}); was it written to the end?") from error
    require_shallow(value, source)
    return value


def hash_from_text(text: str) -> int:
    """A hash of 64 bits, which files hold in hexadecimal digits."""
    if len(text) > HASH_DIGITS:
        raise ValueError(f"{text!r:.60} is no hash of {HASH_DIGITS} digits")
    return int(text, 16)


def require_shallow(value: Any, source: str) -> None:
    """Refuse lists and tables that nest too deeply, without recursion of its own."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(NESTING):
        level = [
            part
            for outer in level
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, (dict, list))
        ]
        if not level:
            return
    raise _too_deep(source)


def check_header(name: str, header: Any, format: str, version: int) -> None:
    """Refuse another kind of file, and a newer version of this one."""
    if not isinstance(header, Mapping):
        raise FormatError(f"{name} holds a JSON {type(header).__name__}, not a {format!r} object")
    if header.get("format") != format:
        raise FormatError(f"{name} says it is {header.get('format')!r}, but {format!r} is needed")
    if type(header.get("version")) is not int or header["version"] > version:
        raise FormatError(
            f"{name} has version {header.get('version')!r} of {format!r}; this tightrope reads up to {version}. "
            f"Update tightrope"
        )


def migrated(name: str, content: Any, format: str, migrations: Migrations) -> dict[str, Any]:
    """The content in the newest version, one step after the other; ``migrations`` has one from each earlier version.

    A version that cannot be brought up to date has a step that says so.
    """
    newest = max(migrations, default=0) + 1
    check_header(name, content, format, newest)
    while content["version"] < newest:
        version = content["version"]
        if version not in migrations:
            raise FormatError(f"{name} has version {version!r} of {format!r}, which has never existed")
        content = {**migrations[version](content), "version": version + 1}
    return dict(content)


def _hooks(text: str, finite: bool) -> dict[str, Any]:
    """Asking Python about every number takes longer than reading them, so only texts that need it are asked about."""
    is_long = LONG_NUMBER.search(text)
    hooks: dict[str, Any] = {"parse_int": _whole_number} if is_long else {}
    if finite:
        hooks["parse_constant"] = _finite_number
        if is_long or BEYOND_BOUNDS.search(text):
            hooks["parse_float"] = _finite_number
    return hooks


def _finite_number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text:.20} is not a finite number")
    return value


def _whole_number(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number of {len(text)} digits; at most {DIGITS} are read")
    return int(text)


def _too_deep(source: str) -> FormatError:
    return FormatError(f"{source} nests lists and tables more than {NESTING} levels deep, which no honest file does")
