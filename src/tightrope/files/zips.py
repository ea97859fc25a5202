"""Members of zip archives, with their sizes checked before anything is unpacked."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tightrope.errors import FormatError
from tightrope.files.content import in_words
from tightrope.files.limits import MIB, ZIP_DIRECTORY

KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The ways of packing that unpack piece by piece. The others of Python's reader give all they hold at once."""
ENCRYPTED = 1


def read_members(file: BinaryIO, source: str, *, most: int, names: Collection[str] | None = None) -> dict[str, bytes]:
    """The members of these names (default: all of them), unpacked to at most ``most`` bytes together.

    A name that is not there is left out; nothing is ever written to disk, so what a name says does no harm.
    """
    with _opened(file, source) as archive:
        held = {name: archive.getinfo(name) for name in archive.namelist() if names is None or name in names}
        for name, member in held.items():
            if member.compress_type not in KINDS or member.flag_bits & ENCRYPTED:
                raise FormatError(f"{source}: {name!r} is encrypted or packed in a way that is not read")
        unpacked = sum(member.file_size for member in held.values())
        if unpacked > most:
            raise FormatError(f"{source} would unpack to {in_words(unpacked)}; at most {in_words(most)} are unpacked")
        return {name: _unpacked(archive, member) for name, member in held.items()}


@contextmanager
def _opened(file: BinaryIO, source: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(_ShortReads(file)) as archive:
            yield archive
    except FormatError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise _damaged(source, error) from error
    except Exception as error:
        # Damage shows as whatever Python's reader happens to meet: BadZipFile, zlib.error, struct.error, EOFError …
        raise _damaged(source, error) from error


def _damaged(source: str, error: Exception) -> FormatError:
    return FormatError(f"{source} is not a whole zip archive ({type(error).__name__}: {error})")


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Piece by piece: asked for all at once, the reader unpacks more than the size that the member states."""
    with archive.open(member) as file:
        return b"".join(iter(lambda: file.read(MIB), b""))


class _ShortReads:
    """A file that gives no more at once than a table of contents may have; the archive's reader takes it in one go."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size if 0 <= size <= ZIP_DIRECTORY else ZIP_DIRECTORY + 1)
        if len(content) > ZIP_DIRECTORY:
            raise FormatError(f"the archive's table of contents has more than {in_words(ZIP_DIRECTORY)}")
        return content

    def seekable(self) -> bool:
        return True
