"""A run folder, a suite or a database that somebody else made, to do harm."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.filefuzz.trying import at_most as in_time
from tests.files.bombs import at_most
from tightrope.cli import run_command
from tightrope.errors import FormatError, UsageError
from tightrope.execution import Engine, Rollout
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.run import Run, open_run
from tightrope.runs.storage.store import SUPER_JOURNAL, EpisodeStore
from tightrope.safety import load_suite
from tightrope.tasks import task_from_label
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace

PAGE = 4096
WHOLE = {"prefix_steps": 0, "prefix_reward": 0.0, "prefix_outcome": "ongoing", "outcome": "ongoing"}


def forge_journal(database: Path, victim: Path) -> None:
    """A journal as a crash leaves it, that names another file as the one it belongs to."""
    content = database.read_bytes()
    page = content[:PAGE]
    head = SUPER_JOURNAL + struct.pack(">5I", 1, 0, len(content) // PAGE, 512, PAGE)
    checksum = sum(page[place] for place in range(PAGE - 200, 0, -200))
    record = struct.pack(">I", 1) + page + struct.pack(">I", checksum)
    name = str(victim).encode()
    tail = struct.pack(">I", 2**30 // PAGE + 1) + name + struct.pack(">2I", len(name), sum(name)) + SUPER_JOURNAL
    Path(f"{database}-journal").write_bytes(head.ljust(512, b"\0") + record + tail)


def plain_database(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("create table traces (id text primary key, content text not null)")
    connection.close()
    return path


def test_a_forged_journal_deletes_no_file(tmp_path: Path) -> None:
    victim = tmp_path / "thesis.tex"
    victim.write_text("years of work")
    database = plain_database(tmp_path / "episodes.sqlite")
    forge_journal(database, victim)
    with pytest.raises(FormatError, match=r"episodes\.sqlite-journal names other files .* remove it"):
        EpisodeStore(database)
    assert victim.exists()
    # The forgery is a real one: SQLite itself does delete the file.
    with sqlite3.connect(database) as connection:
        connection.execute("select * from traces").fetchall()
    connection.close()
    assert not victim.exists()


def test_a_journal_of_ones_own_is_played_back(tmp_path: Path) -> None:
    database = plain_database(tmp_path / "episodes.sqlite")
    forge_journal(database, tmp_path / "x")
    journal = Path(f"{database}-journal")
    journal.write_bytes(journal.read_bytes()[: 512 + PAGE + 8])
    EpisodeStore(database).close()


@pytest.mark.parametrize(
    "schema",
    [
        "create trigger t after insert on traces begin delete from traces; end",
        "create view episodes as select * from traces",
        "create table other (id)",
    ],
)
def test_a_database_with_a_program_in_its_schema_is_refused(tmp_path: Path, schema: str) -> None:
    database = plain_database(tmp_path / "episodes.sqlite")
    with sqlite3.connect(database) as connection:
        connection.execute(schema)
    connection.close()
    with pytest.raises(FormatError, match=r"cannot be used .it holds the (trigger|view|table)"):
        EpisodeStore(database)


@pytest.mark.parametrize(
    "value",
    [
        zlib.compress(bytes(300 * 1024**2), 1),
        zlib.compress(b"[" * 100_000),
        b"no zlib",
        zlib.compress(b"[0, 1]")[:-3],
        zlib.compress(b"[1]"),
        zlib.compress(b'{"prefix_steps": ' + b"9" * 10_000 + b"}"),
        zlib.compress(json.dumps(WHOLE | {"keys": {"array": "AAAA", "dtype": "O", "shape": [1]}}).encode()),
        zlib.compress(json.dumps(WHOLE | {"keys": {"array": "AAAA", "dtype": "<u8", "shape": [2**62]}}).encode()),
        zlib.compress(json.dumps(WHOLE | {"rewards": "many"}).encode()),
        "text",
    ],
    ids=range(10),
)
def test_a_damaged_or_hostile_row_is_told(tmp_path: Path, value: object) -> None:
    task = corridor_task()
    rollout = Rollout(start=ActionTrace(task.label, 0), actions=(0, 1), seed=3)
    store = EpisodeStore(tmp_path / "episodes.sqlite")
    with Engine(task) as engine:
        store.add("one", engine.run([rollout])[0])
    store.connection.execute("update episodes set content = ?", (value,))
    with at_most(300), pytest.raises(FormatError, match=r"episodes\.sqlite is damaged: .* Remove the file"):
        store.get("one", rollout)
    with pytest.raises(FormatError, match="is damaged"):
        list(store.all())
    store.close()


@pytest.mark.parametrize("place", [".lock", "run.json.tmp", "report", "1-search/reference.json", "2-safety"])
@pytest.mark.parametrize("command", ["report", "safety --agent x.onnx", "run --resume", "replay"])
def test_nothing_is_written_where_a_link_leads(
    undisturbed: Path, tmp_path: Path, place: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    (target / "file").write_text("precious")
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    link = run / place
    shutil.rmtree(link) if link.is_dir() else link.unlink(missing_ok=True)
    link.symlink_to(target if place in ("report", "2-safety") else target / "file")
    assert run_command([*command.split(), str(run)]) == 2
    assert "is a link, and writing to it would change" in capsys.readouterr().err
    assert [path.name for path in target.iterdir()] == ["file"]
    assert (target / "file").read_text() == "precious"


def test_a_run_folder_that_is_reached_by_a_link_is_fine(undisturbed: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(undisturbed)
    assert open_run(tmp_path / "latest").status == "finished"


def suite_data(**changes: object) -> dict[str, object]:
    data: dict[str, object] = {
        "format": "tightrope/suite", "version": 1, "id": "", "kind": "simple", "parameters": {}, "task": "x",
        "seed": 0, "reference": [0, 1], "reseeds": [], "checksums": ["0", "1", "2"], "depths": [1], "doomed": [],
        "cases": [[0, 1, []]],
    }  # fmt: skip
    return {**data, **changes}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reference": [0] * 50_000, "cases": [[0, 50_000, []]] * 50_000}, "2,500,000,000 actions together"),
        ({"reseeds": [[0, 1]] * 20_000, "cases": [[0, 0, []]] * 20_000}, "400,000,000 actions together"),
        ({"cases": [[7, 1, []]]}, "damaged"),
        ({"cases": [[0, 1]]}, "damaged"),
        ({"seed": 1e999}, "not a finite number"),
        ({"reference": 5}, "damaged"),
    ],
)
def test_a_suite_out_of_all_proportion_is_refused(tmp_path: Path, changes: dict[str, object], told: str) -> None:
    path = tmp_path / "x.suite.json"
    path.write_text(json.dumps(suite_data(**changes)))
    with at_most(100), pytest.raises(FormatError, match=told):
        load_suite(path)


@pytest.mark.parametrize(
    "options",
    [
        "(" * 5_000,
        "a=" + "-" * 100_000 + "1",
        "a=" + "[" * 150 + "]" * 150,
        "a={[]: 1}",
        "a=" + "9" * 5_000,
        "**{}",
        "a=b",
    ],
)
def test_a_label_that_no_task_has_is_told(options: str) -> None:
    with pytest.raises(UsageError):
        task_from_label(f"FrozenLake-v1({options})")


def forged(folder: Path, copy: Path, change: Callable[[dict[str, Any]], None]) -> Run:
    """A copy of a run, whose run.json says something else of its files."""
    shutil.copytree(folder, copy)
    content = json.loads((copy / "run.json").read_text())
    change(content["artefacts"])
    (copy / "run.json").write_text(json.dumps(content))
    return open_run(copy)


def made_from(path: str, name: str = "x") -> dict[str, Any]:
    return {"name": name, "path": path, "id": "x"}


def test_files_that_are_made_from_each_other_are_told(undisturbed: Path, tmp_path: Path) -> None:
    def in_circles(artefacts: dict[str, Any]) -> None:
        for entry in artefacts.values():
            entry["sources"] = [made_from(path) for path in artefacts]

    run = forged(undisturbed, tmp_path / "run", in_circles)
    with pytest.raises(FormatError, match=r"run\.json says that .* is made from itself"):
        report_results([run])


def test_a_run_json_that_asks_for_the_same_over_and_over_is_read_in_no_time(undisturbed: Path, tmp_path: Path) -> None:
    """Forty files, each made from the one before it, twice: that is 2^40 ways to the first."""

    def doubling(artefacts: dict[str, Any]) -> None:
        first = "1-search/search.json"
        (name, identifier), *_ = artefacts[first]["ids"].items()
        latest = first
        for number in range(40):
            source = {"name": name, "path": latest, "id": identifier}
            latest = f"1-search/{number}.json"
            artefacts[latest] = {**artefacts[first], "sources": [source, source]}
        artefacts["1-search/reference.json"]["sources"].append({"name": name, "path": latest, "id": identifier})

    run = forged(undisturbed, tmp_path / "run", doubling)
    with in_time(30):
        assert run.outdated("1-search/reference.json") is None


def test_a_long_row_of_files_is_told(undisturbed: Path, tmp_path: Path) -> None:
    def row(artefacts: dict[str, Any]) -> None:
        first = artefacts["1-search/search.json"]
        for number in range(3000):
            artefacts[f"1-search/{number}.json"] = {**first, "sources": [made_from(f"1-search/{number + 1}.json")]}
        artefacts["1-search/3000.json"] = first

    run = forged(undisturbed, tmp_path / "run", row)
    with pytest.raises(FormatError, match="depends on too many files to follow"):
        run.outdated("1-search/0.json")


def test_a_result_that_does_not_say_what_it_was_made_from_is_told(undisturbed: Path, tmp_path: Path) -> None:
    run = forged(
        undisturbed, tmp_path / "run", lambda artefacts: [entry.update(sources=[]) for entry in artefacts.values()]
    )
    with pytest.raises(FormatError, match=r"run\.json does not say"):
        report_results([run])
