"""The command line as a user meets it: what is printed, what is written, how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tightrope.cli import run_command

LAKE = ["FrozenLake-v1", "--set", "is_slippery=false"]
ZIGZAG, CAREFUL = "zigzag=tests.sample_agents:zigzag", "careful=tests.sample_agents:careful"
SMALL = ["--backend", "inline"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> tuple[int, str, str]:
        code = run_command([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two agents."""
    file = tmp_path_factory.mktemp("campaign") / "campaign.yaml"
    file.write_text(
        "task: FrozenLake-v1\n"
        "options: {is_slippery: false}\n"
        "agents:\n"
        "  - {source: 'tests.sample_agents:zigzag', name: zigzag}\n"
        "  - {source: 'tests.sample_agents:careful', name: careful}\n"
        "safety: {suites: [simple, 'interval:1'], repetitions: 2, length: 20}\n"
        "fuzzing: {generations: 4, population: 8}\n"
        "performance: {tests: 3, episodes: 2, step_width: 3}\n"
        "execution: {backend: inline}\n"
        "report: {videos: 0}\n"
    )
    assert run_command(["run", str(file), "--out", str(file.parent / "run"), "--quiet"]) == 0
    return file.parent / "run"


def test_run_names_the_report(finished: Path, run: Run) -> None:
    code, out, _ = run("run", "--resume", finished)
    assert code == 0
    assert f"Report: {finished}/report/index.html" in " ".join(out.split())
    assert "zigzag" in out
    assert "interval:1" in out


def test_the_steps_one_by_one(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "run"
    code, out, _ = run("search", *LAKE, "--out", folder)
    assert code == 0
    assert "boundary states" in out
    code, out, _ = run("safety", folder, "--agent", ZIGZAG, "--suite", "simple", "--max-fail", "0.0", *SMALL)
    assert code == 1
    assert "gate FAILED: zigzag, simple" in out
    code, out, _ = run("safety", folder, "--agent", CAREFUL, "--suite", "simple", "--max-fail", "0.0", *SMALL)
    assert code == 0
    assert "gate passed" in out
    code, out, _ = run("fuzz", folder, "-g", "3", "-p", "6", *SMALL)
    assert code == 0
    assert "Control" in out
    code, out, _ = run("performance", folder, "--agent", ZIGZAG, "--tests", "2", "--episodes", "2", *SMALL)
    assert code == 0
    assert "prefix" in out
    code, out, _ = run("report", folder, "--videos", "0")
    assert code == 0
    assert (folder / "report" / "index.html").exists()


def test_a_suite_file_can_be_run_elsewhere(finished: Path, run: Run) -> None:
    suite = finished / "2-safety" / "interval-1.suite.json"
    code, out, _ = run("safety", suite, "--agent", CAREFUL, "--repetitions", "1", "--no-control", *SMALL)
    assert code == 0
    assert "interval:1" in out


def test_replay_says_that_the_environment_still_leads_there(finished: Path, run: Run) -> None:
    results = json.loads((finished / "report" / "results.json").read_text())
    case = next(
        case["id"] for suite in results["runs"][0]["suites"] for case in suite["cases"] if case["fails"]
    )  # fmt: skip
    code, out, _ = run("replay", finished, case[:10], "--json")
    assert code == 0
    replayed = json.loads(out)
    assert replayed["case"] == case
    assert replayed["outcome"] == "unsafe"
    assert replayed["reproduced"] is True


def test_replay_of_an_unknown_case(finished: Path, run: Run) -> None:
    code, _, err = run("replay", finished, "ffffffffffff")
    assert code == 2
    assert "begins with 'ffffffffffff'" in err
    assert "lists the falls" in err


def test_compare_sets_two_agents_side_by_side(finished: Path, run: Run) -> None:
    code, out, _ = run("compare", finished, "--agent-a", "careful", "--agent-b", "zigzag")
    assert code == 0
    assert "zigzag against careful" in out
    assert "Got worse in simple" in out
    code, out, _ = run("compare", finished, "--agent-a", "careful", "--agent-b", "zigzag", "--json")
    comparison = json.loads(out)["simple"]
    assert comparison["difference"]["value"] > 0
    assert comparison["cases"][0]["now"] > comparison["cases"][0]["before"]


def test_check_prints_how_the_environment_is_saved(run: Run) -> None:
    code, out, _ = run("check", "CartPole-v1")
    assert code == 0
    assert "attributes" in out
    assert "deterministic" in out


def test_tasks_lists_names_and_options(run: Run) -> None:
    code, out, _ = run("tasks", "--json")
    assert code == 0
    tasks = {task["name"]: task for task in json.loads(out)}
    assert {"FrozenLake-v1", "CartPole-v1", "mario"} <= set(tasks)
    assert all(task["summary"] for task in tasks.values())


def test_init_writes_a_file_that_runs(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "campaign.yaml"
    code, out, _ = run("init", *LAKE, "--file", file, "--schema", tmp_path / "schema.json")
    assert code == 0
    assert "tightrope run" in out
    assert json.loads((tmp_path / "schema.json").read_text())["title"] == "CampaignConfig"
    assert run("init", *LAKE, "--file", file)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "FrozenLak-v1"], "Did you mean 'FrozenLake-v1'"),
        (["search", "FrozenLake-v1", "--set", "slippery=true"], "is_slippery"),
        (["search", "FrozenLake-v1", "--set", "is_slippery"], "--set takes NAME=VALUE"),
        (["run", "FrozenLake-v1"], "which agent?"),
        (["run", "FrozenLake-v1", "--agent", "missing.onnx"], "missing.onnx"),
        (["run"], "Usage"),
        (["safety", "nowhere", "--agent", "a.onnx"], "nowhere"),
        (["compare", "nowhere"], "not a run folder"),
        (["report", "nowhere"], "not a run folder"),
    ],
)
def test_wrong_use_is_one_paragraph_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert code == 2
    assert message in " ".join((out + err).split())
    assert "Traceback" not in err


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tightrope", "search", "FrozenLak-v1", "--debug"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "Traceback" in ended.stderr


def test_nothing_found_is_exit_code_3(tmp_path: Path, run: Run) -> None:
    code, out, _ = run("search", *LAKE, "--out", tmp_path / "run", "--method", "dfs", "--budget-steps", "2")
    assert code == 3
    assert "No reference was found" in out


@pytest.mark.parametrize(
    "verb",
    ["run", "search", "safety", "fuzz", "performance", "report", "replay", "compare", "check", "tasks", "init"],
)
def test_every_verb_helps_with_an_example(run: Run, verb: str) -> None:
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert f"Example: tightrope {verb}" in " ".join(out.split())


def test_json_output_is_json_and_nothing_else(finished: Path, run: Run) -> None:
    code, out, _ = run("run", "--resume", finished, "--json")
    assert code == 0
    assert json.loads(out)["found_reference"] is True


def test_colours_go_off_when_asked(run: Run) -> None:
    _, out, _ = run("tasks", "--no-color")
    assert "\x1b[" not in out
