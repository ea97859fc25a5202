"""Arrays from npz files: plain numbers and texts, whose sizes are known before they are made."""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import FormatError
from tightrope.files.content import in_words, require_plain_file
from tightrope.files.limits import ARRAY_ITEMS, ARRAYS
from tightrope.files.zips import read_members

PLAIN = "biufU"
"""Kinds of arrays that are read: truths, whole numbers, fractions, texts. Objects are pickles, and never read."""
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file by their names."""
    require_plain_file(path, ARRAYS)
    with path.open("rb") as file:
        members = read_members(file, path.name, most=ARRAYS)
    arrays, items = {}, 0
    for name, content in members.items():
        arrays[name.removesuffix(".npy")] = array = _array(content, f"{name!r} in {path.name}")
        items += array.size
        if items > ARRAY_ITEMS:
            raise FormatError(f"{path.name} holds arrays of more than {ARRAY_ITEMS:,} items together")
    return arrays


def _array(content: bytes, source: str) -> NDArray[Any]:
    """One array. What its header says must be there in bytes before room is made for it."""
    file = io.BytesIO(content)
    try:
        with warnings.catch_warnings():
            # NumPy warns of names for kinds of arrays that are not read anyway.
            warnings.simplefilter("ignore")
            shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        if dtype.kind not in PLAIN or dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise ValueError(f"an array of {dtype} and shape {shape}")
        needed, there = math.prod(shape) * dtype.itemsize, len(content) - file.tell()
        if needed != there:
            raise ValueError(f"its header says {in_words(needed)}, and {in_words(there)} are there")
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        if dtype.kind == "U":
            # Numbers that are no characters are noticed only when texts are made of them.
            array.tolist()
        return array
    except Exception as error:
        # The header is a Python literal, and garbled ones fail in every way.
        raise FormatError(f"{source} is not a plain array ({type(error).__name__}: {error})") from error
