from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.files.bombs import MIB, at_most, header, npz, zeros
from tightrope.errors import FormatError
from tightrope.files.arrays import read_arrays
from tightrope.files.limits import ARRAY_ITEMS


def test_plain_arrays_come_back(tmp_path: Path) -> None:
    arrays = {
        "numbers": np.arange(6).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "texts": np.array(["a", "bcd"]),
        "nothing": np.zeros((0, 2)),
        "one": np.array(True),
    }
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    for name, array in read_arrays(tmp_path / "x.npz").items():
        assert array.dtype == arrays[name].dtype
        assert np.array_equal(array, arrays[name])


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(zeros("actions.npy", 400 * MIB))
    with at_most(8), pytest.raises(FormatError, match=r"x\.npz would unpack to 400 MiB; at most 256 MiB"):
        read_arrays(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("dtype", "shape", "body"),
    [
        ("<i8", (10**12,), b""),
        ("<i8", (2**62, 2**62), b""),
        ("<U1000000000", (1,), b""),
        ("<U0", (10**12,), b""),
        ("|V0", (10**12,), b""),
        ("<i8", (-1,), b""),
        ("<i8", (2,), b"12345678"),
        ("<i8", (1,), b"1234567890"),
        ("|O", (1,), pickle.dumps([1])),
        ("<U1", (1,), b"\xff\xff\xff\xff"),
        ("|a4", (1,), b"text"),
    ],
)
def test_headers_that_lie_are_refused(tmp_path: Path, dtype: str, shape: tuple[int], body: bytes) -> None:
    path = npz(tmp_path / "x.npz", actions=header(dtype, shape, body))
    refused = pytest.raises(FormatError, match=r"'actions.npy' in x\.npz is not a plain array")
    with at_most(8), refused, warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        read_arrays(path)


def test_more_items_than_anyone_holds_in_memory(tmp_path: Path) -> None:
    half = header("|u1", (ARRAY_ITEMS // 2 + 1,), bytes(ARRAY_ITEMS // 2 + 1))
    with pytest.raises(FormatError, match="more than 16,777,216 items"):
        read_arrays(npz(tmp_path / "x.npz", a=half, b=half))


def test_a_header_is_no_program(tmp_path: Path) -> None:
    called = b"__import__('os').mkdir('owned')".ljust(118)
    path = npz(tmp_path / "x.npz", a=b"\x93NUMPY\x01\x00" + len(called).to_bytes(2, "little") + called)
    with pytest.raises(FormatError, match="not a plain array"):
        read_arrays(path)
    assert not Path("owned").exists()
