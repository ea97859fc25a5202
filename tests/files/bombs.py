"""Files that are small and want to be huge."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

MIB = 1024**2


@contextmanager
def at_most(mebibytes: float) -> Iterator[None]:
    """Fails when more memory was in use at once; numpy's and zlib's is counted too."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < mebibytes * MIB, f"{peak / MIB:.0f} MiB were in use"


def zeros(name: str, size: int) -> bytes:
    """An archive with one member of so many zeros, packed a thousandfold."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        for _ in range(size // MIB):
            member.write(bytes(MIB))
    return buffer.getvalue()


def npz(path: Path, **members: bytes) -> Path:
    """An npz file of these very bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def header(dtype: str, shape: tuple[int, ...], body: bytes = b"") -> bytes:
    """An array as npz files hold it, with a header that need not be true."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + body


def lies_about_its_size(content: bytes, real: int, stated: int) -> bytes:
    """The archive with a member's size replaced in both places that state it."""
    before, after = real.to_bytes(4, "little"), stated.to_bytes(4, "little")
    assert content.count(before) >= 2
    return content.replace(before, after)


def nested_json(levels: int) -> str:
    return "[" * levels + "]" * levels


TRACES = json.dumps({"format": "tightrope/traces", "version": 1})
