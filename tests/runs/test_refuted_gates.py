"""A gate that was decided while a proof of doom was believed is open, or decided again, once the proof is refuted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tightrope.report import write_report
from tightrope.runs.campaign import run_campaign, working_on
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.gates import Evidence, Gate, judged_gates
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.run import Run, open_run
from tightrope.safety import GateDecision, SafetyResult

SUITE = "coverage:1"
NOISY = {"source": "tests.runs.aliased:hasty", "name": "noisy", "epsilon": 0.001}
"""It is no function of what it sees, so that its gate is decided by draws."""
CLEVER = {"source": "tests.runs.aliased:clever", "name": "clever"}
"""It survives what a key that lies has proven to be doomed."""


def config(*agents: dict[str, object], until_decided: bool = True) -> CampaignConfig:
    return CampaignConfig.model_validate(
        {
            "task": "tests.runs.aliased:aliased",
            "agents": agents,
            "plain": {"episodes": 0},
            "search": {"references": 1},
            "safety": {"suites": [SUITE], "max_fail": 0.1, "until_decided": until_decided, "control": False},
            "fuzzing": {"enabled": False},
            "performance": {"enabled": False},
            "execution": {"backend": "inline"},
            "report": {"videos": 0},
        }
    )


def campaign(folder: Path, *agents: dict[str, object]) -> Run:
    run_campaign(config(*agents), folder)
    return open_run(folder, trust=True)


def joined(folder: Path, agent: dict[str, object], *, until_decided: bool = True) -> tuple[Run, SafetyResult, Gate]:
    """What ``tightrope safety RUN --agent`` does."""
    asked = config(agent, until_decided=until_decided)
    with working_on(folder, asked, joins=True) as pipeline:
        found = pipeline.with_engine(pipeline.safety)
    (gate,) = judged_gates(asked, Evidence(safety=found))
    return open_run(folder, trust=True), found[SUITE][str(agent["name"])], gate


def decision_of(run: Run, agent: str) -> GateDecision:
    decision = run.safety[SUITE][agent].decision
    assert decision is not None
    return decision


def gate_of(run: Run, agent: str) -> Gate:
    (gate,) = (gate for gate in run.gates if gate.agent == agent)
    return gate


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return campaign(tmp_path_factory.mktemp("alone") / "run", NOISY)


def test_while_nobody_refutes_it_the_proof_excuses(alone: Run) -> None:
    decision = decision_of(alone, "noisy")
    assert decision.left_out
    assert decision.stands
    assert decision.passed is True
    assert gate_of(alone, "noisy").passed is True


def test_beside_an_agent_that_refutes_it_the_gate_is_decided_again(alone: Run, tmp_path: Path) -> None:
    run = campaign(tmp_path / "both", NOISY, CLEVER)
    decision = decision_of(run, "noisy")
    assert (decision.left_out, decision.stands) == ((), True)
    # It fails in the room, which counts now, and was never asked there before.
    assert decision.passed is False
    assert gate_of(run, "noisy").passed is False
    asked = {case.case.id for case in run.safety[SUITE]["noisy"].distinct_cases if case.episodes}
    assert set(decision_of(alone, "noisy").left_out) <= asked
    stored = run.path / "2-safety" / "noisy" / "coverage-1.json"
    before = stored.stat().st_mtime_ns
    again = campaign(tmp_path / "both", NOISY, CLEVER)
    assert stored.stat().st_mtime_ns == before, "what was decided again stays decided"
    assert decision_of(again, "noisy") == decision


def test_refuted_later_the_gate_is_open_everywhere_until_it_is_tested_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    campaign(folder, NOISY)
    joined(folder, CLEVER)
    run = open_run(folder, trust=True)
    decision, gate = decision_of(run, "noisy"), gate_of(run, "noisy")
    assert decision.passed is None
    assert gate.passed is None
    assert gate.detail.startswith("no data for the fail frequency on these cases: open, as other cases count")
    assert run.safety[SUITE]["noisy"].fail_frequency.low is None
    write_report(report_results([run]), tmp_path / "report")
    (row,) = (
        row for row in json.loads((tmp_path / "report" / "results.json").read_text())["runs"][0]["gates"]
        if row["agent"] == "noisy"
    )  # fmt: skip
    assert row["passed"] is None
    junit, summary = ((tmp_path / "report" / name).read_text() for name in ("junit.xml", "summary.md"))
    assert "noisy** never failed in the tests drawn from these 3 cases" in summary, "one of four was left out"
    assert "open, as other cases count now" in junit
    assert SafetyResult.from_json(run.safety[SUITE]["noisy"].to_json()).decision == decision
    # The same command as in the beginning decides it with what is known by now.
    resumed, result, gate = joined(folder, NOISY)
    assert gate.passed is False
    assert result.decision == decision_of(resumed, "noisy")
    assert gate_of(resumed, "noisy").passed is False


def test_an_agent_that_joins_a_run_is_not_excused_by_what_was_refuted_before(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    campaign(folder, CLEVER)
    _, stopped, gate = joined(folder, NOISY)
    assert stopped.decision is not None
    assert (stopped.decision.left_out, gate.passed) == ((), False)
    run, whole, gate = joined(folder, NOISY, until_decided=False)
    assert "doomed" not in gate.detail
    assert gate.passed is False
    assert whole.doomed_fails == 0
    assert gate_of(run, "noisy").detail == gate.detail


def test_an_exact_gate_is_judged_by_what_is_known_now(tmp_path: Path) -> None:
    dumb = {"source": "tests.runs.aliased:dumb", "name": "dumb"}
    before = decision_of(campaign(tmp_path / "alone", dumb), "dumb")
    run = campaign(tmp_path / "both", dumb, CLEVER)
    after = decision_of(run, "dumb")
    assert before.exact
    assert after.exact
    assert before.draws < after.draws
    assert after.passed is gate_of(run, "dumb").passed
