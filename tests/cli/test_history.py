"""A row of checkpoints through training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tightrope.cli import run_command
from tightrope.cli.arguments.given import Given
from tightrope.cli.arguments.options import agent_configs
from tightrope.runs.questions.history import history_of, runs_in
from tightrope.runs.run import open_run

LAKE = ["FrozenLake-v1", "--set", "is_slippery=false"]
GOOD, BAD = "tests.sample_agents:careful", "tests.sample_agents:zigzag"


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints, named in another order than they were trained: the middle one fails."""
    folder = tmp_path_factory.mktemp("tested") / "run"
    assert run_command(["search", *LAKE, "--out", str(folder), "--quiet"]) == 0
    agents = [f"--agent={name}={source}" for name, source in (("at-900", GOOD), ("at-1000", BAD), ("at-20", GOOD))]
    assert run_command(["safety", str(folder), *agents, "--suite", "simple", "--backend", "inline", "--quiet"]) == 0
    return folder


def test_kinds_of_failure_appear_in_the_order_of_training(tested: Path) -> None:
    history = history_of([open_run(tested)])
    assert [each.agent for each in history.checkpoints] == ["at-20", "at-900", "at-1000"]
    assert [each.step for each in history.checkpoints] == [20, 900, 1000]
    assert history.failures
    for row in history.failures:
        assert row.shares[0] == row.shares[1] == 0
        assert row.shares[2] == 1
        assert row.first == 2
        assert row.gone is None


def test_what_is_mended_is_gone(tested: Path, tmp_path: Path, capsys) -> None:
    later = tmp_path / "runs" / "later"
    run_command(["search", *LAKE, "--out", str(later), "--quiet"])
    options = ["--agent", f"at-3000={GOOD}", "--suite", "simple", "--backend", "inline", "--quiet"]
    run_command(["safety", str(later), *options])
    (tmp_path / "runs" / "first").symlink_to(tested)
    capsys.readouterr()
    assert run_command(["history", str(tmp_path / "runs"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {(row["appears"], row["gone"]) for row in said["failures"]} == {("at-1000", "at-3000")}


def test_the_table_shows_every_kind_as_a_row(tested: Path, capsys) -> None:
    assert run_command(["history", str(tested)]) == 0
    out = capsys.readouterr().out
    assert "··■" in out
    assert "100% (exact)" in out
    assert "Of 1 kind of failure 0 are gone, and 1 is left at at-1000." in " ".join(out.split())


def test_what_the_newest_was_not_tested_in_is_not_said_to_be_left(tested: Path, tmp_path: Path, capsys) -> None:
    other = tmp_path / "runs" / "other"
    run_command(["search", *LAKE, "--method", "archive", "--out", str(other), "--quiet"])
    options = ["--agent", f"at-3000={GOOD}", "--suite", "simple", "--backend", "inline", "--quiet"]
    run_command(["safety", str(other), *options])
    (tmp_path / "runs" / "first").symlink_to(tested)
    capsys.readouterr()
    assert run_command(["history", str(tmp_path / "runs")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Of 1 kind of failure 0 are gone, and 0 are left at at-3000; what became of 1 is not known." in said
    assert "not known since" in said


def test_the_risk_of_each_checkpoint_is_a_column_with_what_must_be_known_about_it(
    tested: Path, tmp_path: Path, capsys
) -> None:
    asked = ["history", str(tested), "--trust", "--risk", "400", "--out", str(tmp_path / "page")]
    assert run_command([*asked, "--json"]) == 0
    risks = json.loads(capsys.readouterr().out)["risk"]
    assert [risks[agent]["probability"]["value"] for agent in ("at-20", "at-900", "at-1000")] == [0, 0, 1]
    assert "risk in use" in (tmp_path / "page" / "index.html").read_text()
    assert run_command(asked) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "risk in use" in said
    assert "at-1000: neither the agent nor the environment is random after reset: its risk lies in its starts" in said


def test_two_kinds_of_failure_in_one_case_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    (tmp_path / "two_ways.py").write_text("def down(seen):\n    return 1\n\n\ndef right(seen):\n    return 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "run"
    assert run_command(["search", *LAKE, "--out", str(folder), "--quiet"]) == 0
    agents = ["--agent=at-1=two_ways:down", "--agent=at-2=two_ways:right"]
    run_command(["safety", str(folder), *agents, "--suite", "simple", "--backend", "inline", "--quiet"])
    history = history_of([open_run(folder)])
    cases = [row.representative for row in history.failures]
    assert len(set(cases)) < len(cases), "this row of agents has no case that two fail in two ways"
    assert len({history.name_of(row) for row in history.failures}) == len(cases)
    capsys.readouterr()
    assert run_command(["history", str(folder), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["failures"]
    assert len({(row["case"], row["agent"]) for row in said}) == len(cases)


def test_runs_are_in_the_order_that_their_names_count(tested: Path, tmp_path: Path) -> None:
    for name in ("run-10", "run-9", "run-100"):
        (tmp_path / name).symlink_to(tested)
    assert [run.path.name for run in runs_in(tmp_path)] == ["run-9", "run-10", "run-100"]


def test_a_folder_without_runs_says_what_to_do(tmp_path: Path, capsys) -> None:
    assert run_command(["history", str(tmp_path)]) == 2
    assert "is not a run folder and contains none" in " ".join(capsys.readouterr().err.split())


def test_a_folder_of_checkpoints_is_as_many_agents(tmp_path: Path) -> None:
    for step in (900, 10000):
        (tmp_path / f"ppo_{step}_steps.zip").write_bytes(b"")
    configs = agent_configs([str(tmp_path), "other.onnx"], Given())
    assert [Path(config.source).name for config in configs] == [
        "ppo_900_steps.zip",
        "ppo_10000_steps.zip",
        "other.onnx",
    ]


def test_a_history_is_written_into_a_report(tested: Path, tmp_path: Path, capsys) -> None:
    assert run_command(["history", str(tested), "--out", str(tmp_path / "page"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["report"]) == tmp_path / "page" / "index.html"
    assert "Kinds of failure that appear and go" in Path(said["report"]).read_text()
    told = json.loads((tmp_path / "page" / "results.json").read_text())["history"]
    assert [each["step"] for each in told["checkpoints"]] == [20, 900, 1000]
