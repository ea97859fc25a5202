"""Stepping through an episode in a terminal, and beside it through the escape: one key, one step."""

from __future__ import annotations

import importlib.util
import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.cli.pictures.in_terminal import frame_text
from tightrope.guards.text import one_line

Picture = NDArray[np.uint8]

COLUMNS = 38
"""Of each picture: two fit the usual 80 columns."""
KEYS = {
    "\x1b[C": "next", "l": "next", ".": "next", "\x1b[D": "back", "h": "back", ",": "back",
    "\x1b[6~": "on", "\x1b[5~": "off", "\x1b[H": "first", "\x1b[F": "last", "g": "first", "G": "last",
    "d": "decision", " ": "play", "q": "quit", "\x1b": "quit", "\x03": "quit",
}  # fmt: skip
"""What the keys mean."""
HELP = "← → step   PgUp PgDn ten steps   d decision   space play   q quit"
TEN = 10


@dataclass(frozen=True, kw_only=True)
class FilmStrip:
    """One of the films: its pictures, if there are any, and what is told under each."""

    title: str
    frames: Sequence[Picture]
    captions: Sequence[tuple[str, ...]]
    """Lines for each step, as many for each."""


@dataclass(frozen=True, kw_only=True)
class Reel:
    """Two strips from the same start, or one alone."""

    strips: tuple[FilmStrip, ...]
    decision: int | None

    @property
    def last(self) -> int:
        """The last step that either of them has."""
        return max(len(strip.captions) for strip in self.strips) - 1

    def moved(self, step: int, meaning: str) -> int:
        """Where a key leads."""
        targets = {
            "next": step + 1, "back": step - 1, "on": step + TEN, "off": step - TEN, "first": 0, "last": self.last,
            "decision": step if self.decision is None else self.decision,
        }  # fmt: skip
        return min(max(targets.get(meaning, step), 0), self.last)

    def shown(self, step: int) -> str:
        """The screen at a step: pictures, captions, where the decision was."""
        sides = [_side(strip, step) for strip in self.strips]
        rows = max(map(len, sides))
        padded = [side + [_blank()] * (rows - len(side)) for side in sides]
        told = "   the decision" if step == self.decision else ""
        return "\n".join([*(" │ ".join(row) for row in zip(*padded, strict=True)), f"step {step} of {self.last}{told}"])


def _side(strip: FilmStrip, step: int) -> list[str]:
    held = min(step, len(strip.captions) - 1)
    picture = frame_text(strip.frames[held], COLUMNS).split("\n") if strip.frames else []
    width = min(COLUMNS, strip.frames[held].shape[1]) if strip.frames else COLUMNS
    lines = [strip.title, *strip.captions[held]]
    return [_fitted(lines[0]), *(line + " " * (COLUMNS - width) for line in picture), *map(_fitted, lines[1:])]


def _fitted(text: str) -> str:
    text = one_line(text)
    return (text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1]}…").ljust(COLUMNS)


def _blank() -> str:
    return " " * COLUMNS


def can_step(stdin: Any = None, stdout: Any = None) -> bool:
    """Whether there is somebody at a keyboard, and a way to read single keys."""
    there = (stdin or sys.stdin).isatty() and (stdout or sys.stdout).isatty()
    return bool(there) and importlib.util.find_spec("termios") is not None


def step_through(reel: Reel, frames_per_second: float, start: int = 0) -> None:
    """Let the user step through a reel until they leave it."""
    step, playing = start, False
    with _single_keys():
        while True:
            sys.stdout.write("\x1b[H\x1b[2J" + reel.shown(step).replace("\n", "\r\n") + f"\r\n{HELP}\r\n")
            sys.stdout.flush()
            meaning = _pressed(1 / frames_per_second if playing else None)
            if meaning == "quit":
                return
            playing = (not playing if meaning == "play" else playing) if step < reel.last else meaning == "play"
            step = reel.moved(step, "next" if playing and meaning in ("", "play") else meaning)


def _pressed(seconds: float | None) -> str:
    """What the next key means; nothing where none came in time."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    if not ready:
        return ""
    key = os.read(sys.stdin.fileno(), 8).decode(errors="replace")
    return KEYS.get(key, "quit" if not key else "")


@contextmanager
def _single_keys() -> Iterator[None]:
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
