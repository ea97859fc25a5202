"""The plugin, in a pytest of its own."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import tightrope as tr
from tightrope.safety import save_suite

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
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(PREPARE.format(root=ROOT))
    return pytester


def test_a_safe_agent_passes_and_the_search_is_kept(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_agent_is_safe(tightrope):
            result = tightrope.safety(
                "FrozenLake-v1", is_slippery=False, agent="tests.sample_agents:careful", suite="interval:1", length=20
            )
            assert result.fail_frequency.value == 0
        """
    )
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)
    kept = list((project.path / ".pytest_cache" / "d" / "tightrope").iterdir())
    assert len(kept) == 1
    found = kept[0] / "1-search" / "reference.json"
    made = found.stat().st_mtime_ns
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)
    assert found.stat().st_mtime_ns == made


def test_a_failing_test_names_the_falls_and_how_to_replay_them(project: pytest.Pytester) -> None:
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
    result.stdout.fnmatch_lines(["*boundary state * fails 1*", "*tightrope replay *"])


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
    assert set(manifest["suites"]) == {"simple", "interval:1"}
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
        ["*falls in * of the executions at boundary state*", "*fails 1*", "*tightrope replay *"]
    )
    command = next(line for line in zigzag.outlines if "tightrope replay" in line)
    replayed = project.run(sys.executable, "-m", *shlex.split(command), "--json")
    assert json.loads(replayed.stdout.str())["outcome"] == "unsafe"
    assert project.runpytest_subprocess("-p", "no:xdist").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_an_agent_that_raises_fails_suite_files(suite_file: Path, project: pytest.Pytester) -> None:
    """Skipped, it would pass for an agent about which nothing is known."""
    shutil.copy(suite_file, project.path)
    moody = project.runpytest_subprocess("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:moody")
    moody.assert_outcomes(failed=len(tr.load_suite(suite_file).depths))
    moody.stdout.fnmatch_lines(["*executions raised errors, the first with AgentFailure: agent 'moody'*not today*"])


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
