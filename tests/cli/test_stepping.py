"""Stepping through a fail and its escape in a terminal: one key, one step."""

from __future__ import annotations

import io
import os
import sys

import numpy as np
import pytest

from tightrope.cli.pictures.stepping import HELP, FilmStrip, Reel, can_step, step_through


def strip(title: str, steps: int, *, pictures: bool = False) -> FilmStrip:
    frames = [np.full((4, 4, 3), step, np.uint8) for step in range(steps)] if pictures else []
    return FilmStrip(title=title, frames=frames, captions=[(f"{title} at {step}",) for step in range(steps)])


REEL = Reel(strips=(strip("fail", 6), strip("escape", 9)), decision=4)


@pytest.mark.parametrize(
    ("step", "meaning", "leads_to"),
    [
        (0, "next", 1),
        (0, "back", 0),
        (8, "next", 8),
        (3, "on", 8),
        (3, "off", 0),
        (7, "decision", 4),
        (2, "last", 8),
        (2, "first", 0),
        (2, "", 2),
    ],
)
def test_keys_lead_to_steps_there_are(step: int, meaning: str, leads_to: int) -> None:
    assert REEL.moved(step, meaning) == leads_to


def test_both_are_shown_at_one_step_and_the_shorter_waits_at_its_end() -> None:
    shown = REEL.shown(4).splitlines()
    assert "fail at 4" in shown[1]
    assert "escape at 4" in shown[1]
    assert shown[-1] == "step 4 of 8   the decision"
    late = REEL.shown(8)
    assert "fail at 5" in late
    assert "escape at 8" in late
    assert "the decision" not in late
    assert len({len(line) for line in shown[:-1]}) == 1


def test_pictures_stand_side_by_side() -> None:
    reel = Reel(strips=(strip("fail", 2, pictures=True), strip("escape", 3, pictures=True)), decision=None)
    assert [line.count("▀") for line in reel.shown(2).splitlines()].count(8) == 2
    assert reel.moved(1, "decision") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_user_steps_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    screen = io.StringIO()
    with os.fdopen(terminal, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", screen)
        assert not can_step(), "a screen that is none"
        monkeypatch.setattr(screen, "isatty", lambda: True)
        assert can_step()
        pressed = iter([b"\x1b[C", b"h", b"d", b"\x1b[6~", b"?", b"q"])
        looked: list[str] = []

        def press() -> None:
            looked.append(screen.getvalue().rpartition("\x1b[2J")[2])
            os.write(keyboard, next(pressed))

        monkeypatch.setattr(screen, "flush", press)
        step_through(REEL, 30, start=2)
    os.close(keyboard)
    steps = [next(line for line in look.splitlines() if line.startswith("step")) for look in looked]
    assert [line.split()[1] for line in steps] == ["2", "3", "2", "4", "8", "8"]
    assert all(HELP in look for look in looked)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_it_plays_to_the_end_and_begins_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    screen, pressed = io.StringIO(), {0: b" ", 9: b"q"}
    with os.fdopen(terminal, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", screen)
        looks = iter(range(100))

        def press() -> None:
            key = pressed.get(next(looks))
            if key is not None:
                os.write(keyboard, key)

        monkeypatch.setattr(screen, "flush", press)
        step_through(REEL, 1000)
    os.close(keyboard)
    shown = [int(line.split()[1]) for line in screen.getvalue().splitlines() if line.startswith("step")]
    assert shown[:9] == list(range(9))
    assert set(shown[9:]) == {8}
