from __future__ import annotations

import io
import zipfile

import pytest

from tests.files.bombs import MIB, at_most, lies_about_its_size, zeros
from tightrope.errors import FormatError
from tightrope.files.limits import ZIP_DIRECTORY
from tightrope.files.zips import read_members


def members(content: bytes, most: int = 10 * MIB) -> dict[str, bytes]:
    return read_members(io.BytesIO(content), "x.zip", most=most)


def test_what_fits_is_unpacked() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("stored", b"abc")
        archive.writestr("packed", bytes(3 * MIB), zipfile.ZIP_DEFLATED)
    assert members(buffer.getvalue()) == {"stored": b"abc", "packed": bytes(3 * MIB)}
    assert read_members(io.BytesIO(buffer.getvalue()), "x.zip", most=MIB, names=["stored", "none"]) == {
        "stored": b"abc"
    }


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    content = zeros("big", 200 * MIB)
    with at_most(8), pytest.raises(FormatError, match=r"x\.zip would unpack to 200 MiB; at most 10 MiB"):
        members(content)


def test_a_bomb_that_lies_about_its_size_unpacks_to_what_it_states() -> None:
    content = lies_about_its_size(zeros("big", 200 * MIB), 200 * MIB, 1000)
    with at_most(8), pytest.raises(FormatError, match=r"x\.zip is not a whole zip archive"):
        members(content)


def test_members_that_share_their_bytes_are_counted_each() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(4 * MIB))
        first = archive.getinfo("a")
        for number in range(50):
            twin = zipfile.ZipInfo(f"{number}")
            for field in ("compress_type", "compress_size", "file_size", "CRC", "header_offset"):
                setattr(twin, field, getattr(first, field))
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
    with at_most(8), pytest.raises(FormatError, match="would unpack to 204 MiB"):
        members(buffer.getvalue())


def test_a_table_of_contents_out_of_all_proportion_is_not_read() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(ZIP_DIRECTORY // 46):
            archive.filelist.append(zipfile.ZipInfo(str(number)))
            archive.filelist[-1].header_offset = archive.filelist[-1].CRC = 0
        archive._didModify = True
    content = buffer.getvalue()
    with at_most(12), pytest.raises(FormatError, match="table of contents"):
        members(content)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_cannot_be_unpacked_piece_by_piece_are_refused(kind: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        archive.writestr("a", bytes(MIB))
    with pytest.raises(FormatError, match="'a' is encrypted or packed in a way"):
        members(buffer.getvalue())


def test_damage_is_a_format_error_wherever_it_is() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(range(256)))
    content = buffer.getvalue()
    for place in range(len(content)):
        damaged = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        try:
            members(damaged)
        except FormatError:
            continue
    for length in range(0, len(content), 7):
        with pytest.raises(FormatError):
            members(content[:length])
