"""A fixed number of damaged files of every kind; ``make fuzz`` tries others for as long as is wanted."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest

from tests.filefuzz.commands import Commands, Refused, Unclear
from tests.filefuzz.kinds import COMMAND, Kind, all_kinds
from tests.filefuzz.trying import Fuzzer

CASES = 700
"""The first ones have every kind in them."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> list[Kind]:
    return all_kinds(tmp_path_factory.mktemp("files"))


def test_honest_files_are_read(kinds: list[Kind]) -> None:
    for kind in kinds:
        if kind.stays and not kind.name.startswith(COMMAND):
            kind.path.write_bytes(kind.sample)
            kind.read(kind.path)


def test_damaged_files_are_read_or_refused_by_name(kinds: list[Kind]) -> None:
    fuzzer = Fuzzer(kinds, seed=0)
    found = [fuzzer.try_case(case) for case in range(CASES)]
    assert not [str(finding) for finding in found if finding is not None]
    assert set(fuzzer.counts) == {kind.name for kind in kinds}
    assert fuzzer.refused > CASES / 2, "hardly anything was damaged"


def test_a_seed_and_a_number_name_a_file_for_ever(kinds: list[Kind]) -> None:
    """Also after other files were made: nothing that a mutation puts into one may be changed by the next."""
    for kind in kinds:
        once = [kind.mutate(Random(f"{kind.name}/{case}"), kind.sample) for case in range(6)]
        again = [kind.mutate(Random(f"{kind.name}/{case}"), kind.sample) for case in reversed(range(6))]
        assert once == again[::-1], kind.name


def test_nothing_is_left_beside_the_next_file(kinds: list[Kind]) -> None:
    before = _files(kinds)
    fuzzer = Fuzzer([kind for kind in kinds if "sqlite" in kind.name and not kind.name.startswith(COMMAND)], seed=1)
    for case in range(12):
        fuzzer.try_case(case)
    assert _files(kinds) == before


def _files(kinds: list[Kind]) -> dict[str, bytes]:
    run = next(kind.path.parent for kind in kinds if kind.name == "run.json")
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize(
    ("code", "told", "is_clear"),
    [
        (0, "", True),
        (2, "error: there is no file 'x'", True),
        (3, "Traceback (most recent call last):", False),
        (3, "error: unexpected KeyError: 'x'. This is a fault of tightrope or of a library", False),
        (2, "", False),
        (-11, "", False),
        (139, "error: x", False),
    ],
)
def test_a_command_is_clear_or_found(monkeypatch: pytest.MonkeyPatch, code: int, told: str, is_clear: bool) -> None:
    commands = Commands()
    monkeypatch.setattr(commands, "_answered", lambda arguments, seconds: (code, told))
    with nullcontext() if code == 0 else pytest.raises(Refused if is_clear else Unclear):
        commands.give("report", "run")


def test_what_is_no_error_of_tightrope_is_found(tmp_path: Path) -> None:
    """The fuzzer itself: what raises something else, warns or never ends is told with the file."""

    def careless(path: Path) -> int:
        return int(path.read_text())

    kind = Kind(name="number", sample=b"7", path=tmp_path / "n", mutate=lambda rng, content: b"x", read=careless)
    finding = Fuzzer([kind]).try_case(0)
    assert finding is not None
    assert finding.content == b"x"
    assert finding.told.startswith("ValueError: invalid literal")
