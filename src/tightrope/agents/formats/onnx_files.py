"""Which other files an ``.onnx`` file is made of: tensors may keep their numbers outside (``external_data``).

Told from the bytes of the file, without the onnx package. Of its messages only those on the way to a tensor are opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from tightrope.errors import AgentError, FormatError
from tightrope.files import read_content
from tightrope.files.limits import AGENT_FILE

INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
    "entry": {1: "key", 2: "value"},
}
"""Field numbers of onnx.proto by message: those that can lead to a tensor, and the entries about its outside data."""
VARINT, EIGHT_BYTES, SIZED, FOUR_BYTES = 0, 1, 2, 5
LONGEST_VARINT = 10
MEMORY = "_ORT_MEM_ADDR_"
"""In place of a file's name, this stands for an address in memory, which versions of ONNX Runtime take from a file."""


def external_files(path: Path) -> list[Path]:
    """The files that the model at ``path`` reads its weights from, each of them in its folder or below."""
    try:
        locations = sorted(set(_locations(memoryview(read_content(path, AGENT_FILE)))))
    except (ValueError, IndexError) as error:
        raise FormatError(f"{path} is not an .onnx file: {error}") from error
    return [_beside(path, location) for location in locations]


def _beside(model: Path, location: str) -> Path:
    """Where a location lies; refused when it is not under the model's folder, whatever links lead to."""
    rooted = PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor
    inside = not rooted and "\0" not in location and MEMORY not in location
    found = model.parent / location
    if not inside or not found.resolve().is_relative_to(model.parent.resolve()):
        raise AgentError(
            f"{model} names {location!r} as a file of its weights, which is outside its folder; such files are not "
            f"read. Export the model so that it and its weights are in one folder"
        )
    # Unlike Path.is_file, this also says no to names that no file can have.
    if not os.path.isfile(found):
        raise AgentError(f"{model} keeps weights in {location!r}, but there is no such file beside it; copy both files")
    return found


def _locations(content: memoryview) -> Iterator[str]:
    waiting = [("model", content)]
    while waiting:
        kind, message = waiting.pop()
        inside = INSIDE[kind]
        parts = [(inside[field], part) for field, part in _fields(message) if field in inside]
        if kind == "entry":
            entry = {name: bytes(part) for name, part in parts}
            if entry.get("key") == b"location":
                yield entry.get("value", b"").decode()
        else:
            waiting += parts


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The sized fields of a message by number; others are stepped over."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        if wire == SIZED:
            size, at = _varint(message, at)
            if at + size > len(message):
                raise ValueError("it ends in the middle of a field")
            yield tag >> 3, message[at : at + size]
            at += size
        elif wire == VARINT:
            _, at = _varint(message, at)
        elif wire in (EIGHT_BYTES, FOUR_BYTES):
            at += 8 if wire == EIGHT_BYTES else 4
        else:
            raise ValueError(f"it holds a field of the unknown kind {wire}")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and the place after it."""
    number = 0
    for place in range(LONGEST_VARINT):
        byte = message[at + place]
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            return number, at + place + 1
    raise ValueError("it holds a number without an end")
