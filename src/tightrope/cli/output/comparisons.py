"""A comparison of two agents as data, for ``--json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tightrope.runs.measurements import PLAIN

if TYPE_CHECKING:
    from tightrope.evaluation import PlainComparison
    from tightrope.runs.questions.contest import AgentComparison
    from tightrope.safety import SafetyComparison


def comparison_data(comparison: AgentComparison) -> dict[str, Any]:
    """Plain values: plain episodes, each suite, and the return where it was measured."""
    told = {} if comparison.plain is None else {PLAIN: _plain_data(comparison.plain)}
    returns = [{"from_step": each.prefix_length, **each.difference.to_json()} for each in comparison.returns]
    suites = {suite: _data(each) for suite, each in comparison.suites.items()}
    return told | suites | ({"return": returns} if returns else {})


def _plain_data(plain: PlainComparison) -> dict[str, Any]:
    return {
        "agent_a": plain.agent_a,
        "agent_b": plain.agent_b,
        "unsafe_a": plain.unsafe_a.to_json(),
        "unsafe_b": plain.unsafe_b.to_json(),
        "difference": plain.difference.to_json(),
        "p_value": plain.p_value,
        "worse": plain.worse,
        "better": plain.better,
        "errors": plain.errors,
    }


def _data(comparison: SafetyComparison) -> dict[str, Any]:
    return {
        "agent_a": comparison.agent_a,
        "agent_b": comparison.agent_b,
        "difference": comparison.difference.to_json(),
        "p_value": comparison.p_value,
        "exact": comparison.exact,
        "difference_in_general": comparison.difference_in_general.to_json(),
        "worse": comparison.worse,
        "better": comparison.better,
        "newly_failing": [case.case.id for case in comparison.newly_failing],
        "newly_fixed": [case.case.id for case in comparison.newly_fixed],
        "errors": comparison.errors,
        "cases": [
            {
                "case": case.case.id,
                "before": case.fail_frequency_a.value,
                "now": case.fail_frequency_b.value,
                "executions": {"before": case.fail_frequency_a.n, "now": case.fail_frequency_b.n},
                "survivable": str(case.survivable),
                "certain": case.certain,
            }
            for case in comparison.cases
        ],
    }
