"""The bytes of a file, if it is a plain one and not too long."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tightrope.errors import FormatError
from tightrope.files.limits import GIB, MIB


def require_plain_file(path: Path, most: int) -> int:
    """The size of a file in bytes; raises FormatError for a device, a pipe, or a file of more than ``most`` bytes."""
    found = path.stat()
    # A pipe would be waited for, and a device may never end.
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(f"{path} is not a plain file")
    if found.st_size > most:
        raise FormatError(f"{path} has {in_words(found.st_size)}, and files of its kind may have {in_words(most)}")
    return found.st_size


def read_content(path: Path, most: int) -> bytes:
    """All bytes of a plain file of at most ``most`` bytes."""
    size = require_plain_file(path, most)
    with path.open("rb") as file:
        # Room is made for as much as is asked for, so no more is asked for than is there.
        return file.read(size)


def require_no_links(folder: Path) -> None:
    """Refuse a folder that holds links: whatever is written there would be written where they lead."""
    for inner, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(inner, name)
            if path.is_symlink():
                raise FormatError(
                    f"{path} is a link, and writing to it would change {os.readlink(path)}; a run folder holds its "
                    f"files itself. Remove the link, or put the file in its place"
                )


def in_words(size: int) -> str:
    """A number of bytes for people."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
