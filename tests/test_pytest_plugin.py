"""The plugin, in a pytest of its own."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, reference_of, walker
from tightrope.pytest_plugin.messages import (
    PROPERTY,
    describe_failures,
    executions_at,
    executions_without_fail,
    say_plainly,
    told_too_few,
)
from tightrope.safety import save_suite
from tightrope.statistics import Estimate, rate_estimate
from tightrope.testing import ConstantAgent

pytest_plugins = ["pytester"]

PREPARE = """
import sys
sys.path.insert(0, {root!r})
"""
ROOT = str(Path(__file__).parent.parent)


@pytest.fixture(scope="module", autouse=True)
def suite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made before pytester looks which modules are loaded: it forgets those that come later."""
    task = tr.make_task("FrozenLake-v1", is_slippery=False)
    reference = tr.search(task).reference
    assert reference is not None
    path = tmp_path_factory.mktemp("suite") / "lake.suite.json"
    save_suite(tr.simple_suite(tr.probe_boundary(task, reference)), path)
    return path


@pytest.fixture
def installed(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with every plugin that is installed, found by its entry point."""
    pytester.makeconftest(PREPARE.format(root=ROOT))
    return pytester


@pytest.fixture
def project(installed: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """One with the plugin alone: the others that are installed here take a third of each test's time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "tightrope.pytest_plugin")
    return installed


def test_a_safe_agent_passes_and_the_search_is_kept(installed: pytest.Pytester) -> None:
    project = installed
    project.makepyfile(
        """
        def test_agent_is_safe(tightrope):
            result = tightrope.safety(
                "FrozenLake-v1", is_slippery=False, agent="tests.sample_agents:careful", suite="interval:1", length=20
            )
            assert result.fail_frequency.high < 0.10
        """
    )
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)
    kept = list((project.path / ".pytest_cache" / "d" / "tightrope").iterdir())
    assert len(kept) == 1
    found = kept[0] / "1-search" / "reference.json"
    made = found.stat().st_mtime_ns
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)
    assert found.stat().st_mtime_ns == made


def test_a_failing_test_names_the_fails_and_how_to_replay_them(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.tightrope(length=20, repetitions=2)
        def test_agent_is_safe(tightrope):
            result = tightrope.safety("FrozenLake-v1", is_slippery=False, agent="tests.sample_agents:zigzag")
            assert result.fail_frequency.value == 0
        """
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*fails in *% (exact, n = *) on these cases; avoidable: *% (exact, n = *)",
            "*case *, place #* fails in 100%*, avoidable: At step * would have survived*",
            "*tightrope replay .pytest_cache/d/tightrope/*",
        ]
    )
    told = [line for line in result.outlines if line.startswith("  case ")]
    assert len({line.split(",")[0] for line in told}) == len(told), "each case once"
    assert sum("tightrope replay" in line for line in result.outlines) == len(told)


def test_a_function_is_told_how_to_be_named(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_agent_is_safe(tightrope):
            tightrope.safety("FrozenLake-v1", is_slippery=False, agent=lambda observation: 1)
        """
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*agent= takes what --agent takes, *, not <function *make_agent'*"])


def test_too_few_executions_say_how_many_it_takes() -> None:
    (told,) = told_too_few(rate_estimate(0, 8))
    assert "No fail in 8 executions leaves the upper limit at 37%." in told
    assert "below 10%, 5% or 1% takes about 36, 72 or 368 executions without a fail" in told
    for limit in (0.1, 0.05, 0.01):
        needed = executions_without_fail(limit)
        enough, before = rate_estimate(0, needed).high, rate_estimate(0, needed - 1).high
        assert enough is not None
        assert before is not None
        assert enough <= limit < before
    assert list(told_too_few(Estimate.certain(0.0))) == [], "exact: nothing more would be found"
    assert list(told_too_few(rate_estimate(3, 8))) == [], "above every limit already"
    (told,) = told_too_few(rate_estimate(4, 100))
    assert "With 100 executions the upper limit is 9.9%" in told
    needed = executions_at(0.04, 0.05)
    assert f"To bring it below 5% takes about {needed:,} executions if" in told
    enough, before = (
        rate_estimate(round(0.04 * needed), needed).high,
        rate_estimate(round(0.036 * needed), needed * 9 // 10).high,
    )
    assert enough is not None
    assert before is not None
    assert enough < 0.051
    assert before > 0.05


def test_each_case_is_told_by_its_own_steps_and_not_by_its_groups() -> None:
    result = tr.run_suite(CORRIDOR, walker, tr.interval_suite(reference_of(CORRIDOR), 1))
    group = max(result.failure_groups, key=lambda group: len(group.members))
    names = [member.case.id for member in group.members]
    assert len(names) > 1
    # The same mistake in the same situation, which each of them comes to at a step of its own.
    steps = {name: 100 + place for place, name in enumerate(names)}
    explanations = {name: replace(why, depth=steps.get(name, why.depth)) for name, why in result.explanations.items()}
    told = describe_failures(replace(result, explanations=explanations), Path("run"), CORRIDOR)
    for name, step in steps.items():
        (line,) = [line for line in told.splitlines() if line.startswith(f"  case {name[:8]}")]
        assert f"At step {step} it chose" in line


def test_two_agents_on_one_task_can_both_be_replayed(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize(("name", "suite"), [("zigzag", "simple"), ("careful", "interval:1")])
        @pytest.mark.tightrope(length=20, repetitions=1)
        def test_agent(tightrope, name, suite):
            tightrope.safety("FrozenLake-v1", is_slippery=False, agent=f"tests.sample_agents:{name}", suite=suite)
        """
    )
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=2)
    (folder,) = (project.path / ".pytest_cache" / "d" / "tightrope").iterdir()
    manifest = json.loads((folder / "run.json").read_text())
    assert set(manifest["agents"]) == {"zigzag", "careful"}
    assert set(manifest["config"]["safety"]["suites"]) == {"simple", "interval:1"}
    listed = project.run(sys.executable, "-m", "tightrope", "replay", str(folder), "--agent", "zigzag", "--json")
    assert json.loads(listed.stdout.str())


def test_suite_files_are_collected_when_there_is_an_agent(suite_file: Path, project: pytest.Pytester) -> None:
    shutil.copy(suite_file, project.path)
    states = len(tr.load_suite(suite_file).depths)

    careful = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:careful")
    careful.assert_outcomes(passed=states)
    zigzag = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:zigzag")
    assert zigzag.parseoutcomes().get("failed", 0) > 0
    zigzag.stdout.fnmatch_lines(
        [
            "*fails too often at place #1: fail frequency * is above*",
            "*fails in 100%*",
            "*tightrope replay *",
        ]
    )
    command = next(line for line in zigzag.outlines if "tightrope replay" in line)
    replayed = project.run(sys.executable, "-m", *shlex.split(command), "--json")
    assert json.loads(replayed.stdout.str())["outcome"] == "unsafe"


def test_suite_files_are_skipped_aloud_without_an_agent(suite_file: Path, project: pytest.Pytester) -> None:
    shutil.copy(suite_file, project.path)
    (project.path / "other.json").write_text("{}")
    skipped = project.runpytest_subprocess("-p", "no:xdist", "-rs")
    skipped.assert_outcomes(skipped=1)
    skipped.stdout.fnmatch_lines(["SKIPPED*no agent: name one with --tightrope-agent or tightrope_agent"])


def test_an_agent_that_raises_fails_suite_files(suite_file: Path, project: pytest.Pytester) -> None:
    """Skipped, it would pass for an agent about which nothing is known."""
    shutil.copy(suite_file, project.path)
    moody = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:moody")
    moody.assert_outcomes(failed=len(tr.load_suite(suite_file).depths))
    moody.stdout.fnmatch_lines(["*execution raised errors, the first with AgentFailure: agent 'moody'*not today*"])


@pytest.mark.parametrize(
    ("name", "named"),
    [
        (
            "tests.cli.leaving:exits",
            "*execution raised errors, the first with AgentFailure: agent 'exits' called sys.exit*",
        ),
        ("tests.cli.leaving_at_once:agent", "*importing its module tests.cli.leaving_at_once called sys.exit(0)*"),
    ],
)
def test_an_agent_that_exits_fails_suite_files(
    suite_file: Path, project: pytest.Pytester, name: str, named: str
) -> None:
    shutil.copy(suite_file, project.path)
    gone = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", name)
    gone.assert_outcomes(failed=len(tr.load_suite(suite_file).depths))
    gone.stdout.fnmatch_lines([named])


def test_an_agent_that_raises_now_and_then_fails_the_fixture(project: pytest.Pytester) -> None:
    """On the executions that are left, any assertion might hold."""
    project.makepyfile(
        fickle="""
        from tests import sample_agents

        def make():
            careful = sample_agents.careful()
            def answer(observation):
                if int(observation) == 8:
                    raise RuntimeError("not here")
                return careful(observation)
            return answer
        """,
        test_agent="""
        def test_agent_is_safe(tightrope):
            result = tightrope.safety("FrozenLake-v1", is_slippery=False, agent="fickle:make", suite="interval:1")
            assert result.fail_frequency.value < 0.5
        """,
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *CouldNotTest: * execution* raised errors, the first with AgentFailure: agent 'make'*not here*",
            "*make on FrozenLake-v1*: fails in *%*",
        ]
    )


LAKES = """
    import gymnasium
    import tightrope

    def lake(rows):
        return tightrope.Task(
            name="lake",
            make_env=lambda: gymnasium.make("FrozenLake-v1", desc=rows, is_slippery=False),
            goal=lambda transition: transition.terminated and transition.reward > 0,
            unsafe=lambda transition: transition.terminated and transition.reward == 0,
        )

    whole = lake(["SFF", "FFF", "FFG"])
    thin = lake(["SFFF", "FHFH", "FFFH", "HFFG"])
"""


def test_the_fixture_fails_where_nothing_can_be_judged(project: pytest.Pytester) -> None:
    project.makepyfile(
        lakes=LAKES,
        test_agent="""
        def test_agent_is_safe(tightrope):
            result = tightrope.safety("lakes:whole", agent="tests.sample_agents:zigzag")
            assert result.fail_frequency.high < 0.10
        """,
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *CouldNotTest: no data: not one execution of the suite 'simple' on lakes:whole was judged*"]
    )
    result.stdout.no_fnmatch_line("*TypeError*")


def test_a_task_that_is_code_is_replayed_by_the_command_shown(project: pytest.Pytester) -> None:
    project.makepyfile(
        lakes=LAKES,
        test_agent="""
        def test_agent_is_safe(tightrope):
            result = tightrope.safety("lakes:thin", agent="tests.sample_agents:zigzag", length=20, repetitions=1)
            assert result.fail_frequency.value == 0
        """,
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    command = next(line for line in result.outlines if "tightrope replay" in line)
    assert command.endswith(" --trust")
    replayed = project.run(sys.executable, "-m", *shlex.split(command), "--json")
    assert json.loads(replayed.stdout.str())["outcome"] == "unsafe"


def test_an_agent_that_is_not_there_is_said_without_a_traceback(suite_file: Path, project: pytest.Pytester) -> None:
    shutil.copy(suite_file, project.path)
    result = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "nope.onnx")
    result.assert_outcomes(failed=len(tr.load_suite(suite_file).depths))
    result.stdout.fnmatch_lines(["*nope.onnx*"])
    result.stdout.no_fnmatch_line("*.py:*")


def test_a_damaged_suite_file_is_said_without_a_traceback(project: pytest.Pytester) -> None:
    (project.path / "lake.suite.json").write_text("{")
    result = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "nope.onnx")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*lake.suite.json*"])
    result.stdout.no_fnmatch_line("*.py:*")


def test_a_mistake_in_the_call_shows_the_call_and_nothing_below_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_agent_is_safe(tightrope):
            tightrope.safety("FrozenLake-v1", agent="nope.onnx", behaviour="gredy")
        """
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *UsageError: 'agents.0.behaviour' is 'gredy': it must be greedy or sampled*"])
    result.stdout.no_fnmatch_line("*pytest_plugin*.py:*")


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("tightrope_max_fail", "110%", "a number from 0 to 1"),
        ("tightrope_max_fail", "nan", "a number from 0 to 1"),
        ("tightrope_max_fail", "10", "a number from 0 to 1"),
        ("tightrope_repetitions", "0", "a whole number from 1 on"),
        ("tightrope_length", "4.5", "a whole number from 1 on"),
    ],
)
def test_a_setting_that_is_no_number_is_said_once(
    project: pytest.Pytester, option: str, value: str, allowed: str
) -> None:
    project.makeini(f"[pytest]\n{option} = {value}\n")
    result = project.runpytest_subprocess("-p", "no:xdist")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = [line for line in result.errlines if line]
    assert len(told) == 1
    assert told[0].startswith(f"ERROR: {option} is {value!r}; allowed is {allowed}")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("repetitons=3", "There is no setting named 'repetitons'. Did you mean 'repetitions'?"),
        ("repetitions='three'", "repetitions must be a whole number, not 'three'"),
        ("max_fail=0.1", "There is no setting named 'max_fail'. Known: "),
        ("3", "settings need their names, as in repetitions=3, not 3 alone"),
    ],
)
def test_a_marker_that_is_wrong_is_said_in_one_line(project: pytest.Pytester, settings: str, told: str) -> None:
    project.makepyfile(
        f"""
        import pytest

        @pytest.mark.tightrope({settings})
        def test_agent_is_safe(tightrope):
            raise AssertionError("not reached")
        """
    )
    result = project.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"@pytest.mark.tightrope of *::test_agent_is_safe: {told}*"])
    result.stdout.no_fnmatch_line("*pydantic*")
    result.stdout.no_fnmatch_line("*another exception*")
    result.stdout.no_fnmatch_line("*.py:[0-9]*")


def test_the_fixture_works_without_the_cache(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_agent_is_safe(tightrope):
            result = tightrope.safety("FrozenLake-v1", is_slippery=False, agent="tests.sample_agents:careful", length=9)
            assert result.fail_frequency.value == 0
        """
    )
    project.runpytest_subprocess("-p", "no:xdist", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_suite_file_is_tested_anew_each_time(suite_file: Path, project: pytest.Pytester) -> None:
    shutil.copy(suite_file, project.path)
    test = ("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:careful")
    project.runpytest_subprocess(*test).assert_outcomes(passed=len(tr.load_suite(suite_file).depths))
    (folder,) = (project.path / ".pytest_cache" / "d" / "tightrope").iterdir()
    (folder / "2-safety" / "careful" / "simple.json").write_text("what an earlier run said")
    project.runpytest_subprocess(*test).assert_outcomes(passed=len(tr.load_suite(suite_file).depths))


def planted_suite(suite_file: Path, path: Path, task: str) -> int:
    """The suite under the name of another task; returns how many boundary states it has."""
    honest = tr.load_suite(suite_file)
    cases = tuple(replace(case, prefix=replace(case.prefix, task=task)) for case in honest.cases)
    save_suite(replace(honest, reference=replace(honest.reference, task=task), cases=cases), path)
    return len(honest.depths)


PLANTED = """
    import os
    import gymnasium
    import tightrope

    os.mkdir("owned")
    task = tightrope.make_task("FrozenLake-v1", is_slippery=False)
"""


def test_a_suite_file_imports_nothing_unless_it_is_trusted(suite_file: Path, project: pytest.Pytester) -> None:
    project.makepyfile(planted=PLANTED)
    states = planted_suite(suite_file, project.path / "lake.suite.json", "planted:task")
    test = ("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:careful")
    refused = project.runpytest_subprocess(*test)
    refused.assert_outcomes(failed=states)
    refused.stdout.fnmatch_lines(["*lake.suite.json names code to run: task planted:task.*with --tightrope-trust"])
    assert not (project.path / "owned").exists()
    project.runpytest_subprocess(*test, "--tightrope-trust").assert_outcomes(passed=states)
    assert (project.path / "owned").is_dir()


def test_a_pickled_agent_is_opened_only_when_it_is_trusted(suite_file: Path, project: pytest.Pytester) -> None:
    shutil.copy(suite_file, project.path)
    (project.path / "agent.pt").write_bytes(b"cos\nmkdir\n(X\x05\x00\x00\x00ownedtR.")
    states = len(tr.load_suite(suite_file).depths)
    test = ("-p", "no:xdist", "--tightrope-agent", "agent.pt")
    project.runpytest_subprocess(*test).assert_outcomes(failed=states)
    assert not (project.path / "owned").exists()
    project.makeini("[pytest]\ntightrope_trust = true\n")
    project.runpytest_subprocess(*test)
    assert (project.path / "owned").is_dir()


def test_a_suite_of_which_nothing_can_be_judged_fails(suite_file: Path, project: pytest.Pytester) -> None:
    """Skipped, it would pass."""
    suite = tr.load_suite(suite_file)
    into_the_hole = suite.reference.prefix(0).then((1, 2, 1, 1))
    invalid = tuple(replace(case, prefix=into_the_hole, kept=0) for case in suite.cases)
    path = save_suite(replace(suite, cases=invalid), project.path / "invalid.suite.json")
    save_suite(replace(suite, cases=()), project.path / "empty.suite.json")
    project.makepyfile(down="def make():\n    return lambda observation: 1\n")
    result = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "down:make")
    result.assert_outcomes(failed=len({case.boundary for case in invalid}) + 1)
    result.stdout.fnmatch_lines(
        [
            "nothing could be judged: the suite in empty.suite.json has no cases*",
            "nothing could be judged: all * cases of the suite 'simple' on FrozenLake-v1*are invalid*",
        ]
    )
    command = [sys.executable, "-m", "tightrope", "safety", str(path), "--agent", "down:make", "--backend", "inline"]
    assert project.run(*command).ret == 3
    assert project.run(*command, "--max-fail", "1").ret == 3


def test_how_an_agent_does_plainly_stands_beside_a_test_that_passes(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_agent_is_safe(tightrope):
            tightrope.safety("FrozenLake-v1", is_slippery=False, agent="tests.sample_agents:zigzag", length=20)
        """
    )
    result = project.runpytest_subprocess("-p", "no:xdist", "--junit-xml", "junit.xml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*tightrope: plain episodes*", "zigzag on FrozenLake-v1*: ends unsafe in 100% (*"])
    assert "ends unsafe in 100% (" in (project.path / "junit.xml").read_text()


def test_an_agent_that_stands_still_is_not_told_as_if_it_were_safe() -> None:
    task = tr.make_task("FrozenLake-v1", is_slippery=False)
    still = tr.evaluate(task, ConstantAgent(0, "still"), episodes=8)
    item = cast("pytest.Item", SimpleNamespace(user_properties=[]))
    told = say_plainly(item, still)
    assert ": never reaches the goal (all 8 plain episodes run out of time); ends unsafe in 0% (exact" in told
    assert item.user_properties == [(PROPERTY, told)]


def test_plain_episodes_of_a_suite_files_agent_have_a_limit_of_their_own(
    suite_file: Path, project: pytest.Pytester
) -> None:
    shutil.copy(suite_file, project.path)
    plainly = ["-p", "no:xdist", "-o", "tightrope_max_fail_plain=10%", "-k", "plain-episodes", "--tightrope-agent"]
    states = len(tr.load_suite(suite_file).depths)
    project.runpytest_subprocess(*plainly, "tests.sample_agents:careful").assert_outcomes(passed=1, deselected=states)
    zigzag = project.runpytest_subprocess(*plainly, "tests.sample_agents:zigzag")
    zigzag.assert_outcomes(failed=1, deselected=states)
    zigzag.stdout.fnmatch_lines(
        ["*zigzag fails too often in plain episodes: share of episodes that end unsafe 100*% is above*"]
    )
    none = project.runpytest_subprocess("-o", "tightrope_episodes=0", *plainly, "tests.sample_agents:zigzag")
    none.stdout.fnmatch_lines(["*limits nothing with tightrope_episodes = 0*"])
