"""A fixed number of damaged files of every kind; ``make fuzz`` tries others for as long as is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.filefuzz.kinds import Kind, all_kinds
from tests.filefuzz.trying import Fuzzer

CASES = 4
"""Of every kind and share of it."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> list[Kind]:
    return all_kinds(tmp_path_factory.mktemp("files"))


def test_honest_files_are_read(kinds: list[Kind]) -> None:
    for kind in kinds:
        if not kind.name.endswith(("-wal", "-journal")):
            kind.path.write_bytes(kind.sample)
            kind.read(kind.path)


def test_damaged_files_are_read_or_refused_by_name(kinds: list[Kind]) -> None:
    fuzzer = Fuzzer(kinds, seed=0)
    found = [fuzzer.try_case(case) for case in range(CASES * len(fuzzer.kinds))]
    assert not [str(finding) for finding in found if finding is not None]
    assert fuzzer.refused > CASES * len(fuzzer.kinds) / 4, "hardly anything was damaged"


def test_what_is_no_error_of_tightrope_is_found(tmp_path: Path) -> None:
    """The fuzzer itself: what raises something else, warns or never ends is told with the file."""

    def careless(path: Path) -> int:
        return int(path.read_text())

    kind = Kind(name="number", sample=b"7", path=tmp_path / "n", mutate=lambda rng, content: b"x", read=careless)
    finding = Fuzzer([kind]).try_case(0)
    assert finding is not None
    assert finding.content == b"x"
    assert finding.told.startswith("ValueError: invalid literal")
