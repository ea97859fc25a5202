"""Replays shown in a terminal or in a window."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tightrope.cli.pictures import in_window as window
from tightrope.cli.pictures.in_terminal import frame_text
from tightrope.cli.pictures.in_window import can_open_window, play_in_window
from tightrope.errors import MissingExtra

RED, BLUE = (255, 0, 0), (0, 0, 255)


def picture(height: int, width: int) -> np.ndarray:
    frame = np.zeros((height, width, 3), dtype=np.uint8)
    frame[: height // 2], frame[height // 2 :] = RED, BLUE
    return frame


def test_a_character_shows_two_pixels() -> None:
    assert frame_text(picture(2, 1)) == "\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m"


@pytest.mark.parametrize(("height", "width", "rows", "columns"), [(210, 160, 51, 78), (4, 4, 2, 4), (1, 300, 1, 78)])
def test_pictures_are_made_to_fit(height: int, width: int, rows: int, columns: int) -> None:
    lines = frame_text(picture(height, width)).split("\n")
    assert len(lines) == rows
    assert {line.count("▀") for line in lines} == {columns}


@pytest.mark.parametrize(
    ("platform", "environment", "possible"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("darwin", {}, True),
    ],
)
def test_a_window_needs_a_screen(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], possible: bool
) -> None:
    monkeypatch.setattr(window.sys, "platform", platform)
    monkeypatch.setattr(window.importlib.util, "find_spec", lambda name: SimpleNamespace())
    assert can_open_window(environment) is possible
    monkeypatch.setattr(window.importlib.util, "find_spec", lambda name: None)
    assert can_open_window(environment) is False


def test_a_window_shows_frames_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    shown: list[tuple[int, int]] = []

    def frames():  # type: ignore[no-untyped-def]
        for number in range(5):
            shown.append(pygame.display.get_surface().get_size() if number else (0, 0))
            if number == 2:
                pygame.event.post(pygame.event.Event(pygame.QUIT))
            yield picture(10, 20)

    play_in_window(frames(), 1000, "title")
    assert shown == [(0, 0), (40, 20), (40, 20)]
    assert not pygame.get_init()


def test_without_pygame_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tightrope\[box2d\]'"):
        play_in_window([picture(2, 2)], 30, "title")
