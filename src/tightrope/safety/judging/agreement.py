"""Several agents, one world: what one of them survived is doomed for none."""

from __future__ import annotations

from dataclasses import replace

from tightrope.reference import Survivability
from tightrope.safety.judging.findings import SafetyFinding, SafetyFindingKind
from tightrope.safety.judging.judge import judge_suite
from tightrope.safety.judging.results import ResultsBySuite, SafetyResult


def agreeing_on_proofs(results: ResultsBySuite) -> dict[str, dict[str, SafetyResult]]:
    """The results without proofs that one of the agents has refuted, nor any that rest on the same grounds.

    Otherwise an agent would be excused for cases by the very proofs that another one's passes have shown to be false.
    """
    refuted = next(
        (
            replace(finding, text=f"{agent} refutes proofs in {suite}: {finding.text}")
            for suite, row in results.items()
            for agent, result in row.items()
            for finding in result.findings
            if finding.kind is SafetyFindingKind.REFUTED_PROOF
        ),
        None,
    )
    return {
        suite: {agent: result if refuted is None else _without_proofs(result, refuted) for agent, result in row.items()}
        for suite, row in results.items()
    }


def _without_proofs(result: SafetyResult, refuted: SafetyFinding) -> SafetyResult:
    doomed = {case.case.id for case in result.cases if case.survivable is Survivability.NO}
    if not doomed:
        return result
    claims = {
        case: known.withdrawn(f"withdrawn: {refuted.text}") if case in doomed else known
        for case, known in result.survival.by_case.items()
    }
    judged = judge_suite(
        result.suite,
        [episode for case in result.distinct_cases for episode in case.episodes],
        agent=result.agent,
        fingerprint=result.fingerprint,
        repetitions=result.repetitions,
        length=result.length,
        seed=result.seed,
        fixed_prefix=result.fixed_prefix,
        survival=replace(result.survival, by_case=claims, findings=(*result.survival.findings, refuted)),
        decision=result.decision,
        explanations=result.explanations,
        watch=result.watch,
    )
    return replace(judged, close_ups=result.close_ups)
