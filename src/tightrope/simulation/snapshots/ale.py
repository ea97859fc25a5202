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
    """Clones the emulator's state with its generator.

    Not exact with ALE's own sticky actions: the action that they repeat is in no saved state, so such an environment is
    refused here and put back by replay. ``gymnasium.wrappers.StickyAction`` keeps its action in an attribute.
    """

    name: ClassVar[str] = "ale"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._ale = env.unwrapped.ale
        self._sticky = self._ale.getFloat("repeat_action_probability") > 0

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Whether the innermost environment drives an ALE interface."""
        return type(getattr(env.unwrapped, "ale", None)).__module__.startswith("ale_py")

    def save(self) -> Any:
        """Emulator, then attributes."""
        if self._sticky:
            raise UsageError(
                "ALE does not save the action that its sticky actions repeat; make the environment with "
                "repeat_action_probability=0 and wrap it in gymnasium.wrappers.StickyAction instead"
            )
        return self._ale.cloneState(include_rng=True), super().save()

    def load(self, payload: Any) -> None:
        """Emulator, then attributes."""
        emulator, attributes = payload
        self._ale.restoreState(emulator)
        super().load(attributes)

    @property
    def reseeds_all_in_sight(self) -> bool:
        """Sticky actions draw inside the emulator."""
        return not self._sticky

    def reseed(self, seed: int) -> None:
        """Write other generators into the emulator's state: setting ALE's seed would reload the game (100 ms)."""
        super().reseed(seed)
        if self._sticky:
            state = self._ale.cloneState(include_rng=True)
            self._ale.restoreState(type(state)(with_generators(state.serialize(), seed)))


def with_generators(serialized: bytes, seed: int) -> bytes:
    """The same emulator state with Mersenne twisters that depend on the seed alone."""
    renewed = serialized
    twisters = list(MERSENNE_TWISTER.finditer(serialized))
    for index, twister in reversed(list(enumerate(twisters))):
        words = np.random.RandomState(derive_seed("reseed", seed, "ale", index)).get_state()[1]  # type: ignore[index]
        text = b" ".join(b"%d" % word for word in words.tolist()) + b" 624"
        renewed = renewed[: twister.start() - 4] + struct.pack("<I", len(text)) + text + renewed[twister.end() :]
    if not twisters:
        raise UsageError(
            "this version of ale-py does not keep its random generators where tightrope knows them; make the "
            "environment with repeat_action_probability=0 and wrap it in gymnasium.wrappers.StickyAction"
        )
    return _with_outer_length(serialized, renewed)


def _with_outer_length(before: bytes, after: bytes) -> bytes:
    """The emulator's state is one string inside, with its length in front and little behind; correct that length."""
    for offset in range(0, 64, 4):
        (length,) = struct.unpack_from("<I", before, offset)
        if 0 <= len(before) - (offset + 4 + length) <= MOST_BYTES_BEHIND:
            corrected = struct.pack("<I", length + len(after) - len(before))
            return after[:offset] + corrected + after[offset + 4 :]
    raise UsageError("this version of ale-py lays out its saved states in a way that tightrope does not know")
