"""What one agent survives is doomed for none of the others either."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.aliased import BACK
from tightrope.reference import Survivability
from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.run import Run, open_run
from tightrope.safety import SafetyFindingKind, SafetyResult
from tightrope.safety.judging.agreement import agreeing_on_proofs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of the dumb agent alone, and one beside an agent that survives what is proven doomed by a key that lies."""
    folder = tmp_path_factory.mktemp("aliased")
    tested = {"alone": ["dumb"], "both": ["dumb", "clever"]}
    return {name: campaign(folder / name, agents) for name, agents in tested.items()}


def campaign(folder: Path, agents: list[str]) -> Run:
    run_campaign(
        CampaignConfig.model_validate(
            {
                "task": "tests.runs.aliased:aliased",
                "agents": [{"source": f"tests.runs.aliased:{name}", "name": name} for name in agents],
                "plain": {"episodes": 0},
                "search": {"references": 1},
                "safety": {"suites": ["coverage:1"], "max_fail": 0.05},
                "fuzzing": {"enabled": False},
                "performance": {"enabled": False},
                "execution": {"backend": "inline"},
                "report": {"videos": 0},
            }
        ),
        folder,
    )
    return open_run(folder, trust=True)


def result_of(run: Run, agent: str) -> SafetyResult:
    return run.safety["coverage:1"][agent]


def test_a_proof_that_another_agent_refutes_excuses_nobody(runs: dict[str, Run]) -> None:
    alone = result_of(runs["alone"], "dumb")
    beside, clever = (result_of(runs["both"], name) for name in ("dumb", "clever"))
    assert alone.survivability[Survivability.NO] > 0, "the key lies, and nobody has noticed"
    assert not alone.findings
    assert [finding.kind for finding in clever.findings] == [SafetyFindingKind.REFUTED_PROOF]
    assert beside.survivability[Survivability.NO] == 0
    (finding,) = beside.findings
    assert finding.text == f"clever refutes proofs in coverage:1: {clever.findings[0].text}"
    assert beside.avoidable_fail_frequency.value == beside.fail_frequency.value == alone.fail_frequency.value
    gates = {gate.agent: gate for gate in runs["both"].gates}
    assert "doomed" not in gates["dumb"].detail


def test_why_it_failed_is_not_told_by_such_a_proof(runs: dict[str, Run]) -> None:
    """In the hall all is said to be lost already, though who takes the detour survives."""

    def lost_before_hand_over(run: Run) -> bool:
        (hall,) = (
            case.case.id for case in result_of(run, "dumb").distinct_cases if case.case.prefix.actions == (BACK, BACK)
        )
        why = result_of(run, "dumb").explanations[hall]
        return why.proven and not why.agents_fault

    assert lost_before_hand_over(runs["alone"])
    assert not lost_before_hand_over(runs["both"])


def test_where_nothing_is_refuted_nothing_changes(runs: dict[str, Run]) -> None:
    results = runs["alone"].safety
    assert agreeing_on_proofs(results)["coverage:1"]["dumb"] is results["coverage:1"]["dumb"]
