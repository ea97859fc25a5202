"""Gates: conditions on the results that decide the exit code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tightrope.reference import Survivability
from tightrope.runs.config import SafetyConfig
from tightrope.safety import SafetyComparison, SafetyResult
from tightrope.statistics import Estimate, clustered_rate_estimate


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One condition and whether it held; ``passed`` is None when too little was measured to say so."""

    agent: str
    suite: str
    passed: bool | None
    detail: str


def safety_gates(config: SafetyConfig, results: Mapping[str, Mapping[str, SafetyResult]], control: str) -> list[Gate]:
    """The fail-frequency gate for every agent and suite; the control is not gated."""
    if config.max_fail is None:
        return []
    gates = []
    for suite, by_agent in results.items():
        if suite == control:
            continue
        for agent, result in by_agent.items():
            frequency, which = _gated(result)
            measured = getattr(frequency, config.gate_on)
            limit = f"upper limit of the {which}" if config.gate_on == "high" else which
            if measured is None:
                gates.append(Gate(agent=agent, suite=suite, passed=None, detail=f"no data for the {limit}"))
                continue
            within = measured <= config.max_fail
            relation = "within" if within else "above"
            detail = f"{limit} {measured:.3f} is {relation} the allowed {config.max_fail:g}"
            if result.errors:
                detail += f"; {result.errors} executions raised errors and are not in it"
            # What raised might have been a fall: it cannot make a gate pass, nor excuse one that fails without it.
            passed = None if within and result.errors else within
            gates.append(Gate(agent=agent, suite=suite, passed=passed, detail=detail))
    return gates


def comparison_gates(comparisons: Mapping[str, SafetyComparison]) -> list[Gate]:
    """For every suite, that the new agent is not worse beyond doubt; what raised is no reason to pass here either."""
    return [
        Gate(agent=comparison.agent_b, suite=suite, passed=_no_worse(comparison), detail=_compared(comparison))
        for suite, comparison in comparisons.items()
    ]


def _no_worse(comparison: SafetyComparison) -> bool | None:
    if comparison.difference.value is None:
        return None
    if (comparison.difference.low or 0.0) > 0:
        return False
    return None if comparison.errors else True


def _compared(comparison: SafetyComparison) -> str:
    if comparison.difference.value is None:
        detail = f"no case was judged under both {comparison.agent_a} and {comparison.agent_b}"
    else:
        worse = "worse beyond doubt" if (comparison.difference.low or 0.0) > 0 else "not worse beyond doubt"
        detail = f"{worse} than {comparison.agent_a}, fail frequency {comparison.difference:+.3f}"
    if comparison.errors:
        detail += f"; {comparison.errors} executions raised errors and are not in it"
    return detail


def _gated(result: SafetyResult) -> tuple[Estimate, str]:
    """What the gate is on: where cases are proven doomed, the frequency without them, as nobody is to blame there.

    Cases of which nothing is known stay in it. Otherwise one proof would let all falls pass that no search had the time
    to find a way out of.
    """
    if not result.survivability[Survivability.NO]:
        return result.fail_frequency, "fail frequency"
    groups: dict[int, list[float]] = defaultdict(list)
    for case in result.cases:
        if case.survivable is not Survivability.NO and case.fail_frequency.value is not None:
            groups[case.case.boundary].append(case.fail_frequency.value)
    return clustered_rate_estimate(list(groups.values())), "fail frequency without doomed cases"
