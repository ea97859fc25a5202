"""Running a network so that the answer to one observation does not depend on the batch it is in, bit for bit.

For networks that do more than choose an action (``close_calls``): those that remember, or give continuous actions.
Matrix libraries choose their kernels by the shape of the whole batch, and kernels add in different orders: torch
answers one row, two rows and four rows differently in the last digits, and with two or three rows even by position.
From some size on they agree. So a network is only ever asked in blocks of a few sizes that are known to agree for its
library, and when it is loaded these are tried: sizes that do not agree bit for bit on this machine are not used. Rows
that do not fill a block are padded. If nothing agrees (a layer that normalises over the batch), rows go one by one.
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

ALL_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""ONNX Runtime, its weights packed beforehand: no size differed on 2048 rows of eight networks (AVX2)."""
TORCH_SIZES = (4, 8, 16, 32, 64)
"""torch: from 4 on no size differed on the same rows; 1 and 2 differed on up to all of them, and as few as 2 in 100."""
REFERENCE_SIZE = 8
"""Sizes are compared with this one."""
PROBES = 64
"""Rows tried at loading; as many as the largest block, so that each place in it is tried."""


def agreeing_sizes(
    network: Network, samples: Arrays, candidates: Sequence[int], *, any_size: bool = True
) -> Sequence[int]:
    """The candidate sizes at which the network answers the samples alike, wherever in a block they stand."""
    reference = REFERENCE_SIZE if REFERENCE_SIZE in candidates else max(candidates)
    expected = run_in_blocks(network, samples, (reference,))
    if not _equal(run_in_blocks(network, samples, (reference,)), expected):
        raise AgentError(
            "the network gave different answers to the same observations: it draws random numbers (as dropout does) or "
            "remembers the last call. Leave the randomness to behaviour and epsilon; give an agent with memory as "
            "f(observation, memory), or as an object with reset() and act(observation)"
        )
    sizes = [size for size in candidates if _agrees(network, samples, expected, size)]
    if reference in sizes:
        return sizes
    if any_size:
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
    """The largest block that the rows fill, or a larger one where less than a quarter of it is padding."""
    snug = [size for size in sizes if size * 3 <= rows * 4]
    return snug[-1] if snug else sizes[0]


def _agrees(network: Network, samples: Arrays, expected: Arrays, size: int) -> bool:
    """Whether blocks of this size give the expected answers, each row in another place and company than before."""
    order = np.random.default_rng(0).permutation(len(samples[0]))
    answers = run_in_blocks(network, tuple(part[order] for part in samples), (size,))
    return _equal(answers, tuple(part[order] for part in expected))


def _equal(left: Arrays, right: Arrays) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(left, right, strict=True))


def _padded(part: NDArray[Any], size: int) -> NDArray[Any]:
    if len(part) == size:
        return part
    padded = np.empty((size, *part.shape[1:]), part.dtype)
    padded[: len(part)] = part
    padded[len(part) :] = part[0]
    return padded
