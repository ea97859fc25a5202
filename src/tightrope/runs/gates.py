"""Gates: conditions on the results that decide the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tightrope.reference import Survivability
from tightrope.runs.config import SafetyConfig
from tightrope.safety import SafetyResult, rate_without_doomed
from tightrope.statistics import Estimate


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


def _gated(result: SafetyResult) -> tuple[Estimate, str]:
    """What the gate is on: where cases are proven doomed, the frequency without them, as nobody is to blame there.

    Cases of which nothing is known stay in it. Otherwise one proof would let all falls pass that no search had the time
    to find a way out of.
    """
    if not result.survivability[Survivability.NO]:
        return result.fail_frequency, "fail frequency"
    return rate_without_doomed(result.cases), "fail frequency without doomed cases"
