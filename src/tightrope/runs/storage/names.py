"""Names as parts of paths: no two share one, on any file system."""

from __future__ import annotations

import re

from tightrope.errors import UsageError
from tightrope.trace import content_id

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
MEANT_OTHERWISE = re.compile(r".*(\.(json|suite|survival|tmp)|\.|-[0-9a-f]{8})", re.IGNORECASE)
"""Endings that a file of tightrope's has, that get lost, or that a name with a hash has."""
SHORTHAND = re.compile(r"([a-z]+):([0-9]+)")
LONGEST = 100


def file_name(name: str) -> str:
    """A name as part of a path: as it is where that is safe, else what is left of it and a hash of the whole."""
    if PLAIN.fullmatch(name) and not MEANT_OTHERWISE.fullmatch(name):
        return name
    kept = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "-" for sign in name)
    return f"{kept[:60]}-{content_id(name)[:8]}"


def suite_file_name(spec: str) -> str:
    """A suite's short name as part of a path: ``interval:1`` is interval-1, and nothing else is."""
    shorthand = SHORTHAND.fullmatch(spec)
    if shorthand is not None:
        return f"{shorthand[1]}-{shorthand[2]}"
    return f"{spec}-{content_id(spec)[:8]}" if re.fullmatch(r"[a-z]+-[0-9]+", spec) else file_name(spec)


def require_name(name: str, source: str) -> None:
    """Refuse a name that cannot be printed in one line."""
    if not (name.strip() and name.isprintable() and len(name) <= LONGEST):
        raise UsageError(
            f"an agent's name is one line of printable text with up to {LONGEST} characters, and {name!r:.200} is not; "
            f"give another, as in --agent new={source!r:.200}"
        )
