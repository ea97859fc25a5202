"""Writing files so that a reader sees either the old content or the new, never half of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

DRAFT = ".tmp"
"""How the names of files end that were not written to the end."""


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in the place of what was there, at once."""
    draft = path.with_name(path.name + DRAFT)
    draft.write_bytes(content)
    os.replace(draft, path)


def write_json(path: Path, content: Mapping[str, Any], *, for_people: bool = False) -> None:
    """Write a JSON file; ``for_people`` breaks it into lines."""
    write_whole(path, json_bytes(content, for_people=for_people))


def plain_number(value: float) -> float | str:
    """A number for JSON, which has no infinity and no NaN; as text ``float`` reads them back."""
    return value if isfinite(value) else str(value)


def json_bytes(content: Mapping[str, Any], *, for_people: bool = False) -> bytes:
    """A JSON file's content. What is no finite number is a mistake of whoever made the content."""
    layout: dict[str, Any] = {"indent": 1} if for_people else {"separators": (",", ":")}
    return (json.dumps(content, allow_nan=False, **layout) + "\n").encode()
