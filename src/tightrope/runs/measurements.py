"""What gates look at: estimates of one agent in one place, with what each leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tightrope.evaluation import Evaluation
from tightrope.reference import Survivability
from tightrope.report.results import PLAIN
from tightrope.report.wording import estimate_text
from tightrope.risk import FailureEstimate
from tightrope.safety import CaseResult, GateDecision, avoidable_fail_frequency, rate_without_doomed
from tightrope.safety.judging.avoidable import left_to_chance, tried_by_chance
from tightrope.statistics import Estimate

IN_USE = "in use"
"""What stands in place of a suite where the risk of an episode was estimated."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a gate looks at, for one agent in one place."""

    agent: str
    suite: str
    estimate: Estimate
    what: str
    """What was estimated, in words."""
    aside: str = ""
    """What else there is to know about it."""
    errors: int = 0
    """Executions that raised, and are not in it."""
    decision: GateDecision | None = None
    """Where executions were drawn only until a gate was decided: by that and never by the estimate it is judged."""


def measured_fails(agent: str, where: str, cases: Sequence[CaseResult]) -> Measurement:
    """How often an agent fails where somebody would not have.

    Cases that are proven doomed are left out, and of what is left to chance that part is taken off which nobody can
    help. Cases of which nothing is known stay in it. Otherwise one proof would let all fails pass that no search had
    the time to find a way out of. Where executions did not start in the situations of the cases, what others did from
    there excuses nobody.
    """
    distinct = {case.case.id: case for case in cases}.values()
    doomed = any(case.survivable is Survivability.NO and not case.invalid for case in distinct)
    whole, blamed = rate_without_doomed(cases), avoidable_fail_frequency(cases)
    by_chance = blamed.value is not None and any(case.returns and left_to_chance(case) for case in distinct)
    what = "avoidable fail frequency on these cases" if by_chance else "fail frequency on these cases"
    aside = f"in all it fails in {estimate_text(whole)}" if by_chance else ""
    if whole.value and not by_chance and any(tried_by_chance(case) for case in distinct):
        aside = "how much of that another player would have avoided is not known, so all of it counts"
    return Measurement(
        agent=agent,
        suite=where,
        estimate=blamed if by_chance else whole,
        what=what + (" without doomed ones" if doomed else ""),
        aside=aside,
        errors=sum(case.errors for case in distinct),
    )


def measured_plainly(result: Evaluation) -> Measurement:
    """How often an agent ends unsafe as it is used."""
    what = "share of episodes that end unsafe"
    return Measurement(agent=result.agent, suite=PLAIN, estimate=result.unsafe_rate, what=what, errors=result.errors)


def measured_risk(risk: FailureEstimate) -> Measurement:
    """How likely an agent is to come to harm in an episode."""
    what = f"probability that an episode {risk.question}"
    return Measurement(agent=risk.agent, suite=IN_USE, estimate=risk.probability, what=what)
