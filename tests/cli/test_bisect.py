"""Since when does it fail? As a user asks it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tightrope.cli import run_command

LAKE = ["FrozenLake-v1", "--set", "is_slippery=false"]
GOOD, BAD = "tests.sample_agents:careful", "tests.sample_agents:zigzag"


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tested") / "run"
    assert run_command(["search", *LAKE, "--out", str(folder), "--quiet"]) == 0
    options = ["--agent", f"zigzag={BAD}", "--suite", "simple", "--backend", "inline", "--quiet"]
    assert run_command(["safety", str(folder), *options]) == 0
    return folder


def test_a_group_of_a_run_and_a_case_of_a_suite(tested: Path, tmp_path: Path, capsys) -> None:
    row = [f"step{number}={GOOD if number < 4 else BAD}" for number in range(7)]
    assert run_command(["bisect", *row, "--in", str(tested), "--case", "group:1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["first_failing"], said["last_passing"], said["found"]) == ("step4", "step3", True)
    assert len(said["checked"]) <= 5
    kept = tmp_path / "kept.suite.json"
    run_command(["keep", str(tested), "--out", str(kept), "--as-found", "--json"])
    case = json.loads(capsys.readouterr().out)["kept"][0]["case"]
    assert run_command(["bisect", *row, "--in", str(kept), "--case", case[:6]]) == 0
    assert "step4 is the first that fails" in " ".join(capsys.readouterr().out.split())


def test_checkpoints_play_as_the_agents_of_the_run(tmp_path: Path, capsys) -> None:
    """What failed with half of its actions random is looked for with half of them random; too few runs are flaky."""
    noisy = tmp_path / "noisy"
    run_command(["search", *LAKE, "--out", str(noisy), "--quiet"])
    options = ["--agent", f"zigzag={BAD}", "--epsilon", "0.5", "--suite", "simple", "--backend", "inline", "--quiet"]
    assert run_command(["safety", str(noisy), *options]) == 0
    row = [f"step{number}={GOOD if number < 2 else BAD}" for number in range(3)]
    capsys.readouterr()
    asked = ["bisect", *row, "--in", str(noisy), "--case", "group:1", "--most", "3"]
    assert run_command(asked) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "Agent files play greedy with 0.5 of the actions random." in said
    assert "flaky: step0, step1, step2" in said
    assert run_command([*asked, "--epsilon", "0"]) == 0
    assert "step2 is the first that fails" in " ".join(capsys.readouterr().out.split())
    run_command(["keep", str(noisy), "--out", str(tmp_path / "kept.suite.json"), "--as-found"])
    assert "--agent AGENT --epsilon 0.5 --max-fail 0" in " ".join(capsys.readouterr().out.split())


def test_groups_are_those_of_the_suites_and_not_of_their_controls(tested: Path, capsys) -> None:
    run_command(["keep", str(tested), "--as-found", "--json", "--out", str(tested.parent / "groups.suite.json")])
    groups = len(json.loads(capsys.readouterr().out)["kept"])
    assert run_command(["bisect", GOOD, BAD, "--in", str(tested), "--case", f"group:{groups + 1}"]) == 2
    assert f"has {groups} failure group" in " ".join(capsys.readouterr().err.split())


def test_questions_that_are_none(tested: Path, tmp_path: Path, capsys) -> None:
    row = [GOOD, BAD]
    for options, said in (
        ([], "which case?"),
        (["--case", "group:99"], "failure groups"),
        (["--case", "zzzz"], "no case of"),
    ):
        assert run_command(["bisect", *row, "--in", str(tested), *options]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    assert run_command(["bisect", str(tmp_path / "none"), "--in", str(tested), "--case", "group:1"]) == 2
    assert "none is no folder; give a folder of checkpoints" in " ".join(capsys.readouterr().err.split())
    assert run_command(["bisect", str(tmp_path), "--in", str(tested), "--case", "group:1"]) == 2
    assert "no agent file" in " ".join(capsys.readouterr().err.split())
