"""A run is one object: what is stored is read once, judged once, and believed by one rule."""

from __future__ import annotations

import builtins
import io
import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tightrope as tr
from tests.runs.conftest import CONFIG
from tightrope.runs.campaign import run_campaign, write_run_report
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact, Codec, changes
from tightrope.runs.storage.manifest import Cost, Entry, Source
from tightrope.safety import run as running
from tightrope.safety.judging import judge, storage


@pytest.fixture
def folder(undisturbed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(undisturbed, tmp_path / "run"))


class Counts:
    """How often each file was opened for reading, and each suite judged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads: Counter[str] = Counter()
        self.judged: Counter[tuple[str, str]] = Counter()
        real_open, real_judge = io.open, judge.judge_suite

        def counting_open(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if isinstance(file, str | os.PathLike) and "r" in mode:
                self.reads[str(file)] += 1
            return real_open(file, mode, *rest, **more)

        def counting_judge(suite: Any, *rest: Any, **more: Any) -> Any:
            self.judged[suite.name, more["agent"]] += 1
            return real_judge(suite, *rest, **more)

        monkeypatch.setattr(io, "open", counting_open)
        monkeypatch.setattr(builtins, "open", counting_open)
        for module in (storage, running):
            monkeypatch.setattr(module, "judge_suite", counting_judge)


def test_a_report_reads_each_file_once_and_judges_each_suite_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counts(monkeypatch)
    run = tr.open_run(folder)
    write_run_report(run)
    inside = {Path(path).relative_to(folder).as_posix(): n for path, n in counts.reads.items() if str(folder) in path}
    stored = {path: n for path, n in inside.items() if path.endswith(".json") and not path.startswith("report")}
    assert set(stored) == {"run.json", *run.manifest.artefacts}
    assert set(stored.values()) == {1}
    controls = {f"{name}:{len(run.safety[name]['zigzag'].suite)}" for name in ("uniform", "random")}
    suites = {"simple", "interval:1", *controls}
    assert counts.judged == {(suite, agent): 1 for suite in suites for agent in ("zigzag", "careful")}


def test_a_run_that_goes_on_reads_each_file_once_and_judges_each_suite_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counts(monkeypatch)
    run_campaign(CONFIG, folder)
    stored = {path: n for path, n in counts.reads.items() if path.endswith(".json") and "report" not in path}
    assert {n for path, n in stored.items() if str(folder) in path} == {1}
    assert set(counts.judged.values()) == {1}


def test_what_a_run_found_can_be_reached(folder: Path) -> None:
    run = tr.open_run(folder)
    assert run.task_label == "FrozenLake-v1(is_slippery=True)"
    assert list(run.agents) == ["zigzag", "careful"]
    assert isinstance(run.reference, tr.Reference)
    assert isinstance(run.search, tr.SearchResult)
    assert list(run.safety) == ["simple", "interval:1", "uniform", "random"]
    assert isinstance(run.safety["simple"]["zigzag"], tr.SafetyResult)
    assert isinstance(run.fuzzing, tr.FuzzResult)
    assert run.fuzzing_for("careful") is run.fuzzing
    assert {type(result) for result in run.performance.values()} == {tr.Robustness}
    assert run.gates == ()
    assert run.report_path == folder / "report" / "index.html"
    assert run.status == "finished"
    assert set(tr.compare_runs(run, run)) == {"simple", "interval:1"}
    assert "task_label='FrozenLake-v1(is_slippery=True)', status='finished'" in repr(run)
    assert "report_path" in repr(run)
    assert run._repr_html_().startswith("<table>")
    with pytest.raises(tr.TightropeError, match="Did you mean 'careful'"):
        run.fuzzing_for("carefull")


def test_what_was_just_made_is_what_is_read_again(folder: Path, tmp_path: Path) -> None:
    made = run_campaign(CONFIG, tmp_path / "new")
    again = tr.open_run(tmp_path / "new")
    assert made.safety == again.safety
    assert made.fuzzing == again.fuzzing
    assert made.performance == again.performance
    assert made.search is not None
    assert again.search is not None
    assert made.search.stats == again.search.stats


NUMBERS: Codec[list[int]] = Codec(write=lambda value: {"numbers": value}, read=lambda data: data["numbers"])


def artefact(run: tr.Run, **changed: Any) -> Artefact[list[int]]:
    sources = (run.source(layout.TASK), run.source(layout.ACTIONS, layout.REFERENCE))
    values: dict[str, Any] = {"path": "3-fuzzing/numbers.json", "settings": {"size": 2}, "sources": sources}
    return Artefact(**{**values, "codec": NUMBERS, **changed})


def test_a_stored_thing_is_valid_while_it_would_be_made_from_the_same(folder: Path) -> None:
    run = tr.open_run(folder)
    asked = artefact(run)
    assert not run.is_current(asked)
    assert run.get(asked) is None
    run.put(asked, [1, 2], Cost(seconds=1.0))
    for opened in (run, tr.open_run(folder)):
        assert opened.is_current(asked)
        assert opened.get(asked) == [1, 2]
        assert opened.outdated(asked.path) is None
    larger = artefact(run, settings={"size": 3})
    assert not run.is_current(larger)
    assert run.get(larger) is None
    elsewhere = artefact(run, sources=(Source(name=layout.TASK, id="another"),))
    assert not run.is_current(elsewhere)


def test_it_is_said_which_input_differs() -> None:
    entry = Entry(
        checksum="", ids={}, settings={"size": 2}, sources=(Source(name="the task", id="a"), Source(name="x", id="b"))
    )
    assert list(changes(entry, {"size": 2}, entry.sources)) == []
    (setting,) = changes(entry, {"size": 3}, entry.sources)
    assert str(setting) == "size was 2, now 3"
    (added,) = changes(entry, {"size": 2, "weight": 1}, entry.sources)
    assert str(added) == "weight was None, now 1"
    (source,) = changes(entry, {"size": 2}, (Source(name="the task", id="b"),))
    assert (str(source), source.setting) == ("the task changed", False)


def test_what_is_made_from_something_outdated_is_outdated_too(folder: Path) -> None:
    run = tr.open_run(folder)
    run.put(artefact(run), [1], Cost())
    below = artefact(run, path="4-performance/below.json", sources=(run.source("numbers", "3-fuzzing/numbers.json"),))
    run.put(below, [2], Cost())
    assert run.outdated(below.path) is None
    task = run.manifest.task.model_copy(update={"fingerprint": {"rom": "another"}})
    run.save(task=task)
    assert run.outdated("3-fuzzing/numbers.json").name == "the task"  # type: ignore[union-attr]
    assert {path for path in run.manifest.artefacts if run.outdated(path) is None} == {below.path}, (
        "it had no id to lose"
    )
    assert run.safety == {}


def test_a_run_killed_between_file_and_record_does_not_believe_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tr.open_run(folder)
    run.put(artefact(run), [1], Cost())
    with monkeypatch.context() as killed:
        killed.setattr(type(run), "save", lambda self, **changed: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run.put(artefact(run, settings={"size": 3}), [1, 2, 3], Cost())
    assert json.loads((folder / "3-fuzzing" / "numbers.json").read_text()) == {"numbers": [1, 2, 3]}
    again = tr.open_run(folder)
    assert again.get(artefact(again)) is None
    assert again.get(artefact(again, settings={"size": 3})) is None


def test_a_folder_that_may_not_be_written_can_be_read(folder: Path) -> None:
    expected = tr.open_run(folder).safety
    for path in (folder / "episodes.sqlite-wal", folder / "episodes.sqlite-shm"):
        assert not path.exists(), "closed properly"
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert tr.open_run(folder).safety == expected
        assert report_results([tr.open_run(folder)]).runs[0].status == "finished"
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
