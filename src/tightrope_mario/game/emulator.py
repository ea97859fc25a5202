"""The console as a function: a save state and buttons in, the next save state out.

A process can hold one emulator core. `Machine` is therefore shared by all environments of the process and keeps nothing
of theirs: each passes the save state it is in. The core is put back only when another state was in it, which object
identity tells for free.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import EnvironmentFailure, MissingExtra, UsageError
from tightrope_mario.game import ram
from tightrope_mario.game.actions import buttons, start_button
from tightrope_mario.game.levels import Level

Mask = NDArray[np.uint8]

LONGEST_SCENE = 2000
"""Frames; the longest scene that plays itself is far shorter."""


@dataclass(frozen=True, slots=True, eq=False)
class GameMoment:
    """The newest frame: the state after it, and what must be run to see its picture again."""

    blob: bytes
    before: bytes
    pressed: Mask


class Machine:
    """One emulator core with Super Mario Bros. in it."""

    def __init__(self, rom: Path) -> None:
        self._core = _load_core(rom)
        self._lock = threading.RLock()
        self._loaded: bytes | None = None
        self._pressed: Mask | None = None
        self._shown: tuple[bytes | None, Mask | None] = (None, None)
        self._starts: dict[str, GameMoment] = {}
        self._power_on = self._clean_power_on()

    def run(self, blob: bytes, pressed: Mask) -> bytes:
        """Emulate one frame from this state with these buttons and return the state after it."""
        with self._lock:
            core = self._core
            if blob is not self._loaded:
                core.set_state(blob)
            if pressed is not self._pressed:
                core.set_button_mask(pressed, 0)
                self._pressed = pressed
            core.step()
            self._loaded = after = core.get_state()
            self._shown = (blob, pressed)
            return after  # type: ignore[no-any-return]

    def screen(self, before: bytes, pressed: Mask) -> NDArray[np.uint8]:
        """The picture (224 × 240 × 3) of the frame run from this state with these buttons."""
        with self._lock:
            shown_before, shown_pressed = self._shown
            if before is not shown_before or pressed is not shown_pressed:
                self.run(before, pressed)
            return self._core.get_screen()  # type: ignore[no-any-return]

    def level_start(self, level: Level) -> GameMoment:
        """The first moment of a level in which Mario can be steered; kept once made."""
        with self._lock:
            if level.name not in self._starts:
                self._starts[level.name] = self._enter(level)
            return self._starts[level.name]

    def through_scenes(self, moment: GameMoment) -> GameMoment:
        """Run on while the game plays itself (pipes, vines, area changes)."""
        blob, idle = moment.blob, buttons("none")
        if 1 < blob[ram.AREA_CHANGE_TIMER] < 255:
            blob = ram.written(blob, {ram.AREA_CHANGE_TIMER: 1})
        if not ram.busy(blob):
            return GameMoment(blob, moment.before, moment.pressed)
        for _ in range(LONGEST_SCENE):
            before = ram.written(blob, {ram.LEVEL_TIMER: 0}) if blob[ram.LEVEL_TIMER] else blob
            blob = self.run(before, idle)
            if not ram.busy(blob) or ram.dying(blob) or ram.flag(blob):
                break
        return GameMoment(blob, before, idle)

    def _clean_power_on(self) -> bytes:
        """The core powers on with RAM full of ones, which the game takes for a game already under way."""
        blob: bytes = self._core.get_state()
        if blob[ram.RAM_START - len(ram.RAM_TAG) : ram.RAM_START] != ram.RAM_TAG:
            raise EnvironmentFailure(
                "the emulator's save state has another layout than that of stable-retro 1.0's FCEUmm core, so the "
                "game's memory cannot be read; install it with: pip install 'stable-retro>=1.0,<1.1'"
            )
        end = ram.RAM_START + ram.RAM_SIZE
        return blob[: ram.RAM_START] + bytes(ram.RAM_SIZE) + blob[end:]

    def _enter(self, level: Level) -> GameMoment:
        """Press START until the level is loaded, then until its clock first ticks."""
        blob = self._tap_start(self._power_on)[0]
        for _ in range(LONGEST_SCENE):
            if ram.clock(blob) != 0:
                return self._to_first_tick(blob)
            blob = self.run(blob, start_button())
            blob = self.run(ram.written(blob, level.bytes_to_enter()), buttons("none"))
            blob = ram.written(blob, {ram.LEVEL_TIMER: 0})
        raise EnvironmentFailure(f"level {level.name} of Super Mario Bros. did not start; is the ROM damaged?")

    def _to_first_tick(self, blob: bytes) -> GameMoment:
        time = ram.clock(blob)
        before = blob
        while ram.clock(blob) >= time:
            time = ram.clock(blob)
            blob, before = self._tap_start(blob)
        return GameMoment(blob, before, buttons("none"))

    def _tap_start(self, blob: bytes) -> tuple[bytes, bytes]:
        pressed = self.run(blob, start_button())
        return self.run(pressed, buttons("none")), pressed


def _load_core(rom: Path) -> Any:
    try:
        import stable_retro
    except ImportError as error:
        raise MissingExtra("stable-retro", "mario", "Super Mario Bros.") from error
    try:
        return stable_retro.RetroEmulator(str(rom))
    except RuntimeError as error:
        raise UsageError(
            f"stable-retro could not start the game ({error}). It can hold one emulator per process: close other "
            f"stable-retro environments in this process first."
        ) from error


_machines: dict[str, Machine] = {}


def shared_machine(rom: Path) -> Machine:
    """The process's machine; made on first use. Every verified ROM is the same, so one machine serves all paths."""
    if "machine" not in _machines:
        _machines["machine"] = Machine(rom)
    return _machines["machine"]
