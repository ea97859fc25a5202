from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from tests.files.bombs import nested_json
from tightrope.errors import FormatError
from tightrope.files import hash_from_text, parse_json, read_json_file
from tightrope.files.limits import DIGITS, JSON_FILE, NESTING


@pytest.mark.parametrize("levels", [NESTING + 2, 900, 5_000, 100_000])
@pytest.mark.parametrize("form", ["[{}]", '{{"a": {}}}'])
def test_deep_nesting_is_told_and_never_a_recursion_error(levels: int, form: str) -> None:
    opening, _, closing = form.replace("{{", "{").replace("}}", "}").partition("{}")
    with pytest.raises(FormatError, match=rf"x\.json nests .* more than {NESTING} levels"):
        parse_json(opening * levels + "1" + closing * levels, "x.json")


def test_what_nests_as_results_do_is_read() -> None:
    text = nested_json(NESTING)
    assert parse_json(text, "x.json") == json.loads(text)


def test_numbers_of_thousands_of_digits_are_told() -> None:
    for digits in (DIGITS + 1, 4_301, 100_000):
        with pytest.raises(FormatError, match=rf"a number of {digits} digits; at most {DIGITS}"):
            parse_json(f'{{"seed": {"7" * digits}}}', "x.json")
    longest = 10**DIGITS - 1
    assert parse_json(json.dumps([longest, "7" * 5000, 0.1]), "x.json") == [longest, "7" * 5000, 0.1]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"\x00", b"[1] 2", b'"\\ud800"', b'{"a": "\\udfff"}'])
def test_what_is_no_text_or_no_json_is_a_format_error(content: bytes) -> None:
    with pytest.raises(FormatError, match=r"x\.json is not a JSON file"):
        parse_json(content, "x.json")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "-1E+400", "9" * 400 + ".0"])
def test_numbers_that_are_not_finite_are_told_unless_they_are_asked_for(number: str) -> None:
    with pytest.raises(FormatError, match=r"x\.json is not a JSON file \(.* is not a finite number\)"):
        parse_json(f'{{"a": [{number}]}}', "x.json")
    assert not math.isfinite(parse_json(f'{{"a": [{number}]}}', "x.json", finite=False)["a"][0])


def test_finite_numbers_stay_what_they_are() -> None:
    numbers = [1e308, 1e-400, -1.5e100, 0.1, 7]
    assert parse_json(json.dumps(numbers), "x.json") == numbers


def test_a_hash_has_sixteen_digits() -> None:
    """Python reads any number of them, and then refuses to print the number."""
    assert hash_from_text("ffffffffffffffff") == 2**64 - 1
    with pytest.raises(ValueError, match="no hash of 16 digits"):
        hash_from_text("a" * 5000)


def test_pairs_of_surrogates_are_letters() -> None:
    assert parse_json('"\\ud83d\\ude00"', "x.json") == "\N{GRINNING FACE}"


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(JSON_FILE + 1)
    with pytest.raises(FormatError, match=r"large\.json has 512 MiB, and files of its kind may have 512 MiB"):
        read_json_file(path, kind="x", version=1)


def test_pipes_and_devices_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", Path("/dev/zero")):
        with pytest.raises(FormatError, match="is not a plain file"):
            read_json_file(path, kind="x", version=1)
