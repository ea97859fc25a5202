"""Ways to damage a file. All randomness is an argument, so that a seed and a number name a damaged file for ever."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

Mutation = Callable[[Random, bytes], bytes]

ODD = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63), 10**99, 0.5, -0.0, 1e308, -1e308, float("nan"),
    float("inf"), "", "x", "0", "1e400", "nan", "tightrope/run", "../../x", "\x00", "\x1b[2J", "\u202e", "\ud800", "é",
    "𝟘", "a" * 5000, [], {}, [None], [[]], [0], {"": None}, {"format": 1}, [[0, 0]], [1, "x", None],
)  # fmt: skip
"""What stands where something else belongs: other kinds, extremes, signs that terminals and files do not bear."""
ODD_BYTES = (b"", b"\0", b"\xff", b"\xff\xfe", b"\x1b[2J", b"NaN", b"1e999", b"9" * 200, b"[" * 300, b"{}", b"null")
DEEP = 80


def damaged_bytes(rng: Random, content: bytes) -> bytes:
    """Flipped, cut, doubled, shifted or overwritten bytes."""
    place, other = (rng.randrange(len(content) + 1) for _ in "ab")
    first, last = min(place, other), max(place, other)
    kind = rng.randrange(8)
    if kind < 3:
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            if damaged:
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        return bytes(damaged)
    if kind == 3:
        return content[:place]
    if kind == 4:
        return content[:first] + content[last:]
    if kind == 5:
        return content[:last] + content[first:last] + content[last:]
    if kind == 6:
        return content[:first] + rng.randbytes(min(last - first, rng.choice((1, 4, 64)))) + content[first:][64:]
    return content[:place] + rng.choice(ODD_BYTES) + content[place:]


def damaged_json(rng: Random, content: bytes) -> bytes:
    """JSON with some of its values or keys changed; now and then no JSON any more."""
    if rng.random() < 0.1:
        return damaged_bytes(rng, content)
    return json_text(damaged_value(rng, json.loads(content)))


def json_text(value: Any) -> bytes:
    return json.dumps(value).encode()


def damaged_value(rng: Random, value: Any) -> Any:
    """A plain value with one to three places changed."""
    root = [value]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = _place(rng, root)
        _change(rng, holder, key)
    return root[0] if root else None


def _place(rng: Random, root: list[Any]) -> tuple[Any, Any]:
    """Some value in the tree: the list or table that holds it, and where. Each level is as likely as the others."""
    holder: Any = root
    key: Any = 0
    while True:
        inner = holder[key]
        if not isinstance(inner, (dict, list)) or not inner or rng.random() < 0.15:
            return holder, key
        holder, key = inner, rng.choice(list(inner)) if isinstance(inner, dict) else rng.randrange(len(inner))


def _change(rng: Random, holder: Any, key: Any) -> None:
    kind, value = rng.randrange(8), holder[key]
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 0:
        holder[key : key + 1] = [value, value]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice(("x", "", "\x00", f"{key}s"))] = holder.pop(key)
    elif kind == 1 and len(holder) > 1:
        del holder[key]
    elif kind == 2:
        holder[key] = rng.choice(([value], {"x": value}, str(value), [value, value]))
    elif kind == 3 and isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[key] = rng.choice((-value, value + 1, value * 1000, float(value), str(value), value == 1))
    elif kind == 4 and rng.random() < 0.2:
        for _ in range(DEEP):
            value = [value]
        holder[key] = value
    else:
        holder[key] = deepcopy(rng.choice(ODD))


def damaged_text(rng: Random, content: bytes) -> bytes:
    """Lines and words of a settings file changed."""
    if rng.random() < 0.15:
        return damaged_bytes(rng, content)
    lines = content.decode().split("\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            lines.insert(place, rng.choice(lines))
        elif kind == 1 and len(lines) > 1:
            del lines[place]
        elif kind == 2:
            lines[place] = (
                rng.choice((" ", "\t", "- ", "# ", "&a ", "*a ", "!!python/name:os.system ", "[")) + lines[place]
            )
        else:
            lines[place] = _other_setting(rng, lines[place])
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _other_setting(rng: Random, line: str) -> str:
    for sign in (":", "="):
        name, found, _ = line.partition(sign)
        if found:
            value = rng.choice(ODD)
            return f"{name}{sign} {rng.choice((json.dumps(value), str(value), '1_0:3', '2001-99-99', '<<', '0x1p3'))}"
    return line[: len(line) // 2]


def in_archive(choose: Callable[[str], Mutation | None]) -> Mutation:
    """Damage within a zip archive, which stays a whole one; ``choose`` says how a member of a name is damaged."""

    def mutate(rng: Random, content: bytes) -> bytes:
        if rng.random() < 0.3:
            return damaged_bytes(rng, content)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice([name for name in members if choose(name) is not None])
        kind = rng.randrange(12)
        if kind == 0:
            del members[name]
        elif kind == 1:
            members[f"{name}x"] = members.pop(name)
        else:
            change = choose(name)
            assert change is not None
            members[name] = change(rng, members[name])
        return _archive(members)

    return mutate


def _archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def damaged_packed_json(rng: Random, content: bytes) -> bytes:
    """A compressed JSON value."""
    return zlib.compress(damaged_json(rng, zlib.decompress(content)))
