"""Running a network so that the answer to one observation does not depend on the batch it is in, bit for bit.

Matrix libraries choose their kernels by the shape of the whole batch, and kernels add in different orders: torch
answers one row, two rows and four rows differently in the last digits, and with three rows even by position. From some
size on they agree; which sizes those are differs with library, processor and network. So the network is measured when
it is loaded: the sizes that agree bit for bit, in every position and whatever the other rows hold, are used, and no
others. Rows that do not fill a block are padded. If nothing agrees (a layer that normalises over the batch), rows go
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import AgentError

Arrays: TypeAlias = tuple[NDArray[Any], ...]
"""Parts of a batch; the first axis of each is the row."""
Network: TypeAlias = Callable[[Arrays], Arrays]

CANDIDATE_SIZES = (1, 2, 4, 8, 16, 32, 64)
REFERENCE_SIZE = 8
"""Agreement is with blocks of this size; measured: torch settles at 4 on AVX2 and AVX-512, ONNX Runtime at 1."""
PROBES = 8
"""Rows tried. One output of a row agrees by luck about every other time, so 8 rows of 2 outputs miss 1 in 65,000."""


def agreeing_sizes(network: Network, samples: Arrays, *, candidates: Sequence[int] = CANDIDATE_SIZES) -> Sequence[int]:
    """The block sizes at which the network answers every row alike; one by one when there are none."""
    reference = REFERENCE_SIZE if REFERENCE_SIZE in candidates else max(candidates)
    rows = [_row(samples, index) for index in range(min(PROBES, len(samples[0])))]
    expected = [_first(network(_repeated(row, reference))) for row in rows]
    sizes = [size for size in candidates if _agrees(network, rows, expected, samples, size)]
    if reference in sizes:
        return sizes
    if 1 in candidates:
        return (1,)
    raise AgentError(
        f"the network takes batches of {reference} only, and what it answers to one observation depends on the others; "
        f"export it with a free batch dimension"
    )


def run_in_blocks(network: Network, inputs: Arrays, sizes: Sequence[int]) -> Arrays:
    """Answer a batch of any length using only blocks of the given sizes."""
    number = len(inputs[0])
    answers = []
    start = 0
    while start < number:
        size = _block_size(number - start, sizes)
        stop = min(start + size, number)
        block = tuple(_padded(part[start:stop], size) for part in inputs)
        answers.append(tuple(part[: stop - start] for part in network(block)))
        start = stop
    return answers[0] if len(answers) == 1 else tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))


def _block_size(rows: int, sizes: Sequence[int]) -> int:
    """The smallest block that holds what is left, or the largest there is."""
    return next((size for size in sizes if size >= rows), sizes[-1])


def _agrees(network: Network, rows: list[Arrays], expected: list[Arrays], samples: Arrays, size: int) -> bool:
    for row, wanted in zip(rows, expected, strict=True):
        if not all(_equal(_row(network(_repeated(row, size)), place), wanted) for place in range(size)):
            return False
    mixed = network(tuple(np.resize(part, (size, *part.shape[1:])) for part in samples))
    return all(_equal(_row(mixed, place), wanted) for place, wanted in enumerate(expected[:size]))


def _equal(left: Arrays, right: Arrays) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(left, right, strict=True))


def _row(parts: Arrays, index: int) -> Arrays:
    return tuple(part[index : index + 1] for part in parts)


def _first(parts: Arrays) -> Arrays:
    return _row(parts, 0)


def _repeated(row: Arrays, size: int) -> Arrays:
    return tuple(np.repeat(part, size, axis=0) for part in row)


def _padded(part: NDArray[Any], size: int) -> NDArray[Any]:
    missing = size - len(part)
    return part if missing == 0 else np.concatenate([part, np.repeat(part[:1], missing, axis=0)])
