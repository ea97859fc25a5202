"""On which line a TOML file says what. The parser of Python's library keeps no line numbers."""

from __future__ import annotations

import re
from collections import Counter

Location = tuple[int | str, ...]

LONGEST = 2000
"""Characters of a line that is looked at: patterns take their time over a line made to hold them up."""

# Nothing here can match the same spaces in two ways, or a line full of them would be tried in all ways.
HEADER = re.compile(r"(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?$")
KEY = re.compile(r"""((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
INLINE_KEY = re.compile(r"""[{,]\s*([\w-]+|"[^"]*"|'[^']*')\s*=""")


def toml_lines(text: str) -> dict[Location, int]:
    """Location of a setting → its line: tables, arrays of tables, keys, and the keys of inline tables.

    For messages only: inside of strings of several lines it may find keys that are none.
    """
    lines: dict[Location, int] = {}
    entries: Counter[Location] = Counter()
    table: Location = ()
    for number, whole in enumerate(text.splitlines(), start=1):
        line = whole.strip() if len(whole) <= LONGEST else ""
        if header := HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                entries[table] += 1
                table = (*table, entries[table] - 1)
            lines[table] = number
        elif key := KEY.match(line):
            location = (*table, *_parts(key[1]))
            lines[location] = number
            for inner in INLINE_KEY.finditer(line, key.end()):
                lines.setdefault((*location, inner[1].strip("\"'")), number)
    return lines


def _parts(name: str) -> Location:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
