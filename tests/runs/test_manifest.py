"""run.json: typed, of one version, and never half understood."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tightrope.errors import FormatError
from tightrope.files import migrated
from tightrope.runs.storage.manifest import VERSION, read_manifest, write_manifest


@pytest.fixture
def folder(undisturbed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(undisturbed, tmp_path / "run"))


def changed(folder: Path, change: Mapping[str, Any]) -> Path:
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    return file


def test_it_comes_back_as_it_was(folder: Path) -> None:
    manifest = read_manifest(folder / "run.json")
    write_manifest(folder / "again.json", manifest)
    assert read_manifest(folder / "again.json") == manifest
    assert [agent.settings.name for agent in manifest.agents.values()] == list(manifest.agents)
    assert manifest.config.agents == tuple(agent.settings for agent in manifest.agents.values())


def test_a_run_of_the_first_version_is_refused_in_one_sentence(folder: Path) -> None:
    """As it was written then, with what to do now."""
    file = folder / "run.json"
    file.write_text(json.dumps({"format": "tightrope/run", "version": 1, "command": "tightrope run a.yaml"}))
    with pytest.raises(FormatError) as refused:
        read_manifest(file)
    told = str(refused.value)
    assert told.startswith(f"{folder}: this run was made by an earlier tightrope")
    assert "make it again in another folder: tightrope run a.yaml" in told
    assert ". " not in told.removeprefix(str(folder))


def test_a_newer_version_is_refused(folder: Path) -> None:
    with pytest.raises(FormatError, match=r"version 99.*Update tightrope"):
        read_manifest(changed(folder, {"version": 99}))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"status": 3}, "status"),
        ({"colour": "red"}, "colour"),
        ({"task": {}}, "task.name"),
        ({"agents": {"a": {"fingerprint": "x"}}}, "agents.a.settings"),
        ({"config": {"task": "x", "seed": -1}}, "config.seed"),
        ({"artefacts": {"../../outside.json": {}}}, r"artefacts\.\.\./\.\./outside"),
        ({"artefacts": {"2-safety/../../x.json": {}}}, "artefacts.2-safety"),
    ],
)
def test_what_is_damaged_is_named(folder: Path, change: dict[str, Any], where: str) -> None:
    with pytest.raises(FormatError, match=f"run.json is damaged at {where}"):
        read_manifest(changed(folder, change))


def test_files_are_brought_up_to_date_step_by_step() -> None:
    table = {
        1: lambda old: {**old, "b": old["a"] + 1},
        2: lambda old: {**old, "c": old["b"] + 1},
    }
    first = {"format": "x", "version": 1, "a": 1}
    assert migrated("file", first, "x", table) == {"format": "x", "version": 3, "a": 1, "b": 2, "c": 3}
    assert migrated("file", {**first, "version": 3}, "x", table) == {"format": "x", "version": 3, "a": 1}
    with pytest.raises(FormatError, match="which has never existed"):
        migrated("file", {**first, "version": 0}, "x", table)
    with pytest.raises(FormatError, match="Update tightrope"):
        migrated("file", {**first, "version": 4}, "x", table)
    assert VERSION == 3
