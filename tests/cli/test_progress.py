from __future__ import annotations

import io

import pytest
from rich.console import Console

from tightrope.cli import progress as progress_module
from tightrope.cli.progress import Pace, PlainLines, bars
from tightrope.progress import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_log_gets_the_beginning_the_end_and_a_line_now_and_then(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    show = PlainLines()
    for finished in range(101):
        show(Progress("safety", finished, 100, "simple"))
        clock[0] += 0.125
    assert lines(capsys) == [
        "safety: 0/100, simple",
        "safety: 40/100, simple, about 8 s left",
        "safety: 80/100, simple, about 2 s left",
        "safety: 100/100, simple",
    ]


def test_a_stage_that_begins_anew_is_estimated_anew(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainLines()
    show(Progress("safety", 0, 10, "simple"))
    clock[0] += 1000
    show(Progress("safety", 10, 10, "simple"))
    show(Progress("safety", 0, 40, "interval:1"))
    clock[0] += 10
    show(Progress("safety", 10, 40, "interval:1"))
    assert lines(capsys)[2:] == ["safety: 0/40, interval:1", "safety: 10/40, interval:1, about 30 s left"]


def test_work_of_unknown_length_has_no_estimate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainLines()
    show(Progress("search", 64, None, "depth 10"))
    clock[0] += 6
    show(Progress("search", 6400, None, "depth 11"))
    assert lines(capsys) == ["search: 64, depth 10", "search: 6,400, depth 11"]


@pytest.mark.parametrize(("elapsed", "words"), [(0.5, ""), (60, "about 60 s left"), (600, "about 10 min left")])
def test_time_left_is_told_in_words(clock: list[float], elapsed: float, words: str) -> None:
    pace = Pace()
    pace.restarts(Progress("fuzzing", 0, 10))
    clock[0] += elapsed
    assert pace.time_left(Progress("fuzzing", 5, 10)) == words


def test_a_terminal_gets_a_bar_for_each_stage() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    with bars(console) as show:
        show(Progress("search", 64, None, "depth [10]"))
        show(Progress("safety", 1, 4, "simple"))
        show(Progress("safety", 4, 4, "simple"))
    lines = screen.getvalue().splitlines()
    assert any("search" in line and "64" in line and "depth [10]" in line for line in lines)
    assert any("safety" in line and "4/4" in line for line in lines)


def test_on_a_narrow_terminal_the_bar_gives_way_to_the_numbers() -> None:
    screen = io.StringIO()
    with bars(Console(file=screen, force_terminal=True, width=80, color_system=None)) as show:
        show(Progress("search", 640_000, None, "12 of 120 s, 53,333 steps/s, depth 100, deepest 1000, 1500 unsafe"))
    assert any("640,000 0:00:00 12 of 120 s, 53,333 steps/s" in line for line in screen.getvalue().splitlines())
