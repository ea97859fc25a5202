"""Campaign files that want to be huge, deep or slow."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.files.bombs import at_most
from tightrope.errors import FormatError
from tightrope.files.limits import NESTING, SETTINGS_FILE
from tightrope.runs.configuration.configfile import load_config

LAUGHS = "\n".join(
    [
        "task: FrozenLake-v1",
        "options:",
        "  a: &a [x, x, x, x, x, x, x, x, x]",
        *(f"  {b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ]
)
MERGES = "\n".join(
    [
        "task: FrozenLake-v1",
        "options:",
        "  a: &a {x: 1}",
        *(f"  {b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ]
)
DEEP = 50_000


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("c.yaml", LAUGHS, "more than 20,000 values once its aliases"),
        ("c.yaml", MERGES, "more than 20,000 values once its aliases"),
        ("c.yaml", "a: &a [*a]", r"\*a contains itself"),
        ("c.yaml", "a: &a {b: {c: *a}}", r"\*a contains itself"),
        ("c.yaml", "a: " + "[" * DEEP + "]" * DEEP, f"more than {NESTING} levels"),
        ("c.yaml", "\n".join(" " * n + "a:" for n in range(600)), f"more than {NESTING} levels"),
        ("c.yaml", "- " * DEEP + "1", f"more than {NESTING} levels"),
        ("c.yaml", "? " * DEEP + "1", f"more than {NESTING} levels"),
        ("c.json", "[" * DEEP + "]" * DEEP, f"more than {NESTING} levels"),
        ("c.yaml", "a: " + "7" * 5000, "a number of 5000 digits"),
        ("c.yaml", "a: 0x" + "f" * 5000, "a number of 5002 digits"),
        ("c.yaml", "a: " + ":".join(["1"] * 2000), "a number of 3999 digits"),
        ("c.yaml", "a: " + ":".join(["1"] * 2000) + ".5", "a number of 4001 digits"),
        ("c.yaml", "a: 2001-13-45", "not valid YAML: month must be in"),
        ("c.yaml", "a: !!python/object/apply:os.mkdir [owned]", "could not determine a constructor"),
        ("c.yaml", "? [a]\n: b", "unhashable key"),
        ("c.yaml", "a: *b", "undefined alias"),
        ("c.yaml", "[" + "a," * 100_000 + "]", "more than 20,000 values"),
        ("c.toml", "a = " + "[" * DEEP + "]" * DEEP, f"more than {NESTING} levels"),
        ("c.toml", "a = " + "{b=" * DEEP + "1" + "}" * DEEP, f"more than {NESTING} levels"),
        ("c.toml", ".".join(["a"] * 100) + " = 1", f"more than {NESTING} levels"),
        ("c.toml", ".".join(["a"] * DEEP) + " = 1", "line 1 has more than 200 dots"),
        ("c.toml", "a = " + "7" * 5000, "not valid TOML"),
        ("c.toml", "a = 0x" + "f" * 5000, "a number of more than 100 digits"),
    ],
)
def test_what_is_out_of_proportion_is_refused_at_once(tmp_path: Path, name: str, text: str, told: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    started = time.process_time()
    with at_most(40), pytest.raises(FormatError, match=told):
        load_config(path)
    assert time.process_time() - started < 20, "it took its time"
    assert not Path("owned").exists()


def test_a_line_of_spaces_does_not_hold_up_the_search_for_lines(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('task = "x"\nreport.title = """\n[' + " " * 200_000 + '\n"""\nunknown = 1\n')
    started = time.process_time()
    with pytest.raises(Exception, match="there is no setting 'unknown'"):
        load_config(path)
    assert time.process_time() - started < 5


def test_a_file_that_is_too_long_or_no_text(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("#" * (SETTINGS_FILE + 1))
    with pytest.raises(FormatError, match=r"c\.yaml has 256 KiB, and files of its kind may have 256 KiB"):
        load_config(path)
    path.write_bytes(b"task: \xff")
    with pytest.raises(FormatError, match=r"c\.yaml is not a text in UTF-8"):
        load_config(path)


def test_aliases_that_keep_their_measure_are_welcome(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "task: FrozenLake-v1\nsafety: &s {repetitions: 2}\noptions: {<<: *s, again: *s, date: 2001-01-02}\n"
    )
    assert load_config(path).options["again"] == {"repetitions": 2}
