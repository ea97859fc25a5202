"""Gates: conditions on the results that decide the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tightrope.evaluation import Evaluation
from tightrope.reference import Survivability
from tightrope.runs.config import PlainConfig, SafetyConfig
from tightrope.safety import SafetyComparison, SafetyResult, rate_without_doomed
from tightrope.statistics import Estimate

PLAIN = "plain episodes"
"""What stands in place of a suite where an agent was put nowhere."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One condition and whether it held; ``passed`` is None when too little was measured to say so."""

    agent: str
    suite: str
    passed: bool | None
    detail: str


def plain_gates(config: PlainConfig, evaluations: Mapping[str, Evaluation]) -> list[Gate]:
    """The gate on plain episodes for every agent: the share that ends unsafe."""
    if config.max_fail is None:
        return []
    return [
        _within(
            agent, PLAIN, "share of episodes that end unsafe", result.unsafe_rate.value, config.max_fail, result.errors
        )
        for agent, result in evaluations.items()
    ]


def safety_gates(config: SafetyConfig, results: Mapping[str, Mapping[str, SafetyResult]], control: str) -> list[Gate]:
    """The fail-frequency gate for every agent and suite; the control is not gated."""
    if config.max_fail is None:
        return []
    gates = []
    for suite, by_agent in results.items():
        if suite == control:
            continue
        for agent, result in by_agent.items():
            if result.stopped_early:
                gates.append(_stopped_gate(agent, suite, config.max_fail, result))
                continue
            frequency, which = _gated(result)
            measured = getattr(frequency, config.gate_on)
            limit = f"upper limit of the {which}" if config.gate_on == "high" else which
            gates.append(_within(agent, suite, limit, measured, config.max_fail, result.errors))
    return gates


def _within(agent: str, suite: str, what: str, measured: float | None, allowed: float, errors: int) -> Gate:
    """The one rule: what was measured must not be above what is allowed, and errors must not hide more of it."""
    if measured is None:
        return Gate(agent=agent, suite=suite, passed=None, detail=f"no data for the {what}")
    within = measured <= allowed
    detail = f"{what} {measured:.3f} is {'within' if within else 'above'} the allowed {allowed:g}"
    if errors:
        detail += f"; {errors} executions raised errors and are not in it"
    # What raised might have been a fail: it cannot make a gate pass, nor excuse one that fails without it.
    return Gate(agent=agent, suite=suite, passed=None if within and errors else within, detail=detail)


def _stopped_gate(agent: str, suite: str, allowed: float, result: SafetyResult) -> Gate:
    """A gate that ran until it was decided: by the limits that hold however early it stopped, never by the value."""
    assert result.decision is not None
    found, decision = result.decision.estimate, result.decision
    if found.low is None or found.high is None:
        return Gate(agent=agent, suite=suite, passed=None, detail="no data for the fail frequency on these cases")
    passed = True if found.high <= allowed else False if found.low > allowed else None
    if allowed == decision.limit:
        passed = decision.passed
    relation = {True: "within", False: "above", None: "not shown to be within or above"}[passed]
    detail = f"fail frequency on these cases {found:.3f} is {relation} the allowed {allowed:g}; {decision}"
    if result.errors:
        detail += f"; {result.errors} executions raised errors"
    return Gate(agent=agent, suite=suite, passed=None if passed and result.errors else passed, detail=detail)


def comparison_gates(comparisons: Mapping[str, SafetyComparison], *, in_general: bool = False) -> list[Gate]:
    """For every suite, that the new agent is not worse beyond doubt; what raised is no reason to pass here either.

    On these cases, or ``in_general`` in situations like these.
    """
    return [
        Gate(
            agent=comparison.agent_b,
            suite=suite,
            passed=_no_worse(comparison, in_general=in_general),
            detail=_compared(comparison, in_general=in_general),
        )
        for suite, comparison in comparisons.items()
    ]


def _no_worse(comparison: SafetyComparison, *, in_general: bool) -> bool | None:
    difference = comparison.difference_in_general if in_general else comparison.difference
    if difference.low is None:
        return None
    if difference.low > 0:
        return False
    return None if comparison.errors else True


def _compared(comparison: SafetyComparison, *, in_general: bool) -> str:
    difference = comparison.difference_in_general if in_general else comparison.difference
    if difference.value is None:
        detail = f"no case was judged under both {comparison.agent_a} and {comparison.agent_b}"
    elif difference.low is None:
        detail = f"{difference.method}; without in-general the gate is on these cases"
    else:
        worse = "worse beyond doubt" if difference.low > 0 else "not worse beyond doubt"
        detail = f"{worse} than {comparison.agent_a}, fail frequency {difference:+.3f} {difference.question}"
    if comparison.errors:
        detail += f"; {comparison.errors} executions raised errors and are not in it"
    return detail


def _gated(result: SafetyResult) -> tuple[Estimate, str]:
    """What the gate is on: where cases are proven doomed, the frequency without them, as nobody is to blame there.

    Cases of which nothing is known stay in it. Otherwise one proof would let all fails pass that no search had the time
    to find a way out of.
    """
    if not result.survivability[Survivability.NO]:
        return result.fail_frequency, "fail frequency on these cases"
    return rate_without_doomed(result.cases), "fail frequency on these cases without doomed ones"
