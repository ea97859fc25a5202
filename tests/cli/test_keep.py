"""What failed once is kept as a suite for every later agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tightrope.agents import load_agent
from tightrope.cli import run_command
from tightrope.runs.questions.keeping import keep_failures
from tightrope.runs.run import open_run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import group_failures, load_suite, run_suite, save_suite
from tightrope.safety.suites.kept import kept_suite
from tightrope.tasks import make_task

LAKE = ["FrozenLake-v1", "--set", "is_slippery=false"]
ZIGZAG, CAREFUL = "zigzag=tests.sample_agents:zigzag", "careful=tests.sample_agents:careful"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        code = run_command([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which zigzag fails and careful does not."""
    folder = tmp_path_factory.mktemp("tested") / "run"
    assert run_command(["search", *LAKE, "--out", str(folder), "--quiet"]) == 0
    agents = ["--agent", ZIGZAG, "--agent", CAREFUL]
    suites = ["--suite", "simple", "--suite", "interval:1"]
    assert run_command(["safety", str(folder), *agents, *suites, "--backend", "inline", "--quiet"]) == 0
    return folder


def test_every_failure_group_is_kept_once_and_tests_the_next_agent(tested: Path, tmp_path: Path, run: Run) -> None:
    kept = tmp_path / "kept.suite.json"
    code, out, _ = run("keep", tested, "--groups", "--out", kept, "--trust", "--json")
    assert code == 0
    said = json.loads(out)
    suite = load_suite(kept)
    assert said["cases"] == len(suite) > 0
    assert all(case["as kept"] <= case["actions to it as found"] for case in said["kept"])
    gate = ["--max-fail", "0", "--backend", "inline", "--trust"]
    assert run("safety", kept, "--agent", ZIGZAG, *gate)[0] == 1
    assert run("safety", kept, "--agent", CAREFUL, *gate)[0] == 0
    assert run("safety", "--suite", kept, "--agent", CAREFUL, *gate)[0] == 0


def test_the_groups_are_those_of_the_report_and_controls_have_none(tested: Path) -> None:
    opened = open_run(tested)
    kept = keep_failures(opened)
    groups = group_failures(
        result for suite, row in opened.safety.items() if suite not in CONTROLS for result in row.values()
    )
    everything = group_failures(result for row in opened.safety.values() for result in row.values())
    assert len(kept.failures) + kept.left_out == len(groups) < len(everything)


def test_what_was_kept_before_stays_and_comes_once(tested: Path, tmp_path: Path, run: Run) -> None:
    kept, task = tmp_path / "kept.suite.json", make_task("FrozenLake-v1", is_slippery=False)
    run("keep", tested, "--out", kept, "--trust")
    first = load_suite(kept)
    code, out, _ = run("keep", tested, "--out", kept, "--trust", "--json")
    assert code == 0
    assert {case["in the suite"] for case in json.loads(out)["kept"]} == {"known"}
    assert load_suite(kept) == first
    longer = kept_suite(task, [first.reference.then([0, 0, 0])], earlier=first)
    assert longer.cases[:-1] == first.cases
    assert load_suite(save_suite(longer, tmp_path / "longer.suite.json")) == longer


def test_kept_cases_say_nothing_about_situations_in_general(tested: Path, tmp_path: Path, run: Run) -> None:
    kept = tmp_path / "kept.suite.json"
    run("keep", tested, "--out", kept, "--as-found")
    task = make_task("FrozenLake-v1", is_slippery=False)
    result = run_suite(task, load_agent("tests.sample_agents:zigzag", task), load_suite(kept))
    assert result.fail_frequency.value == 1
    assert result.fail_frequency_in_general.value is None
    assert "no sample" in result.fail_frequency_in_general.method


def test_nothing_to_keep_and_names_that_are_none(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "run"
    run("search", *LAKE, "--out", folder)
    run("safety", folder, "--agent", CAREFUL, "--suite", "simple", "--backend", "inline")
    code, _, error = run("keep", folder, "--out", tmp_path / "kept.suite.json", "--trust")
    assert code == 2
    assert "no situation to keep" in error
    code, _, error = run("keep", folder, "--out", tmp_path / "kept.json")
    assert code == 2
    assert "NAME.suite.json" in error
