"""Gates: conditions on the results that decide the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tightrope.campaign.config import SafetyConfig
from tightrope.safety import SafetyResult


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One condition and whether it held; ``passed`` is None when nothing was measured."""

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
            measured = getattr(result.fail_frequency, config.gate_on)
            limit = "upper limit of the fail frequency" if config.gate_on == "high" else "fail frequency"
            if measured is None:
                gates.append(Gate(agent=agent, suite=suite, passed=None, detail=f"no data for the {limit}"))
                continue
            passed = measured <= config.max_fail
            relation = "within" if passed else "above"
            detail = f"{limit} {measured:.3f} is {relation} the allowed {config.max_fail:g}"
            gates.append(Gate(agent=agent, suite=suite, passed=passed, detail=detail))
    return gates
