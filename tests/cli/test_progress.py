from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from tightrope.cli.progress import bars as progress_module
from tightrope.cli.progress.bars import PlainLines, StagePace, bars
from tightrope.cli.progress.journey import Journey
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
    pace = StagePace()
    pace.restarts(Progress("fuzzing", 0, 10))
    clock[0] += elapsed
    assert pace.time_left(Progress("fuzzing", 5, 10)) == words


def test_a_terminal_gets_one_bar_and_what_is_being_done() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    with bars(console) as show:
        show(Progress("search", 64, None, "depth [10]"))
        console.print()
        show(Progress("safety", 1, 4, "simple"))
        console.print()
    lines = screen.getvalue().splitlines()
    assert any("search: 64, depth [10]" in line for line in lines)
    assert any("25 %" in line and "safety: 1/4, simple" in line for line in lines)
    assert any("100 %" in line and "done" in line for line in lines)


@pytest.mark.parametrize("width", [80, 60])
def test_on_a_narrow_terminal_the_bar_stays_in_its_line(width: int) -> None:
    screen = io.StringIO()
    with bars(Console(file=screen, force_terminal=True, width=width, color_system=None)) as show:
        show(Progress("search", 640_000, None, "12 of 120 s, 53,333 steps/s, depth 100, deepest 1000, 1500 unsafe"))
        shown = [cell_len(line) for line in _without_codes(screen.getvalue()).splitlines()]
    assert max(shown) <= width


def _without_codes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


STAGES = {"checks": 1, "plain episodes": 2, "search": 1, "survival": 2, "safety": 4, "cross-check": 1, "report": 1}


def test_the_whole_work_goes_forward_and_ends_at_its_end() -> None:
    journey, shares = Journey(STAGES), []
    told = [Progress("checks", 0, None), *_rounds("plain episodes", 2), Progress("cross-check", 0, None)]
    told += [Progress("search", 0, None), Progress("search", 900, None), *_rounds("survival", 1), *_rounds("safety", 2)]
    told += [*_rounds("survival", 1), *_rounds("safety", 2), Progress("cross-check", 0, None), *_rounds("report", 1)]
    for progress in told:
        share = journey.share(progress)
        assert share is not None
        shares.append(share)
    assert shares == sorted(shares), "it never goes back"
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares[told.index(Progress("report", 0, None))] < 1.0, "the report is not done before it is written"
    assert 0 < shares[1 + 3 * 2] < 0.5, "a check in between says nothing about what comes after it"


def test_what_was_there_already_is_skipped_and_what_is_done_again_takes_nothing_back() -> None:
    journey = Journey(STAGES)
    late = journey.share(Progress("report", 0, None))
    assert late is not None
    assert late > 0.5
    assert journey.share(Progress("search", 0, None)) == late


def test_where_the_whole_is_not_known_the_stage_is_shown() -> None:
    assert Journey().share(Progress("keep", 1, 4)) == 0.25
    assert Journey().share(Progress("search", 100, None)) is None


def test_a_log_says_how_much_of_the_whole_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainLines({"search": 1, "report": 1})
    for progress in (Progress("search", 0, None, "looking"), Progress("report", 0, None), Progress("report", 1, 1)):
        show(progress)
    assert lines(capsys) == ["[ 0 %] search: looking", "[28 %] report", "[100 %] report: 1/1"]


def _rounds(stage: str, times: int) -> list[Progress]:
    return [
        each for _ in range(times) for each in (Progress(stage, 0, None), Progress(stage, 1, 2), Progress(stage, 2, 2))
    ]
