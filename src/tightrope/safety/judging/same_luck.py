"""Executions beside the runs of the best player known that met the same randomness: what luck did to both drops out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tightrope.outcome import Verdict
from tightrope.safety.suites.executions import execution_seed

if TYPE_CHECKING:
    from tightrope.safety.judging.case_results import CaseResult


def failed_beside_best(case: CaseResult) -> list[tuple[bool, bool]] | None:
    """For each judged execution whether the agent failed, and whether the best player did with the same luck.

    None where some execution has no such run: it was made by another seed, or is one more than there are runs.
    """
    known = case.survival
    if known.seed is None or case.deterministic:
        return None
    survived = {execution_seed(known.seed, case.case.id, number): run for number, run in enumerate(known.runs)}
    pairs = []
    for episode, verdict in zip(case.episodes, case.verdicts, strict=True):
        if verdict not in (Verdict.PASS, Verdict.FAIL):
            continue
        if episode.rollout.seed not in survived:
            return None
        pairs.append((verdict is Verdict.FAIL, not survived[episode.rollout.seed]))
    return pairs
