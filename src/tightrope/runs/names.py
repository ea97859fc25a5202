"""Names as parts of paths."""

from __future__ import annotations


def file_name(name: str) -> str:
    """A name as part of a path: letters, digits, dots and dashes."""
    return "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name)
