"""The Arcade Learning Environment: the emulator's state with its random generator, and the attributes of the layers."""

from __future__ import annotations

import re
import struct
from typing import Any, ClassVar

import numpy as np

from tightrope.errors import UsageError
from tightrope.seeding import derive_seed
from tightrope.simulation.snapshots.attributes import AttributesSnapshotter

MERSENNE_TWISTER = re.compile(rb"(?:\d{1,10} ){624}\d{1,3}")
"""The generator as C++ streams write it: 624 words and a position."""

MOST_BYTES_BEHIND = 32
"""ALE 0.12 writes mode and difficulty, 8 bytes, behind the emulator's state."""


class AleSnapshotter(AttributesSnapshotter):
    """Clones the emulator's state; without its generator, sticky actions would go other ways after a restore."""

    name: ClassVar[str] = "ale"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._ale = env.unwrapped.ale

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Whether the innermost environment drives an ALE interface."""
        return type(getattr(env.unwrapped, "ale", None)).__module__.startswith("ale_py")

    def save(self) -> Any:
        """Emulator, then attributes."""
        return self._ale.cloneState(include_rng=True), super().save()

    def load(self, payload: Any) -> None:
        """Emulator, then attributes."""
        emulator, attributes = payload
        self._ale.restoreState(emulator)
        super().load(attributes)

    def reseed(self, seed: int) -> None:
        """Write another generator into the emulator's state: setting ALE's seed would reload the game (100 ms)."""
        super().reseed(seed)
        state = self._ale.cloneState(include_rng=True)
        renewed = with_generator(state.serialize(), derive_seed("reseed", seed, "ale"))
        self._ale.restoreState(type(state)(renewed))


def with_generator(serialized: bytes, seed: int) -> bytes:
    """The same emulator state with a Mersenne twister that depends on the seed alone."""
    found = MERSENNE_TWISTER.search(serialized)
    if found is None:
        raise UsageError(
            "this version of ale-py does not keep its random generator where tightrope knows it; "
            "use repeat_action_probability=0, or ale-py 0.11 to 0.12"
        )
    words = np.random.RandomState(seed).get_state()[1]  # type: ignore[index]
    text = b" ".join(b"%d" % word for word in words.tolist()) + b" 624"
    start, end = found.span()
    renewed = serialized[: start - 4] + struct.pack("<I", len(text)) + text + serialized[end:]
    return _with_outer_length(serialized, renewed)


def _with_outer_length(before: bytes, after: bytes) -> bytes:
    """The emulator's state is one string inside, with its length in front and little behind; correct that length."""
    for offset in range(0, 64, 4):
        (length,) = struct.unpack_from("<I", before, offset)
        if 0 <= len(before) - (offset + 4 + length) <= MOST_BYTES_BEHIND:
            corrected = struct.pack("<I", length + len(after) - len(before))
            return after[:offset] + corrected + after[offset + 4 :]
    raise UsageError("this version of ale-py lays out its saved states in a way that tightrope does not know")
