from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest

from tests.report.worlds import WIDTH, PondMap, fall_in, pond_picture, pond_task
from tightrope.report import map_picture
from tightrope.report.charts.maps import LEAST_MOVE, PLAIN_HEIGHT, PLAIN_WIDTH
from tightrope.report.films.images import png_bytes
from tightrope.tasks import make_task
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

PATH = [(0.0, 0.0), (1.0, 2.0), (4.0, 1.0)]
NAN, INF = float("nan"), float("inf")


def unpacked(png: bytes) -> tuple[int, bytes]:
    """Colour type and raw lines of a PNG."""
    at, kind, body = 8, 0, b""
    while at < len(png):
        size = int.from_bytes(png[at : at + 4])
        name, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert int.from_bytes(png[at + 8 + size : at + 12 + size]) == zlib.crc32(name + content)
        kind = content[9] if name == b"IHDR" else kind
        body += content if name == b"IDAT" else b""
        at += 12 + size
    return kind, zlib.decompress(body)


def test_few_colours_make_a_palette() -> None:
    kind, lines = unpacked(png_bytes(pond_picture(3)))
    assert kind == 3
    assert len(lines) == 24 * (1 + WIDTH * 16 + 1)


def test_many_colours_are_kept() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    kind, lines = unpacked(png_bytes(image))
    assert kind == 2
    assert np.array_equal(np.frombuffer(lines, np.uint8).reshape(20, 91)[:, 1:].reshape(20, 30, 3), image)


def test_the_task_draws_the_ground() -> None:
    task = pond_task()
    picture = map_picture(task, fall_in(task), [PATH], [[(0.0, 0.0), (0.0, 0.05), (5.0, 0.0)]])
    assert picture is not None
    assert (picture.width, picture.height) == (193, 24)
    assert picture.ways[0] == ((8.0, 12.0), (24.0, 10.0), (72.0, 11.0))
    assert picture.image is not None
    assert base64.b64decode(picture.image.split(",")[1]).startswith(b"\x89PNG")


def test_steps_too_small_to_see_are_left_out_of_fuzz_traces() -> None:
    task = pond_task()
    line = [(index * 0.01, 0.0) for index in range(1000)]
    picture = map_picture(task, fall_in(task), [PATH], [line])
    assert picture is not None
    moves = np.abs(np.diff(np.array(picture.fuzz[0]), axis=0)).sum(axis=1)
    assert moves.min() >= LEAST_MOVE
    assert len(picture.fuzz[0]) < 100


def test_a_ground_may_depend_on_the_reference() -> None:
    seen: list[ActionTrace] = []

    def draw(task: Task, reference: ActionTrace) -> object:
        seen.append(reference)
        from tests.report.worlds import draw_pond

        return draw_pond(task)

    task = pond_task(draw_map=draw)
    map_picture(task, fall_in(task), [PATH])
    assert seen == [fall_in(task)]


def test_without_a_ground_positions_fill_a_plain_map_with_y_up() -> None:
    task = pond_task(draw_map=None)
    picture = map_picture(task, fall_in(task), [PATH])
    assert picture is not None
    assert picture.image is None
    (left, low), (_, high), (right, _) = picture.ways[0]
    assert 0 < left < right < PLAIN_WIDTH
    assert 0 < high < low < PLAIN_HEIGHT


def test_a_coordinate_that_never_changes_is_drawn_in_the_middle() -> None:
    task = pond_task(draw_map=None)
    picture = map_picture(task, fall_in(task), [[(0.0, 5.0), (1.0, 5.0)]])
    assert picture is not None
    assert {y for _, y in picture.ways[0]} == {PLAIN_HEIGHT / 2}


def test_no_positions_no_map() -> None:
    assert map_picture(pond_task(), fall_in(pond_task()), [None]) is None


@pytest.mark.parametrize("nowhere", [(NAN, NAN), (2.0, NAN), (INF, 1.0)])
def test_a_situation_without_a_position_keeps_its_place_in_the_reference(nowhere: tuple[float, float]) -> None:
    task = pond_task()
    picture = map_picture(task, fall_in(task), [[nowhere, *PATH[:1], nowhere, nowhere, *PATH[1:], nowhere]])
    assert picture is not None
    assert picture.ways[0] == (None, (8.0, 12.0), None, None, (24.0, 10.0), (72.0, 11.0), None)


def test_the_ground_may_have_no_place_for_a_position() -> None:
    class LeftHalf(PondMap):
        def to_pixels(self, position: tuple[float, float]) -> tuple[float, float]:
            return super().to_pixels(position) if position[0] < 3 else (NAN, NAN)

    task = pond_task(draw_map=lambda task: LeftHalf(pond_picture()))
    picture = map_picture(task, fall_in(task), [PATH], [PATH[2:], PATH[1:]])
    assert picture is not None
    assert picture.ways[0] == ((8.0, 12.0), (24.0, 10.0), None)
    assert picture.fuzz == (((24.0, 10.0),),), "a trace of which nothing can be drawn is left out"
    assert map_picture(task, fall_in(task), [PATH[2:]]) is None


def test_a_plain_map_is_as_large_as_what_can_be_drawn() -> None:
    task = pond_task(draw_map=None)
    whole = map_picture(task, fall_in(task), [PATH])
    picture = map_picture(task, fall_in(task), [[PATH[0], (INF, -7.0), *PATH[1:]]], [[(NAN, 99.0)]])
    assert whole is not None
    assert picture is not None
    assert picture.ways[0] == (whole.ways[0][0], None, *whole.ways[0][1:])
    assert picture.fuzz == ()


def test_fuzz_traces_are_broken_where_they_are_nowhere() -> None:
    task = pond_task()
    nowhere = (NAN, NAN)
    line = [nowhere, (0.0, 0.0), (1.0, 0.0), nowhere, nowhere, (1.0, 0.0), (1.01, 0.0), (5.0, 0.0), nowhere]
    picture = map_picture(task, fall_in(task), [PATH], [line])
    assert picture is not None
    assert picture.fuzz == (((8.0, 12.0), (24.0, 12.0), None, (24.0, 12.0), (88.0, 12.0)),)


def test_without_any_position_there_is_no_map() -> None:
    task = pond_task()
    assert map_picture(task, fall_in(task), [[(NAN, NAN)] * 3]) is None
    assert map_picture(pond_task(draw_map=None), fall_in(task), [[(NAN, NAN)] * 3], [PATH]) is None


def test_a_plain_map_has_axes_with_names_and_a_picture_has_letters() -> None:
    task = pond_task(draw_map=None, position_names=("place (m)", "height (m)"))
    plain = map_picture(task, fall_in(task), [PATH])
    assert plain is not None
    assert plain.axes is not None
    across, up = plain.axes
    assert (across.name, up.name) == ("place (m)", "height (m)")
    assert [text for _, text in up.ticks] == ["0", "0.5", "1", "1.5", "2"]
    assert [at for at, _ in up.ticks] == sorted((at for at, _ in up.ticks), reverse=True), "y points up"
    lake = make_task("FrozenLake-v1", is_slippery=False)
    drawn = map_picture(lake, ActionTrace(lake.label, 0), [[(0.0, 0.0)]])
    assert drawn is not None
    assert drawn.axes is None
    assert "".join(letter for _, _, letter in drawn.letters) == "SFFFFHFHFFFHHFFG"
    assert drawn.letters[0][:2] == (16.0, 16.0)
