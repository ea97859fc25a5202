"""Agents that never met are compared on the union of their cases."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope.runs.measurements import PLAIN
from tightrope.runs.questions.contender import Contender
from tightrope.runs.questions.contest import compare_agents
from tightrope.runs.run import open_run
from tightrope.runs.storage.layout import CONTROLS
from tightrope.safety import compare_safety, run_suite

LAKE = ["FrozenLake-v1", "--set", "is_slippery=false"]
CAREFUL, ZIGZAG = "tests.sample_agents:careful", "tests.sample_agents:zigzag"


def run_of(folder: Path, agent: str, *suites: str, method: str = "dfs", seed: int = 0) -> Path:
    search = ["search", *LAKE, "--out", str(folder), "--method", method, "--seed", str(seed), "--quiet"]
    assert run_command(search) == 0
    chosen = [option for suite in suites for option in ("--suite", suite)]
    options = ["--backend", "inline", "--episodes", "4", "--trust", "--quiet"]
    assert run_command(["safety", str(folder), "--agent", agent, *chosen, *options]) == 0
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs on different ways through the lake, one agent each."""
    place = tmp_path_factory.mktemp("runs")
    old = run_of(place / "old", f"careful={CAREFUL}", "simple")
    new = run_of(place / "new", f"zigzag={ZIGZAG}", "simple", method="archive")
    assert open_run(old).reference != open_run(new).reference
    return old, new


def test_each_is_tested_with_what_only_the_other_knows(runs: tuple[Path, Path], capsys) -> None:
    old, new = runs
    assert run_command(["compare", str(old), str(new), "--trust", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {"simple of old", "simple of new"} <= set(said)
    from tightrope.agents import load_agent

    for path, label in ((old, "simple of old"), (new, "simple of new")):
        run = open_run(path)
        (known,) = run.safety["simple"].values()
        fresh = [
            run_suite(
                run.task,
                load_agent(source, run.task, name=name),
                known.suite,
                known.repetitions,
                known.length,
                known.seed,
            )
            for name, source in (("careful", CAREFUL), ("zigzag", ZIGZAG))
        ]
        direct = compare_safety(*fresh)
        assert said[label]["difference"] == direct.difference.to_json()
        assert said[label]["newly_failing"] == [case.case.id for case in direct.newly_failing]


def test_where_nothing_got_worse_the_next_command_shows_what_still_fails(runs: tuple[Path, Path], capsys) -> None:
    _, new = runs
    assert run_command(["compare", f"again={ZIGZAG}", "zigzag", "--in", str(new), "--trust"]) == 0
    told = " ".join("".join(capsys.readouterr()).split())
    assert re.search(r"Where it still fails: tightrope explain \S+ [0-9a-f]{8} --agent zigzag", told)


def test_agent_files_meet_in_a_run(runs: tuple[Path, Path], capsys) -> None:
    old, _ = runs
    command = ["compare", "careful", f"now={ZIGZAG}", f"also={CAREFUL}", "--in", str(old), "--trust"]
    assert run_command([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert set(said) == {"now", "also"}
    assert said["now"]["simple"]["newly_failing"]
    assert said["also"]["simple"]["difference"]["value"] == 0
    assert said["now"][PLAIN]["agent_b"] == "now"
    assert run_command([*command, "--fail-if-worse"]) == 1
    assert set(open_run(old).agents) == {"careful"}, "a comparison adds nobody to the run"


def test_the_clearest_regression_of_a_file_that_is_in_no_run_can_be_watched(runs: tuple[Path, Path], capsys) -> None:
    old, _ = runs
    assert run_command(["compare", "careful", f"now={ZIGZAG}", "--in", str(old), "--trust"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    command = shlex.split(out.partition("Watch: tightrope ")[2])[
        : len(["replay", "RUN", "CASE", "--agent", "A", "--trust"])
    ]
    assert command == ["replay", str(old), command[2], "--agent", f"now={ZIGZAG}", "--trust"]
    assert run_command([*command, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["agent"], shown["outcome"], shown["reproduced"]) == ("now", "unsafe", True)
    assert set(open_run(old).agents) == {"careful"}
    assert run_command(["replay", str(old), command[2], "--agent", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_a_regression_can_be_watched_in_whatever_run_its_case_is(runs: tuple[Path, Path], capsys) -> None:
    old, new = map(open_run, runs)
    contenders = [Contender.of_run(old, "careful", trust=True), Contender.of_run(new, "zigzag", trust=True)]
    (found,) = compare_agents(contenders)
    for suite, home in (("simple of old", old), ("simple of new", new)):
        worst, *_ = found.suites[suite].fails_more
        assert found.homes[suite].path == home.path
        capsys.readouterr()
        command = ["replay", str(home.path), worst.case.id, *found.naming[suite], "--json", "--trust"]
        assert run_command(command) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["agent"], shown["outcome"], shown["reproduced"]) == ("zigzag", "unsafe", True)


def test_agents_that_share_a_name_have_a_command_too(runs: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    old, _ = runs
    new = run_of(tmp_path / "new", f"careful={ZIGZAG}", "simple")
    capsys.readouterr()
    assert run_command(["compare", str(old), str(new), "--trust"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(rf"Watch: tightrope replay {new} [0-9a-f]{{8}} --agent careful", told)


def test_what_can_no_longer_be_loaded_is_compared_on_what_it_met(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    old, _ = runs
    module = tmp_path / "soon_gone.py"
    module.write_text(f"from {ZIGZAG.partition(':')[0]} import zigzag\n")
    monkeypatch.syspath_prepend(tmp_path)
    new = run_of(tmp_path / "new", "gone=soon_gone:zigzag", "simple")
    extra = ["--suite", "interval:1", "--backend", "inline", "--episodes", "4", "--quiet"]
    assert run_command(["safety", str(old), "--agent", f"careful={CAREFUL}", *extra]) == 0
    module.unlink()
    sys.modules.pop("soon_gone", None)
    capsys.readouterr()
    assert run_command(["compare", str(old), str(new), "--trust"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Only cases that both were tested on are compared" in out
    assert "newly failing" in out
    assert f"tightrope replay {new}" in out


def test_questions_that_are_none(runs: tuple[Path, Path], tmp_path: Path, capsys) -> None:
    old, _ = runs
    (tmp_path / "agent.onnx").write_bytes(b"")
    for arguments, said in (
        ([str(tmp_path / "agent.onnx"), str(old)], "agent.onnx"),
        (["careful", "--in", str(old)], "needs at least two agents"),
    ):
        assert run_command(["compare", *arguments]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_files_without_a_run_are_told_how_to_name_their_task(tmp_path: Path, capsys) -> None:
    old, new = (str(tmp_path / name) for name in ("old.onnx", "new one.onnx"))
    for each in (old, new):
        Path(each).write_bytes(b"")
    for named in ([old, new], [f"old={CAREFUL}", new]):
        assert run_command(["compare", *named]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "which task?" in told
        assert f"`tightrope compare {shlex.join(named)} --task TASK`" in told
        assert "--in RUN" in told


def test_files_meet_in_a_task_that_no_run_knows_yet(tmp_path: Path, capsys) -> None:
    run, task = tmp_path / "run", ["--task", *LAKE]
    files = [f"old={CAREFUL}", f"new={ZIGZAG}"]
    command = ["compare", *files, *task, "--out", str(run)]
    assert run_command([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["simple"]["newly_failing"]
    assert said[PLAIN]["agent_b"] == "new"
    tested = open_run(run)
    assert set(tested.agents) == {"old", "new"}
    row = tested.safety["simple"]
    assert said["simple"]["difference"] == compare_safety(row["old"], row["new"]).difference.to_json()
    # A second time nothing is tested again: the run is continued.
    assert run_command([*command, "--fail-if-worse"]) == 1
    told = "".join(capsys.readouterr())
    assert "worse" in told
    assert re.search(r"Watch: tightrope replay \S+ [0-9a-f]{8} --agent new", " ".join(told.split()))
    assert run_command(["compare", *reversed(files), *task, "--out", str(run), "--fail-if-worse"]) == 0


def test_a_file_is_compared_with_the_agent_of_a_run_beside_it(runs: tuple[Path, Path], capsys) -> None:
    old, _ = runs
    assert run_command(["compare", str(old), f"now={ZIGZAG}", "--trust", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["simple"]["newly_failing"]
    assert (said[PLAIN]["agent_a"], said[PLAIN]["agent_b"]) == ("careful", "now")
    assert set(open_run(old).agents) == {"careful"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "FrozenLake-v1", "--in", "run"], "give one of them"),
        (["--set", "is_slippery=false"], "go with --task"),
        (["--out", "run"], "go with --task"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], said: str, capsys) -> None:
    assert run_command(["compare", CAREFUL, ZIGZAG, *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_task_needs_two_agents_and_no_run(runs: tuple[Path, Path], capsys) -> None:
    for sides, said in (([CAREFUL], "needs at least two agents"), ([str(runs[0]), ZIGZAG], "leave out --task")):
        assert run_command(["compare", *sides, "--task", "FrozenLake-v1"]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_from_python_an_agent_in_memory_meets_the_agents_of_runs(runs: tuple[Path, Path]) -> None:
    old, new = map(tr.open_run, runs)
    mine = tr.load_agent(CAREFUL, old.task, name="mine")
    before = tr.Contender.of_run(old, "careful", trust=True)
    found = tr.compare_agents(
        [before, tr.Contender(name="again", run=old, load=lambda: mine), tr.Contender.of_run(new, "zigzag", trust=True)]
    )
    assert [(each.agent_a, each.agent_b) for each in found] == [("careful", "again"), ("careful", "zigzag")]
    same, other = found
    assert all(each.difference.value == 0 for each in same.suites.values())
    assert not same.worse
    assert not same.better
    assert other.worse
    assert mine.name == "mine", "the user's agent keeps its name"
    assert "simple" in repr(before)


def test_contenders_are_told_apart_by_name_and_must_be_in_their_run(runs: tuple[Path, Path]) -> None:
    run = tr.open_run(runs[0])
    twin = tr.Contender.of_run(run, "careful")
    with pytest.raises(tr.errors.UsageError, match="two contenders are called 'careful'"):
        tr.compare_agents([twin, twin])
    with pytest.raises(tr.errors.UsageError, match="nobody"):
        tr.Contender.of_run(run, "nobody")


def test_code_named_by_a_run_is_not_imported_unasked(runs: tuple[Path, Path]) -> None:
    old, new = map(tr.open_run, runs)
    (found,) = tr.compare_agents([tr.Contender.of_run(old, "careful", name="a"), tr.Contender.of_run(old, "careful")])
    assert found.executed == 0, "nothing had to be loaded"
    with pytest.raises(tr.errors.UsageError, match="trust"):
        tr.compare_agents([tr.Contender.of_run(old, "careful"), tr.Contender.of_run(new, "zigzag")])


def test_a_file_that_the_run_has_tested_brings_what_is_known_and_another_is_told_apart(
    runs: tuple[Path, Path], capsys
) -> None:
    old, _ = runs
    command = ["compare", "careful", f"careful={CAREFUL}", "--in", str(old), "--trust", "--epsilon", "0.3", "--json"]
    assert run_command(command) == 0
    assert f"careful={CAREFUL}" in capsys.readouterr().out, "it plays with noise, so it is not the one of the run"
    assert run_command([*command[:1], f"careful={CAREFUL}", f"z={ZIGZAG}", "--in", str(old), "--trust"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    missing = len(set(open_run(old).safety) - set(CONTROLS))
    assert f"{missing} time{'s' * (missing > 1)} a suite was run now" in said, "for the newcomer alone"


def test_a_file_that_the_run_has_tested_under_another_name_is_not_tested_again(runs: tuple[Path, Path], capsys) -> None:
    old, _ = runs
    assert run_command(["compare", f"z={ZIGZAG}", f"again={CAREFUL}", "--in", str(old), "--trust"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    missing = len(set(open_run(old).safety) - set(CONTROLS))
    assert f"{missing} time{'s' * (missing > 1)} a suite was run now" in said, "for z alone"
    assert "again against z" in said


def test_what_was_tested_with_other_seeds_is_tested_again_with_those_of_the_first(
    runs: tuple[Path, Path], tmp_path: Path, capsys
) -> None:
    old, _ = runs
    new = run_of(tmp_path / "new", f"zigzag={ZIGZAG}", "simple", seed=5)
    (suite,) = {result.suite.id for result in open_run(old).safety["simple"].values()}
    assert {result.suite.id for result in open_run(new).safety["simple"].values()} == {suite}
    sides = [Contender.of_run(open_run(path), agent, trust=True) for path, agent in ((old, "careful"), (new, "zigzag"))]
    (found,) = compare_agents(sides)
    assert found.executed == len(found.suites), "each of them was tested with other seeds"
    assert found.plain is not None
    assert found.suites["simple"].newly_failing
    assert found.homes["simple"].path == old, "the seeds of the comparison are there"
    assert run_command(["compare", str(old), str(new), "--trust"]) == 0
    assert f"tightrope replay {old}" in " ".join(capsys.readouterr().out.split())


def test_an_agent_that_must_be_tested_again_and_cannot_be_loaded_is_said_to_be_gone(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    old, _ = runs
    new = open_run(run_of(tmp_path / "new", f"zigzag={ZIGZAG}", "simple", seed=5))
    first = Contender.of_run(open_run(old), "careful")

    def gone() -> tr.Agent:
        raise tr.errors.UsageError("its file is gone")

    with pytest.raises(tr.errors.UsageError, match="its file is gone"):
        compare_agents([first, Contender.of_run(new, "zigzag", load=gone)])


def test_what_became_of_every_case_is_counted(runs: tuple[Path, Path], capsys) -> None:
    old, _ = runs
    assert run_command(["compare", "careful", f"now={ZIGZAG}", "--in", str(old), "--trust", "--json"]) == 0
    cases = json.loads(capsys.readouterr().out)["simple"]["cases"]
    more = sum(case["now"] > case["before"] for case in cases)
    same = sum(case["now"] == case["before"] for case in cases)
    assert more
    assert run_command(["compare", "careful", f"now={ZIGZAG}", "--in", str(old), "--trust"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"simple: of {len(cases)} cases {more} failed more often, 0 less often and {same} as often as before." in told
    )
