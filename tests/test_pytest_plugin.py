"""The plugin, in a pytest of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

# Imported here, because pytester forgets what its own runs import, and numpy cannot be loaded twice.
import tightrope.campaign.whole  # noqa: F401

pytest_plugins = ["pytester"]

PREPARE = """
import sys
sys.path.insert(0, {root!r})
"""
ROOT = str(Path(__file__).parent.parent)


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
    project.runpytest_inprocess("-p", "no:xdist").assert_outcomes(passed=1)
    kept = list((project.path / ".pytest_cache" / "d" / "tightrope").iterdir())
    assert len(kept) == 1
    found = kept[0] / "1-search" / "reference.json"
    made = found.stat().st_mtime_ns
    project.runpytest_inprocess("-p", "no:xdist").assert_outcomes(passed=1)
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
    result = project.runpytest_inprocess("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*boundary state * fails 1*", "*tightrope replay *"])


def test_suite_files_are_collected_when_there_is_an_agent(project: pytest.Pytester) -> None:
    import tightrope as tr
    from tightrope.safety import save_suite

    task = tr.make_task("FrozenLake-v1", is_slippery=False)
    reference = tr.search(task).reference
    assert reference is not None
    reference = tr.probe_boundary(task, reference)
    save_suite(tr.simple_suite(reference), project.path / "lake.suite.json")
    states = len(reference.boundary_states)

    careful = project.runpytest_inprocess("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:careful")
    careful.assert_outcomes(passed=states)
    zigzag = project.runpytest_inprocess("-p", "no:xdist", "--tightrope-agent", "tests.sample_agents:zigzag")
    assert zigzag.parseoutcomes().get("failed", 0) > 0
    zigzag.stdout.fnmatch_lines(["*falls in * of the executions at boundary state*"])
    assert project.runpytest_inprocess("-p", "no:xdist").ret == pytest.ExitCode.NO_TESTS_COLLECTED
