"""stable-retro: the emulator's state, the memory that rewards compare with, and the attributes of the layers."""

from __future__ import annotations

from typing import Any, ClassVar

from tightrope.simulation.snapshots.attributes import AttributesSnapshotter


class RetroSnapshotter(AttributesSnapshotter):
    """Saves the emulator and makes the game data forget what it saw before the restore.

    Rewards are differences between the memory now and at the step before; after a restore "before" is the restored
    memory.
    """

    name: ClassVar[str] = "retro"

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._emulator, self._data = env.unwrapped.em, env.unwrapped.data

    @classmethod
    def applies(cls, env: Any) -> bool:
        """Whether the innermost environment drives a retro emulator with game data."""
        innermost = env.unwrapped
        emulator = type(getattr(innermost, "em", None)).__module__
        return emulator.startswith(("stable_retro", "retro")) and hasattr(innermost, "data")

    def save(self) -> Any:
        """Emulator, then attributes."""
        return self._emulator.get_state(), super().save()

    def load(self, payload: Any) -> None:
        """Emulator, game data, then attributes."""
        emulator, attributes = payload
        self._emulator.set_state(emulator)
        self._data.reset()
        self._data.update_ram()
        super().load(attributes)
