from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tightrope.errors import UsageError
from tightrope.runs.storage.layout import performance_path, plain_path, safety_path
from tightrope.runs.storage.names import file_name, require_name, suite_file_name

TRICKS = [
    "a b", "a-b", "a_b", "a/b", "a:b", "A b", ".", "..", ".hidden", "end.", "zig.json", "zig.JSON", "zig.suite",
    "zig.suite.json", "zig", "reference", "é", "e\u0301", "e", "", " ", "-", "--", "x" * 300, "x" * 301, "a b-1a2b3c4d",
    file_name("a b"), file_name(file_name("a b")), "con", "../../etc/passwd", "interval:1", "interval-1",
]  # fmt: skip


def test_no_two_names_share_a_file() -> None:
    assert len({file_name(name) for name in TRICKS}) == len(TRICKS)
    assert len({suite_file_name(name) for name in TRICKS}) == len(TRICKS)


@given(st.sets(st.text(alphabet="aA- ._:/é1f\n", max_size=12), min_size=2, max_size=8))
def test_nor_do_any_others(names: set[str]) -> None:
    assert len({file_name(name) for name in names}) == len(names)
    assert len({suite_file_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", TRICKS)
def test_a_file_name_is_one_part_of_a_path_and_no_file_of_tightropes(name: str) -> None:
    for made in (file_name(name), suite_file_name(name)):
        assert made.isascii()
        assert made.isprintable()
        assert 0 < len(made) <= 100
        assert not set(made) & set('/\\:*?"<>| ')
        assert made[0] != "."
        assert not made.lower().endswith((".json", ".suite", ".survival", ".tmp", "."))
    assert performance_path(name) != plain_path(name)


@pytest.mark.parametrize("name", ["zigzag", "PPO_v2", "2-moves.late", "a-b"])
def test_plain_names_stay_as_they_are(name: str) -> None:
    assert file_name(name) == name


def test_suites_have_the_names_that_people_expect() -> None:
    assert suite_file_name("interval:1") == "interval-1"
    assert suite_file_name("simple") == "simple"
    assert safety_path("zigzag", "coverage:2") == "2-safety/zigzag/coverage-2.json"


@pytest.mark.parametrize(
    "name", ["", " ", "two\nlines", "\x1b[2J", "bell\a", "\udcff", "\u202eright to left", "x" * 101]
)
def test_names_that_cannot_be_printed_in_one_line_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="an agent's name is one line of printable text") as caught:
        require_name(name, "agent.onnx")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", [".", "..", "zig.json", "a b", "größe", "日本"])
def test_odd_names_are_welcome(name: str) -> None:
    require_name(name, "agent.onnx")
