from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.report.worlds import HOLE, BlindPond, Pond, fall_in, pond_task
from tightrope import renewed_env
from tightrope.errors import EnvironmentFailure, MissingExtra, NotReproducible
from tightrope.outcome import Outcome
from tightrope.report.films.images import png_bytes
from tightrope.report.films.video import BAR, RED, RIM, _enlarged, _with_bar, _with_rim, encode, film_failure, record
from tightrope.trace import ActionTrace


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    import importlib

    real = importlib.import_module

    def refuse(name: str, *rest: Any) -> Any:
        if name.split(".")[0] in missing:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr("tightrope.errors.importlib.import_module", refuse)


def test_a_fail_becomes_a_small_mp4() -> None:
    task = pond_task()
    film = film_failure(task, fall_in(task), handover=5)
    assert film is not None
    assert film.suffix == ".mp4"
    assert film.content[4:8] == b"ftyp"
    assert len(film.content) < 20_000


def test_without_ffmpeg_it_becomes_a_webp(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "imageio_ffmpeg")
    task = pond_task()
    film = film_failure(task, fall_in(task), handover=5)
    assert film is not None
    assert film.suffix == ".webp"
    assert film.content[:4] == b"RIFF"


def test_without_either_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "imageio_ffmpeg", "PIL")
    with pytest.raises(MissingExtra, match=r"pip install 'tightrope\[video\]'"):
        film_failure(pond_task(), fall_in(pond_task()), handover=5)


def test_pictures_begin_before_hand_over_and_end_with_the_fail() -> None:
    task = pond_task()
    frames, rate = record(task, fall_in(task), first=3, expect=Outcome.UNSAFE)
    assert len(frames) == HOLE - 3 + 1
    assert rate == 10


def test_what_cannot_be_rendered_is_a_dot_on_the_map() -> None:
    task = pond_task(BlindPond)
    frames, _ = record(task, fall_in(task), first=0, expect=Outcome.UNSAFE)
    centres = [int(np.argwhere((frame == RED).all(axis=2))[:, 1].mean()) for frame in frames]
    assert centres == sorted(set(centres))
    assert abs(centres[-1] - (HOLE * 16 + 8)) <= 1


def test_what_is_made_anew_for_every_episode_is_seen() -> None:
    task = pond_task()
    again = pond_task(lambda: renewed_env(Pond))  # type: ignore[arg-type]
    pictures = [record(each, fall_in(task), first=0, expect=Outcome.UNSAFE)[0] for each in (task, again)]
    assert np.array_equal(*pictures)


def test_what_can_be_seen_only_at_first_says_so() -> None:
    class Fading(Pond):
        def render(self) -> Any:
            return super().render() if self.cell < 2 else None

    task = pond_task(Fading)
    with pytest.raises(EnvironmentFailure, match=r"task pond: render\(\) raised TypeError: .*not RGB pictures"):
        film_failure(task, fall_in(task), handover=5)


def test_what_cannot_be_seen_at_all_makes_no_film() -> None:
    assert film_failure(pond_task(BlindPond, draw_map=None), fall_in(pond_task()), handover=5) is None
    assert film_failure(pond_task(BlindPond, position=None), fall_in(pond_task()), handover=5) is None


def test_an_environment_that_can_no_longer_be_made_says_so() -> None:
    def gone() -> Any:
        raise RuntimeError("no display")

    with pytest.raises(EnvironmentFailure, match=r"task pond: make_env\(\) raised RuntimeError: no display"):
        film_failure(pond_task(gone), fall_in(pond_task()), handover=5)


def test_a_trace_that_leads_elsewhere_is_not_filmed() -> None:
    task = pond_task()
    with pytest.raises(NotReproducible, match="ended ongoing, not unsafe, after step 2 of 2"):
        film_failure(task, ActionTrace(task.label, 0, (0, 1)), handover=1)


def test_the_bar_turns_red_at_hand_over() -> None:
    frame = np.zeros((10, 100, 3), np.uint8)
    before, after = _with_bar(frame, 4, 5, 10), _with_bar(frame, 9, 5, 10)
    assert not (before[-BAR] == RED).all(axis=1).any()
    assert (after[-BAR] == RED).all(axis=1).sum() == 40


def test_odd_sizes_can_be_filmed() -> None:
    assert encode([np.zeros((11, 101, 3), np.uint8)] * 3, 10).content[4:8] == b"ftyp"


def test_films_are_as_large_as_the_game_and_never_small() -> None:
    assert _enlarged(np.zeros((240, 256, 3), np.uint8)).shape == (480, 512, 3)
    assert _enlarged(np.zeros((400, 600, 3), np.uint8)).shape == (400, 600, 3)
    checks = np.arange(16, dtype=np.uint8).reshape(4, 4, 1).repeat(3, axis=2)
    assert (_enlarged(checks)[::120, ::120] == checks).all(), "each pixel stays one colour"


def test_the_moment_of_failing_is_framed_and_is_the_poster() -> None:
    framed = _with_rim(np.zeros((50 + BAR, 60, 3), np.uint8))
    assert (framed[:RIM] == RED).all()
    assert (framed[50 - RIM : 50, :] == RED).all()
    assert not framed[50:].any(), "the bar stays"
    assert not framed[RIM : 50 - RIM, RIM:-RIM].any()
    task = pond_task()
    film = film_failure(task, fall_in(task), handover=5)
    assert film is not None
    frames, _ = record(task, fall_in(task), first=0, expect=Outcome.UNSAFE)
    assert film.poster == png_bytes(_with_rim(_with_bar(_enlarged(frames[-1]), HOLE, 5, HOLE)))
