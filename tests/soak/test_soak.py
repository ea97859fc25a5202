"""The soak itself: what it takes for memory that grows."""

from __future__ import annotations

from tests.soak.__main__ import is_flat
from tests.soak.command import Memory

MIB = 2**20


def test_memory_that_grows_is_seen() -> None:
    flat = [Memory(command=200 * MIB, workers=100 * MIB)] * 300
    assert is_flat(flat, 1000)[0]
    leaking = [Memory(command=200 * MIB, workers=(100 + number) * MIB) for number in range(300)]
    assert not is_flat(leaking, 1000)[0]
    hoarding = [Memory(command=(200 + number) * MIB, workers=100 * MIB) for number in range(300)]
    assert not is_flat(hoarding, 1000)[0]
    assert is_flat(hoarding, 100_000)[0], "results hold their episodes"
