"""A hash of what an agent is, the same in every process: of its files, or of its code and the values it holds."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

from tightrope.agents.objects.contents import Contents
from tightrope.files import read_content
from tightrope.files.limits import AGENT_FILE

DIGITS = 16


def file_fingerprint(path: str | PathLike[str], *options: object) -> str:
    """Hash of a file's content and of the options it is used with."""
    digest = hashlib.sha256(read_content(Path(path), AGENT_FILE))
    digest.update(repr(options).encode())
    return digest.hexdigest()[:DIGITS]


def object_fingerprint(value: object, *options: object) -> str:
    """Hash of a Python object: the code of functions, the attributes of instances, the content of arrays."""
    digest = hashlib.sha256(Contents(value).digest)
    digest.update(repr(options).encode())
    return digest.hexdigest()[:DIGITS]
