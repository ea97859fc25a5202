"""The command line as a user meets it: what is printed, what is written, how it ends."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tightrope import __version__
from tightrope.cli import run_command
from tightrope.cli.arguments.given import Given
from tightrope.cli.arguments.options import agent_configs, task_options
from tightrope.cli.verbs.run import _why_no_cases
from tightrope.cli.verbs.search import _advice
from tightrope.errors import UnknownName
from tightrope.outcome import StopReason
from tightrope.references import SearchResult, SearchStats
from tightrope.runs.run import Run as StoredRun
from tightrope.runs.run import open_run
from tightrope.runs.storage.folder import RunFolder
from tightrope.settings import SearchConfig
from tightrope.tasks import make_task

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
    code, out, _ = run("run", "--resume", finished, "--trust")
    assert code == 0
    assert f"Report: {finished}/report/index.html" in " ".join(out.split())
    assert "zigzag" in out
    assert "interval:1" in out
    told = " ".join(out.split())
    assert "Watched for 20 steps after hand-over: the given length." in told
    for agent in ("zigzag", "careful"):
        assert f"{agent} fails" in told
    assert told.count("uniformly drawn states of the same references") == 2, "whether it pays or not"
    assert told.count("; after random prefixes ") == len(re.findall(r"; in plain episodes \d", told)) == 2
    valid = re.findall(r"; after random prefixes [^;]+ in the (\d+) of (\d+) that were valid", told)
    assert len(valid) == 2
    assert all(int(judged) < int(drawn) for judged, drawn in valid), "most end the episode themselves"
    for judged, drawn in valid:
        assert re.search(rf"random .*{judged} of {drawn}", told), "the table does not say that all were judged"
    *_, said, following = out.splitlines()
    assert said.startswith("✗ zigzag ends unsafe in every plain episode and fails in ")
    assert following.startswith(f"Watch: tightrope replay {finished} ")


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


def test_options_count_more_than_the_campaign_file(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(
        'task = "FrozenLake-v1"\noptions = { is_slippery = false }\n'
        '[[agents]]\nsource = "missing.onnx"\n'
        "[safety]\nrepetitions = 4\ncontrol = false\n[fuzzing]\nenabled = false\n[report]\nvideos = 0\n"
    )
    given = ["--agent", ZIGZAG, "--suite", "simple", "--max-fail", "0", "--length", "12", *SMALL]
    code, out, _ = run("run", file, "--out", tmp_path / "run", *given)
    assert code == 1
    assert "gate FAILED: zigzag, simple: fail frequency" in out
    stored = open_run(tmp_path / "run")
    config = stored.config
    assert (config.safety.suites, config.safety.length, config.safety.repetitions) == (("simple",), 12, 4)
    assert stored.manifest.command.startswith(f"tightrope run {file} --out")
    assert run("run", "--resume", tmp_path / "run", "--trust", "--max-fail", "1", *SMALL)[0] == 0
    code, _, err = run("run", "--resume", tmp_path / "run", "--trust", "--seed", "3")
    assert code == 2
    assert "seed was 0, now 3" in err


def test_a_second_agent_adds_to_a_run(finished: Path, tmp_path: Path, run: Run) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    before = open_run(folder).manifest
    third = ["--agent", "third=tests.sample_agents:zigzag", "--suite", "coverage:1", "--no-control"]
    assert run("safety", folder, *third, *SMALL)[0] == 0
    after = open_run(folder).manifest
    assert list(after.agents) == ["zigzag", "careful", "third"]
    assert {**after.artefacts, **before.artefacts} == after.artefacts
    assert after.config.safety.suites == ("simple", "interval:1", "coverage:1")
    assert run("report", folder, "--videos", "0")[0] == 0
    results = json.loads((folder / "report" / "results.json").read_text())["runs"][0]
    assert {(suite["suite"], suite["agent"]) for suite in results["suites"]} >= {
        ("simple", "zigzag"), ("simple", "careful"), ("coverage:1", "third"),
    }  # fmt: skip


def test_a_step_without_a_gate_leaves_the_runs_gate(finished: Path, tmp_path: Path, run: Run) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    assert run("run", "--resume", folder, "--trust", "--max-fail", "0.9", "--gate-on", "high", *SMALL)[0] == 0
    assert run("safety", folder, "--agent", CAREFUL, "--suite", "simple", *SMALL)[0] == 0, "no gate was asked for here"
    safety = open_run(folder).config.safety
    assert (safety.max_fail, safety.gate_on) == (0.9, "high")


def test_one_report_over_two_runs(finished: Path, tmp_path: Path, run: Run) -> None:
    other = shutil.copytree(finished, tmp_path / "other")
    code, out, _ = run(
        "report", finished, other, "--out", tmp_path / "both", "--videos", "0", "--title", "Both", "--json"
    )
    assert code == 0
    assert json.loads(out) == {"report": str(tmp_path / "both" / "index.html")}
    results = json.loads((tmp_path / "both" / "results.json").read_text())
    assert [entry["name"] for entry in results["runs"]] == ["run", "other"]


def test_two_processes_cannot_write_one_run(finished: Path, run: Run) -> None:
    with RunFolder.open(finished).locked():
        for command in (["run", "--resume", finished, "--trust"], ["report", finished], ["fuzz", finished]):
            code, _, err = run(*command)
            assert code == 3
            assert "is being written by process" in err


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


def test_replay_without_a_case_lists_the_fails(finished: Path, run: Run) -> None:
    code, out, _ = run("replay", finished, "--json")
    assert code == 0
    fails = json.loads(out)
    assert {fail["agent"] for fail in fails} == {"zigzag"}
    code, out, _ = run("replay", finished)
    assert all(isinstance(fail["fails"]["value"], float) for fail in fails), "numbers, not words"
    assert fails[0]["suite"] in ("simple", "interval:1"), "controls come last"
    assert f"Watch the worst: tightrope replay {finished} {fails[0]['case'][:8]}" in " ".join(out.split())
    assert f"{len(fails)} failing cases" in out
    assert re.search(rf"These are the 20 worst; {len(fails) - 20} others? (is|are) left out\.", out) or len(fails) <= 20


def test_one_case_is_told_with_the_number_that_the_report_calls_its_place_by(finished: Path, run: Run) -> None:
    fails = json.loads(run("replay", finished, "--json")[1])
    fail = next(fail for fail in fails if fail["place"] is not None)
    of = ("--suite", fail["suite"], "--agent", fail["agent"])
    named = f"{fail['agent']}, {fail['suite']}, place #{fail['place']}, case {fail['case']}: "
    for verb in ("replay", "explain"):
        assert " ".join(run(verb, finished, fail["case"], *of)[1].split()).startswith(named), verb


def test_replay_in_the_terminal_and_as_a_film(
    finished: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = json.loads(run("replay", finished, "--json")[1])[0]["case"]
    code, out, _ = run("replay", finished, case, "--terminal")
    assert code == 0
    assert "ends unsafe" in out
    assert "▀" in out
    code, out, _ = run("replay", finished, case, "--video", tmp_path / "fail.mp4", "--json")
    assert code == 0
    assert Path(json.loads(out)["film"]).stat().st_size > 500


def test_replay_says_when_the_environment_leads_elsewhere(finished: Path, tmp_path: Path, run: Run) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    case = json.loads(run("replay", folder, "--json")[1])[0]["case"]
    manifest = json.loads((folder / "run.json").read_text())
    manifest["config"]["options"] = {"is_slippery": True}
    (folder / "run.json").write_text(json.dumps(manifest))
    code, _, err = run("replay", folder, case)
    assert code == 3
    assert "no longer leads to that situation" in err


def test_replay_of_an_unknown_case(finished: Path, run: Run) -> None:
    code, _, err = run("replay", finished, "ffffffffffff")
    assert code == 2
    assert "begins with 'ffffffffffff'" in err
    assert "lists the fails" in err


def test_compare_sets_two_agents_side_by_side(finished: Path, run: Run) -> None:
    code, out, _ = run("compare", finished, "--agent-a", "careful", "--agent-b", "zigzag")
    assert code == 0
    assert "zigzag against careful" in out
    assert "Fails more often in simple" in out
    said = r"^✗ zigzag fails more plain episodes, .*fails \d+ cases that careful passes\.$"
    assert re.search(said, out, re.MULTILINE)
    assert "zigzag reaches the goal in 0% (" in " ".join(out.split()), "who stands still does no harm either"
    assert out.splitlines()[-1].startswith(f"Watch: tightrope replay {finished} ")
    better = run("compare", finished, "--agent-a", "zigzag", "--agent-b", "careful")[1]
    assert re.search(r"^✓ careful fails fewer plain episodes, ", better, re.MULTILINE), "plain episodes come first"
    code, out, _ = run("compare", finished, "--agent-a", "careful", "--agent-b", "zigzag", "--json")
    comparison = json.loads(out)["simple"]
    assert comparison["difference"]["value"] > 0
    assert comparison["cases"][0]["now"] > comparison["cases"][0]["before"]


def test_check_prints_how_the_environment_is_saved(run: Run) -> None:
    code, out, _ = run("check", "CartPole-v1")
    assert code == 0
    assert "attributes" in out
    assert "deterministic" in out


def test_a_task_of_the_users_own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    (tmp_path / "my_lakes.py").write_text(
        "import gymnasium as gym\n"
        "import tightrope as tr\n"
        "def lake(frozen: bool = True):\n"
        "    return tr.Task(name='lake', make_env=lambda: gym.make('FrozenLake-v1', is_slippery=not frozen),\n"
        "                   goal=lambda t: t.reward > 0, unsafe=lambda t: t.terminated and t.reward == 0)\n"
        "calm = lake()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert run("check", "my_lakes:calm")[0] == 0
    code, out, _ = run("search", "my_lakes:lake", "--set", "frozen=true", "--out", "run")
    assert code == 0
    assert "my_lakes:lake(frozen=True)" in out
    tested = ["safety", "run/", "--agent", ZIGZAG, "--suite", "simple", "--no-control", *SMALL]
    code, _, err = run(*tested)
    assert code == 2
    assert "run.json names code to run: task my_lakes:lake" in err
    assert run(*tested, "--trust")[0] == 0
    assert run("report", "run/", "--trust")[0] == 0
    assert "--agent zigzag --trust" in Path("run/report/summary.md").read_text()
    for wrong, message in [
        (["my_lakes:clam"], "Did you mean 'calm'"),
        (["my_lake:calm"], "no module 'my_lake'"),
        (["my_lakes.py:calm"], "named as Python imports it: my_lakes:calm"),
        (["./my_lakes.py:calm"], "named as Python imports it: my_lakes:calm"),
        (["my_lakes:lake", "--set", "frozen=maybe"], "is true or false, not 'maybe'"),
        (["my_lakes:lake", "--set", "frozn=true"], "Did you mean 'frozen'"),
    ]:
        code, _, err = run("check", *wrong)
        assert code == 2
        assert message in err


def test_a_run_whose_agents_are_code_goes_on_only_if_trusted(finished: Path, run: Run) -> None:
    code, _, err = run("run", "--resume", finished)
    assert code == 2
    assert "names code to run: agent tests.sample_agents:" in err
    assert "--trust" in err


def test_a_second_search_keeps_the_agents_the_suites_and_the_gate(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "run"
    assert run("search", *LAKE, "--out", folder)[0] == 0
    assert run("safety", folder, "--agent", ZIGZAG, "--suite", "simple", "--max-fail", "0", *SMALL)[0] == 1
    before = open_run(folder).manifest
    assert run("search", *LAKE, "--out", folder, "--probe-steps", "0")[0] == 0
    after = open_run(folder).manifest
    assert after.agents == before.agents
    assert after.config.safety == before.config.safety
    assert after.config.search.probe_steps == 0
    assert after.command == before.command, "the command that began it"
    code, _, err = run("search", "FrozenLake-v1", "--out", folder)
    assert code == 2
    assert "holds a run of FrozenLake-v1(is_slippery=False), not of FrozenLake-v1" in err


def test_tasks_lists_names_and_options(run: Run) -> None:
    code, out, _ = run("tasks", "--json")
    assert code == 0
    tasks = {task["name"]: task for task in json.loads(out)}
    assert {"FrozenLake-v1", "CartPole-v1", "mario"} <= set(tasks)
    assert all(task["summary"] for task in tasks.values())
    assert tasks["FrozenLake-v1"]["options"] == {"map_name": "4x4", "is_slippery": True}
    _, told, _ = run("tasks")
    assert {"map_name=4x4,", "is_slippery=true"} <= set(told.split()), "as they are typed"


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
        (["search", "FrozenLake-v1", "--set", "map_name=9x9"], "FrozenLake-v1: with the options map_name='9x9'"),
        (["check", "CartPole-v1", "--set", "max_episode_steps=many"], "to be an integer"),
        (["run", "FrozenLake-v1"], "which agent?"),
        (["run", "FrozenLake-v1", "--agent", ZIGZAG, "--gate-on", "high"], "give one, as in --max-fail"),
        (["run", "FrozenLake-v1", "--agent", ZIGZAG, "--until-decided"], "give one, as in --max-fail"),
        (
            ["run", "FrozenLake-v1", "--agent", ZIGZAG, "--until-decided", "--max-fail", "0.1", "--gate-on", "high"],
            "leave one of the two out",
        ),
        (["report", "run-a", "run-b"], "name it with --out"),
        (["run", "FrozenLake-v1", "--agent", "missing.onnx"], "missing.onnx"),
        (["run"], "Usage"),
        (["run", "none.yaml"], "none.yaml cannot be read"),
        (["run", "none.yaml", "--resume", "run"], "not both"),
        (["run", "--resume", "run", "--out", "other"], "leave out --out"),
        (["run", "FrozenLake-v1", "--epsilon", "0.5"], "go with --agent"),
        (["run", "FrozenLake-v1", "--agent", "tests.sample_agents:zigzag", "--suite", "simpel"], "mean 'simple'"),
        (["search", "FrozenLake-v1", "--method", "guess"], "no search method named 'guess'. Known: archive, auto"),
        (["search", "FrozenLake-v1", "--demonstration", "none.json"], "none.json"),
        (["search", "FrozenLake-v1", "--out", __file__], "Not a directory"),
        (["search", "mario", "--set", "levle=1-1"], "Did you mean 'level'"),
        (["init", "FrozenLake-v1", "--file", "none/campaign.yaml"], "none/campaign.yaml: No such file"),
        (["safety", __file__, "--agent", "a.onnx"], "not a JSON file"),
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


def test_misspelt_options_of_mario_are_told() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'level'"):
        make_task("mario", levle="1-1")


def test_help_does_not_wait_for_what_only_work_needs(tmp_path: Path) -> None:
    code = "import sys, tightrope.cli.app; print(sorted({'scipy', 'gymnasium', 'jinja2', 'numpy'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ended.stdout == "[]\n"


def test_a_report_films_as_much_as_the_run_says(finished: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = []

    def note(results: object, folder: Path, *, tasks: object, videos: int) -> Path:
        wanted.append(videos)
        return folder / "index.html"

    monkeypatch.setattr("tightrope.report.write_report", note)
    assert run("report", finished)[0] == 0
    assert run("report", finished, "--videos", "3")[0] == 0
    assert wanted == [0, 3]


def test_an_option_that_is_no_yaml_is_text() -> None:
    assert task_options(["a=[1", "b=4", "c=1-1", "d=@x"]) == {"a": "[1", "b": 4, "c": "1-1", "d": "@x"}


def test_an_agent_that_raises_is_said_with_its_error(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "run"
    assert run("search", *LAKE, "--out", folder)[0] == 0
    code, out, _ = run("safety", folder, "--agent", "tests.sample_agents:moody", "--suite", "simple", *SMALL)
    assert code == 3
    assert "moody, simple: " in out
    assert "executions raised errors and count neither as pass nor as fail; the first error was AgentFailure: " in out
    assert "not today" in out


def test_nothing_found_is_exit_code_3(tmp_path: Path, run: Run) -> None:
    code, out, _ = run("search", *LAKE, "--out", tmp_path / "run", "--method", "dfs", "--budget-steps", "2")
    assert code == 3
    assert "No reference was found; a larger --budget-steps, --method archive or a --demonstration may help." in out


def test_a_search_that_tried_all_it_can_tell_apart_says_what_that_means(tmp_path: Path, run: Run) -> None:
    """There is a way, but each step of it looks like the one before."""
    code, out, _ = run("search", "tests.cli.hidden_clock:task", "--out", tmp_path / "run")
    assert code == 3
    assert "space exhausted" in out
    assert "Every situation that the task's state_key tells apart was tried." in " ".join(out.split())
    code, out, _ = run("search", "tests.cli.hidden_clock:task_with_time", "--out", tmp_path / "with-time")
    assert code == 0
    assert "tells apart" not in out


@pytest.mark.parametrize(
    ("method", "stop_reason", "steps", "advice"),
    [
        ("archive", "budget spent", 50, "a larger --budget-steps or a --demonstration may help"),
        ("archive", "budget spent", 49, "a larger --budget-seconds or a --demonstration may help"),
        ("dfs", "space exhausted", 50, "--method archive or a --demonstration may help"),
        ("archive", "space exhausted", 50, "a --demonstration may help"),
    ],
)
def test_the_advice_fits_what_ended_the_search(method: str, stop_reason: str, steps: int, advice: str) -> None:
    result = SearchResult(
        reference=None,
        stop_reason=StopReason(stop_reason),
        stats=SearchStats(steps=steps),
        method=method,
        deterministic=True,
    )
    assert _advice(result, SearchConfig(steps=50)) == advice


@pytest.mark.parametrize(
    "verb",
    ["run", "search", "safety", "fuzz", "performance", "report", "replay", "compare", "check", "tasks", "init"],
)
def test_every_verb_helps_with_an_example(run: Run, verb: str) -> None:
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert f"Example: tightrope {verb}" in " ".join(out.split())


def test_json_output_is_json_and_nothing_else(finished: Path, run: Run) -> None:
    code, out, _ = run("run", "--resume", finished, "--trust", "--json")
    assert code == 0
    assert json.loads(out)["found_reference"] is True


def test_colours_go_off_when_asked(run: Run) -> None:
    _, out, _ = run("tasks", "--no-color")
    assert "\x1b[" not in out


def test_the_version(run: Run) -> None:
    assert run("--version")[1] == f"tightrope {__version__}\n"


def test_fail_if_worse_is_a_gate(finished: Path, run: Run) -> None:
    sides = ["--agent-a", "careful", "--agent-b", "zigzag", "--fail-if-worse"]
    code, out, _ = run("compare", finished, *sides, "--json")
    worse = any(suite["difference"]["low"] > 0 for suite in json.loads(out).values())
    assert code == int(worse)
    code, out, _ = run("compare", finished, "--fail-if-worse")
    assert code == 0, "the second agent is the careful one"
    assert "gate passed: careful, simple: not worse beyond doubt: on these cases it fails" in out


def test_cases_that_newly_fail_where_nothing_is_random_are_facts_and_fail_the_gate(finished: Path, run: Run) -> None:
    sides = ["--agent-a", "careful", "--agent-b", "zigzag"]
    code, out, _ = run("compare", finished, *sides, "--fail-if-worse")
    assert code == 1
    assert "newly failing cases, nothing is random there, so that is a fact" in out
    assert "exact" in out
    assert "no difference shown" not in out
    told = json.loads(run("compare", finished, *sides, "--json")[1])["simple"]
    assert (told["worse"], told["exact"], told["p_value"]) == (True, True, 0.0)
    assert told["newly_failing"]
    assert told["difference"]["question"] == "on these cases"


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent that fails in every plain episode and hardly ever within 40 steps of a boundary state, and one that is
    the other way round."""
    folder = tmp_path_factory.mktemp("drifted")
    late = Path(__file__).parents[2] / "agents" / "gallery" / "cartpole-late.onnx"
    (folder / "campaign.yaml").write_text(
        f"""
        task: CartPole-v1
        agents: [{{source: {late}, name: late}}, {{source: 'tests.sample_agents:drifting', name: drifting}}]
        plain: {{episodes: 20}}
        search: {{steps: 20000, probe_steps: 0}}
        safety: {{suites: [simple], length: 40, control: false}}
        fuzzing: {{enabled: false}}
        execution: {{backend: inline}}
        report: {{videos: 0}}
        """
    )
    assert run_command(["run", str(folder / "campaign.yaml"), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


def test_an_agent_that_fails_plainly_is_never_called_better(
    drifted: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # so that no cell is broken over lines
    sides = ["--agent-a", "late", "--agent-b", "drifting"]
    code, out, _ = run("compare", drifted, *sides, "--fail-if-worse")
    told = " ".join(out.split())
    assert code == 1
    assert told.startswith("In plain episodes drifting ends unsafe in 100%")
    assert "worse, whatever the suites below say" in told
    assert "fails less here" in told
    assert "better" not in told
    assert "✓" not in told
    assert "gate FAILED: drifting, plain episodes: worse beyond doubt: it ends unsafe" in told
    found = json.loads(run("compare", drifted, *sides, "--json")[1])
    assert found["plain episodes"]["worse"]
    assert found["simple"]["better"], "on these cases alone"
    code, out, _ = run("compare", drifted, "--agent-a", "drifting", "--agent-b", "late", "--fail-if-worse")
    assert code == 1, "what is better plainly is still worse on these cases"
    assert "late in 1.000" not in out


def test_a_gate_on_suites_alone_says_what_it_does_not_limit(drifted: Path, run: Run) -> None:
    code, out, _ = run("run", "--resume", drifted, "--max-fail", "0.2", "--trust")
    told = " ".join(out.split())
    assert told.index("Plain episodes") < told.index("Safety")
    assert "drifting passed on its suites, but ends unsafe in 100%" in told
    code, out, _ = run("run", "--resume", drifted, "--max-fail", "0.2", "--max-fail-plain", "0.2", "--trust")
    assert code == 1
    assert "gate FAILED: drifting, plain episodes" in out


def test_without_plain_episodes_it_is_said_that_they_were_not_compared(
    finished: Path, tmp_path: Path, run: Run
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    other = ["--agent", "other=tests.sample_agents:careful", "--suite", "simple", "--episodes", "0", *SMALL]
    assert run("safety", folder, *other)[0] == 0
    _, out, _ = run("compare", folder, "--agent-a", "zigzag", "--agent-b", "other")
    assert "No plain episodes of both zigzag and other" in " ".join(out.split())


WILD = ["--agent", "wild=tests.sample_agents:zigzag", "--epsilon", "0.4"]


def test_a_gate_stops_as_soon_as_it_is_decided_and_says_what_that_saved(
    finished: Path, tmp_path: Path, run: Run
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    gate = ["--suite", "simple", "--repetitions", "60", "--max-fail", "0.05", "--until-decided", *SMALL]
    code, out, _ = run("safety", folder, *WILD, *gate)
    assert code == 1
    assert "is above the allowed 5%; decided by" in " ".join(out.split())
    assert "saved" in out
    told = json.loads(run("safety", folder, *WILD, *gate, "--json")[1])["safety"]
    assert list(told) == ["simple"], "random cases beside it would cost more than the gate"
    decision = told["simple"]["wild"]["decision"]
    assert decision["passed"] is False
    assert decision["executions"] < 40 < decision["whole"]
    assert run("report", folder, "--videos", "0", "--trust")[0] == 0
    assert "executed only until the gate is decided" in (folder / "report" / "index.html").read_text()
    code, out, _ = run("compare", folder, "--agent-a", "careful", "--agent-b", "wild", "--trust", "--json")
    assert code == 0
    assert json.loads(out)["simple"]["errors"] == 0, "what the gate left out was executed now"


def test_a_whole_run_until_it_is_decided(tmp_path: Path, run: Run) -> None:
    given = [*WILD, "--suite", "simple", "--max-fail", "0.05", "--until-decided", *SMALL]
    file = tmp_path / "campaign.yaml"
    file.write_text(
        "task: FrozenLake-v1\noptions: {is_slippery: false}\nfuzzing: {enabled: false}\nreport: {videos: 0}\n"
    )
    code, out, _ = run("run", file, "--out", tmp_path / "run", *given)
    assert code == 1
    assert "decided by" in out
    again, out, _ = run("run", file, "--out", tmp_path / "run", *given)
    assert (again, "decided by" in out) == (1, True)


def test_the_command_that_began_a_run_goes_on_after_a_quick_look_at_a_gate(tmp_path: Path, run: Run) -> None:
    file, folder = tmp_path / "campaign.yaml", tmp_path / "run"
    file.write_text(
        "task: FrozenLake-v1\noptions: {is_slippery: false}\nfuzzing: {enabled: false}\nreport: {videos: 0}\n"
    )
    begun = ["run", file, "--out", folder, *WILD, "--suite", "simple", *SMALL, "--json"]
    _, before, _ = run(*begun)
    gate = ["--max-fail", "0.05", "--until-decided", *SMALL]
    assert run("safety", folder, *WILD, *gate)[0] == 1
    assert open_run(folder).safety["simple"]["wild"].stopped_early
    code, after, err = run(*begun)
    assert code == 0, err
    assert json.loads(after) == json.loads(before), "as if nobody had looked"
    code, _, err = run(*begun, "--length", "3")
    assert (code, "holds results of other settings" in err) == (2, True), "anything else is refused as ever"


def test_what_interval_is_missing_and_why_nothing_could_be_tested_is_said(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "run"
    run("search", *LAKE, "--out", folder)
    told = " ".join(run("safety", folder, "--agent", ZIGZAG, "--suite", "interval:1", *SMALL)[1].split())
    assert "In situations like these: one reference: nothing shows how others would differ" in told
    result = open_run(folder).safety["interval:1"]["zigzag"]
    assert len(result.distinct_cases) < len(result.cases), "neighbours share some"
    assert f"of the tests on these {len(result.distinct_cases)} cases" in told
    assert f" {len(result.distinct_cases)} " in next(line for line in told.split("──") if "zigzag interval:1" in line)


def test_without_boundary_states_machines_are_told_why_too(finished: Path, run: Run, tmp_path: Path) -> None:
    known = open_run(finished).references
    bare = [replace(reference, boundary_states=()) for reference in known]
    assert "No action was seen to lead into trouble" in _why_no_cases(cast(StoredRun, SimpleNamespace(references=bare)))
    assert "no suite could be made" in _why_no_cases(cast(StoredRun, SimpleNamespace(references=())))
    given = ["run", *LAKE, "--agent", CAREFUL, "--references", "1", "--suite", "simple", "--out", tmp_path / "run"]
    assert json.loads(run(*given, *SMALL, "--json")[1])["why_no_cases"] is None, "there are some"


def test_one_reference_cannot_tell_whether_an_agent_is_worse_in_general(
    finished: Path, tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "run"
    run("search", *LAKE, "--out", folder)
    run("safety", folder, "--agent", ZIGZAG, "--agent", CAREFUL, "--suite", "simple", *SMALL)
    code, out, _ = run("compare", folder, "--fail-if-worse", "in-general")
    assert code == 3
    assert "one reference: nothing shows how others would differ" in " ".join(out.split())
    sides = ["--agent-a", "careful", "--agent-b", "zigzag"]
    assert run("compare", "--fail-if-worse", finished, *sides)[0] == 1, "alone, it takes nothing for its value"
    assert run("compare", finished, *sides, "--fail-if-worse=sometimes")[0] == 2


def test_an_agent_that_raises_does_not_pass_for_one_that_is_no_worse(finished: Path, tmp_path: Path, run: Run) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    shaky = ["--agent", "shaky=tests.sample_agents:shaky", "--suite", "simple", "--suite", "interval:1"]
    assert run("safety", folder, *shaky, *SMALL)[0] in (0, 3)
    sides = ["--agent-a", "careful", "--agent-b", "shaky"]
    code, out, _ = run("compare", folder, *sides, "--json")
    assert code == 0, "without a gate it is only told"
    told = json.loads(out)
    assert any(suite["errors"] and suite["difference"]["value"] is not None for suite in told.values())
    assert all((suite["difference"]["low"] or 0) <= 0 for suite in told.values()), "what is left looks no worse"
    code, out, _ = run("compare", folder, *sides, "--fail-if-worse")
    assert code == 3
    assert "gate not judged: shaky" in out
    assert "executions raised errors" in out
    assert run("compare", folder, "--agent-a", "shaky", "--agent-b", "careful", "--fail-if-worse")[0] == 3, (
        "where the old agent raised, nothing says that the new one is no worse"
    )


@pytest.mark.parametrize(
    ("given", "named"),
    [("a.onnx", (None, "a.onnx")), ("late=a.onnx", ("late", "a.onnx")), ("lr=1/a.onnx", (None, "lr=1/a.onnx"))],
)
def test_an_agent_may_be_named_and_a_path_may_hold_an_equals_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, named: tuple[str | None, str]
) -> None:
    (tmp_path / "lr=1").mkdir()
    (tmp_path / "lr=1" / "a.onnx").touch()
    monkeypatch.chdir(tmp_path)
    (config,) = agent_configs([given], Given())
    assert (config.name, config.source) == named


def test_agents_with_odd_names_keep_their_results_apart(finished: Path, tmp_path: Path, run: Run) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    odd = [".", "..", "zig.json", "a b"]
    agents = [part for name in odd for part in ("--agent", f"{name}=tests.sample_agents:zigzag")]
    suite = ["--suite", "simple", "--no-control", *SMALL]
    assert run("safety", folder, *agents, *suite)[0] == 0
    assert run("safety", folder, "--agent", "a-b=tests.sample_agents:careful", *suite)[0] == 0
    assert run("report", folder, "--videos", "0")[0] == 0
    suites = json.loads((folder / "report" / "results.json").read_text())["runs"][0]["suites"]
    found = {one["agent"]: one["fail_frequency"]["value"] for one in suites if one["suite"] == "simple"}
    assert {found[name] for name in odd} == {found["zigzag"]}
    assert found["a-b"] == found["careful"] != found["zigzag"]
