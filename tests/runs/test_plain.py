from __future__ import annotations

import pytest

from tests.runs.conftest import CONFIG
from tightrope.runs.campaign import run_campaign
from tightrope.runs.measurements import PLAIN
from tightrope.runs.run import open_run


def with_plain(**changes):
    """A run of little else: what comes after plain episodes is tested elsewhere."""
    less = {
        "safety": CONFIG.safety.changed(suites=("simple",), control=False, explain_steps=0),
        "fuzzing": CONFIG.fuzzing.changed(enabled=False),
    }
    return CONFIG.model_copy(update={"plain": CONFIG.plain.changed(**changes), **less})


def test_a_campaign_begins_with_plain_episodes_that_are_stored_and_read_again(tmp_path) -> None:
    run = run_campaign(with_plain(episodes=12), tmp_path)
    found = run.plain
    assert set(found) == set(run.agents)
    for name, evaluation in open_run(tmp_path).plain.items():
        assert evaluation == found[name]
        assert evaluation.unsafe_rate == found[name].unsafe_rate


def test_they_are_not_played_again_and_more_of_them_are_other_results(tmp_path) -> None:
    first = run_campaign(with_plain(episodes=12), tmp_path)
    again = run_campaign(with_plain(episodes=12), tmp_path)
    assert again.plain == first.plain
    with pytest.raises(Exception, match=r"plain\.episodes was 12, now 13"):
        run_campaign(with_plain(episodes=13), tmp_path)


def test_the_gate_on_plain_episodes(tmp_path) -> None:
    run = run_campaign(with_plain(episodes=12, max_fail=0.0), tmp_path)
    gates = [gate for gate in run.gates if gate.suite == PLAIN]
    assert {gate.agent for gate in gates} == set(run.agents)
    for gate in gates:
        assert gate.passed is (run.plain[gate.agent].unsafe_rate.value == 0)


def test_none_are_played_when_none_are_asked_for(tmp_path) -> None:
    assert run_campaign(with_plain(episodes=0), tmp_path).plain == {}
