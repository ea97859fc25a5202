from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tightrope.errors import FormatError, RunLocked, UsageError
from tightrope.files import read_json_file, write_json
from tightrope.runs.storage.folder import RunFolder
from tightrope.runs.storage.layout import STEPS


def test_a_new_folder_has_a_place_for_every_step(tmp_path: Path) -> None:
    folder = RunFolder.create_or_open(tmp_path / "run")
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "0-plain", "1-search", "2-safety", "3-fuzzing", "4-performance",
    ]  # fmt: skip


def test_the_page_of_file_formats_has_every_step() -> None:
    page = (Path(__file__).parents[2] / "docs" / "file-formats.md").read_text(encoding="utf-8")
    tree = page.partition("```\nrun/")[2].partition("```")[0]
    assert [
        line.split("/")[0].strip() for line in tree.splitlines() if line.startswith("  ") and line[2:3].isdigit()
    ] == [*STEPS]


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"no run\.json"):
        RunFolder.create_or_open(tmp_path)


def test_a_folder_that_is_no_run_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"format": "something/else"}'])
def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(FormatError):
        read_json_file(path, kind="tightrope/run", version=1)


def test_writing_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for value in range(3):
        write_json(path, {"format": "x", "version": 1, "value": value})
        assert read_json_file(path, kind="x", version=1)["value"] == value
    assert list(tmp_path.iterdir()) == [path]


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    folder = RunFolder.create_or_open(tmp_path / "run")
    code = (
        "import sys; from tightrope.runs.storage.folder import RunFolder\n"
        "from tightrope.errors import RunLocked\n"
        "try:\n"
        "    with RunFolder(__import__('pathlib').Path(sys.argv[1])).locked(): print('entered')\n"
        "except RunLocked as error: print('refused', error)\n"
    )

    def attempt() -> str:
        command = [sys.executable, "-c", code, str(folder.path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with folder.locked():
        answer = attempt()
        assert answer.startswith("refused")
        assert "wait for it to end" in answer
    assert attempt() == "entered\n"


def test_the_lock_is_not_shared_within_a_process_either(tmp_path: Path) -> None:
    folder = RunFolder.create_or_open(tmp_path / "run")
    with folder.locked(), pytest.raises(RunLocked), folder.locked():
        raise AssertionError("entered twice")
