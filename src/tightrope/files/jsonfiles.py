"""Portable JSON files: of a stated format and version, shallow, and with numbers of a sensible length."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tightrope.errors import FormatError
from tightrope.files.content import read_content
from tightrope.files.limits import DIGITS, JSON_FILE, NESTING

DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""What a reader meets when a field is missing or of another kind than it should be."""

LONG_NUMBER = re.compile(rf"[0-9]{{{DIGITS + 1}}}")
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json_file(path: Path, *, kind: str, version: int) -> dict[str, Any]:
    """The content of a portable file after its format (``kind``) and version were checked."""
    content = parse_json(read_content(path, JSON_FILE), path.name)
    if not isinstance(content, dict):
        raise FormatError(f"{path.name} holds a JSON {type(content).__name__}, not a {kind!r} object")
    check_header(path.name, content, kind, version)
    return content


def parse_json(content: bytes | str, source: str) -> Any:
    """The value of a JSON text; anything else, and anything out of all proportion, is a FormatError."""
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        # Asking Python about every number takes longer than reading them, so only texts that need it are asked about.
        value = json.loads(text, parse_int=_whole_number if LONG_NUMBER.search(text) else None)
        if SURROGATE.search(text):
            # Half of a pair can be held, but neither written nor printed.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise _too_deep(source) from None
    except ValueError as error:
        raise FormatError(f"{source} is not a JSON file ({error}); was it written to the end?") from error
    require_shallow(value, source)
    return value


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


def check_header(name: str, header: Mapping[str, Any], format: str, version: int) -> None:
    """Refuse another kind of file, and a newer version of this one."""
    if header.get("format") != format:
        raise FormatError(f"{name} says it is {header.get('format')!r}, but {format!r} is needed")
    if not isinstance(header.get("version"), int) or header["version"] > version:
        raise FormatError(
            f"{name} has version {header.get('version')!r} of {format!r}; this tightrope reads up to {version}. "
            f"Update tightrope"
        )


def _whole_number(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(f"a number of {len(text)} digits; at most {DIGITS} are read")
    return int(text)


def _too_deep(source: str) -> FormatError:
    return FormatError(f"{source} nests lists and tables more than {NESTING} levels deep, which no honest file does")
