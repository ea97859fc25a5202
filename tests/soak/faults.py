"""What happens to a run on somebody's machine. Each fault strikes a command and sees how it takes it."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.soak.command import Command, Unclear, send
from tests.soak.disk import SmallDisk

PASSED, NOTHING_JUDGED, INTERRUPTED = 0, 3, 130
MOST_ROOM = 60_000
"""Bytes that a full disk may have left."""
SECONDS_TO_NOTICE = 20.0
"""That the disk is full. Whoever searches writes nothing meanwhile."""


@dataclass(kw_only=True)
class Disturbed:
    """A run whose command is given again and again until it ends by itself."""

    settings: Path
    disk: SmallDisk
    said: Path
    rng: Random
    pause: float
    """Seconds between faults, on average."""
    most: int
    """Faults, after which it is left in peace."""
    counts: Counter[str] = field(default_factory=Counter)
    deck: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.disk.folder / "run"

    def until_it_ends(self) -> None:
        """Give the command, disturb it, and give it again."""
        command = self.given()
        while True:
            command.wait(self.pause * self.rng.uniform(0.3, 1.7))
            if command.runs and sum(self.counts.values()) < self.most:
                self._strike(command)
            elif command.require_end(PASSED, within=None):
                return
            if not command.runs:
                command = self.given()

    def given(self) -> Command:
        """The command, once more."""
        return Command(self.settings, self.folder, self.said)

    def _strike(self, command: Command) -> None:
        """The next of the faults: every kind comes once, in any order, before one comes again."""
        kinds: dict[str, Callable[[Command], bool]] = {
            "worker killed": self._kill_a_worker,
            "Ctrl-C": self._press_ctrl_c,
            "command killed": self._kill,
            **({"disk full": self._fill_the_disk} if self.disk.is_small else {}),
        }
        if not self.deck:
            self.deck = self.rng.sample(list(kinds), len(kinds))
        name = self.deck.pop()
        try:
            struck = kinds[name](command)
        except Unclear as error:
            raise Unclear(f"{name}: {error}") from error
        if struck:
            self.counts[name] += 1
        else:
            self.deck.insert(0, name)

    def _kill_a_worker(self, command: Command) -> bool:
        """Its episodes are played again by another. Returns, as all of these do, whether the fault has struck."""
        workers = command.workers()
        if workers:
            send(self.rng.choice(workers), signal.SIGKILL)
        return bool(workers)

    def _press_ctrl_c(self, command: Command) -> bool:
        """A terminal sends it to all processes, ``kill -INT`` to one."""
        for pid in command.family() if self.rng.random() < 0.5 else [command.process.pid]:
            send(pid, signal.SIGINT)
        return command.require_end(PASSED, INTERRUPTED)

    def _kill(self, command: Command) -> bool:
        """All at once, or the command alone, whose processes must not live on."""
        for pid in reversed(command.family()) if self.rng.random() < 0.5 else [command.process.pid]:
            send(pid, signal.SIGKILL)
        return command.require_end(PASSED, -signal.SIGKILL)

    def _fill_the_disk(self, command: Command) -> bool:
        """Under a command, and at times before the next one, too; with room again the run goes on where it was."""
        self.disk.fill(self.rng.randrange(MOST_ROOM))
        try:
            command.wait(SECONDS_TO_NOTICE)
            noticed = not command.runs and command.require_end(PASSED, NOTHING_JUDGED, saying="No space left on device")
            if noticed and self.rng.random() < 0.5:
                self.given().require_end(NOTHING_JUDGED, saying="No space left on device")
        finally:
            self.disk.free()
        return noticed
