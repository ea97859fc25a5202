from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.runs.config import SafetyConfig
from tightrope.runs.gates import Gate, safety_gates
from tightrope.runs.layout import CONTROL
from tightrope.runs.run import open_run
from tightrope.safety import GateDecision, SafetyResult, Survival
from tightrope.statistics import Estimate


@pytest.fixture(scope="module")
def measured(undisturbed: Path) -> SafetyResult:
    return open_run(undisturbed).safety["simple"]["careful"]


def test_without_a_limit_there_is_no_gate(measured: SafetyResult) -> None:
    assert safety_gates(SafetyConfig(), {"simple": {"careful": measured}}, CONTROL) == []


def test_a_gate_is_on_the_value_or_on_the_upper_limit(measured: SafetyResult) -> None:
    value, high = measured.fail_frequency.value, measured.fail_frequency.high
    assert value is not None
    assert high is not None
    assert value < high
    between = (value + high) / 2
    results = {"simple": {"careful": measured}}
    (on_value,) = safety_gates(SafetyConfig(max_fail=between), results, CONTROL)
    (on_high,) = safety_gates(SafetyConfig(max_fail=between, gate_on="high"), results, CONTROL)
    assert on_value.passed is True
    assert on_high.passed is False
    assert on_high.detail.startswith(
        f"upper limit of the fail frequency on these cases {high:.3f} is above the allowed"
    )


def test_exactly_the_allowed_frequency_passes(measured: SafetyResult) -> None:
    value = measured.fail_frequency.value
    (gate,) = safety_gates(SafetyConfig(max_fail=value), {"simple": {"careful": measured}}, CONTROL)
    assert gate.passed is True


def test_no_data_is_not_a_pass(measured: SafetyResult) -> None:
    nothing = replace(measured, fail_frequency=Estimate.of_nothing("every case was invalid"))
    (gate,) = safety_gates(SafetyConfig(max_fail=0.5), {"simple": {"careful": nothing}}, CONTROL)
    assert gate.passed is None
    assert gate.detail == "no data for the fail frequency on these cases"


def test_executions_that_raised_cannot_make_a_gate_pass(measured: SafetyResult) -> None:
    first = measured.cases[0]
    raised = replace(first, verdicts=(Verdict.ERROR, *first.verdicts[1:]), returns=first.returns[1:])
    result = replace(measured, cases=(raised, *measured.cases[1:]))
    within, above = gated(result, max_fail=1.0), gated(result, max_fail=0.0)
    assert within.passed is None
    assert within.detail.endswith("is within the allowed 1; 1 executions raised errors and are not in it")
    assert above.passed is False


def test_the_control_is_not_gated(measured: SafetyResult) -> None:
    assert safety_gates(SafetyConfig(max_fail=0.0), {CONTROL: {"careful": measured}}, CONTROL) == []


def with_survival(result: SafetyResult, *survivable: Survivability) -> SafetyResult:
    """The result with what is known about its first cases, and nothing known about the rest."""
    known = [*survivable, *[Survivability.UNKNOWN] * (len(result.cases) - len(survivable))]
    cases = [replace(case, survival=Survival(survivable=of)) for case, of in zip(result.cases, known, strict=True)]
    return replace(result, cases=tuple(cases))


def gated(result: SafetyResult, max_fail: float = 0.0) -> Gate:
    (gate,) = safety_gates(SafetyConfig(max_fail=max_fail), {"simple": {"careful": result}}, CONTROL)
    return gate


def test_nobody_is_gated_for_doomed_cases(measured: SafetyResult) -> None:
    values = [case.fail_frequency.value or 0.0 for case in measured.cases]
    doomed = values.index(max(values))
    order = (measured.cases[doomed], *measured.cases[:doomed], *measured.cases[doomed + 1 :])
    result = with_survival(replace(measured, cases=order), Survivability.NO)
    rest = fmean(values[:doomed] + values[doomed + 1 :])
    assert gated(result).detail.startswith(f"fail frequency on these cases without doomed ones {rest:.3f} is ")
    assert rest < fmean(values)


def test_falls_without_a_known_way_out_count_also_beside_doomed_cases(measured: SafetyResult) -> None:
    """That one case is hopeless says nothing about the others."""
    assert measured.cases[-1].fails
    unknown = with_survival(measured, Survivability.NO, Survivability.YES)
    nothing_survivable_fails = replace(unknown, survivable_fail_frequency=Estimate(0.0, 0.0, 0.5, 1, "made up"))
    assert gated(nothing_survivable_fails).passed is False


def test_where_all_is_doomed_nothing_can_be_judged(measured: SafetyResult) -> None:
    gate = gated(with_survival(measured, *[Survivability.NO] * len(measured.cases)))
    assert gate.passed is None
    assert gate.detail == "no data for the fail frequency on these cases without doomed ones"


def stopped(
    low: float, high: float, *, limit: float = 0.05, passed: bool | None = None, errors: int = 0
) -> GateDecision:
    estimate = Estimate((low + high) / 2, low, high, 40, "either limit holds", "on these cases")
    return GateDecision(
        limit=limit, passed=passed, draws=40, executions=48, fails=1, errors=errors, whole=110, estimate=estimate
    )


@pytest.mark.parametrize(
    ("decision", "allowed", "passed"),
    [
        (stopped(0.0, 0.049, passed=True), 0.05, True),
        (stopped(0.06, 0.4, passed=False), 0.05, False),
        (stopped(0.01, 0.2), 0.05, None),
        (stopped(0.0, 0.049, passed=True), 0.1, True),
        (stopped(0.0, 0.049, passed=True), 0.01, None),
        (stopped(0.06, 0.4, passed=False), 0.01, False),
        (stopped(0.06, 0.4, passed=False), 0.2, None),
    ],
)
def test_a_gate_that_stopped_is_judged_by_the_limits_that_hold_however_early(
    measured: SafetyResult, decision: GateDecision, allowed: float, passed: bool | None
) -> None:
    """Also at another limit than the one it stopped for: the value alone would flatter whoever stops early."""
    result = replace(measured, decision=decision)
    (gate,) = safety_gates(SafetyConfig(max_fail=allowed), {"simple": {"careful": result}}, CONTROL)
    assert gate.passed is passed
    assert "62 of the suite's 110 saved" in gate.detail
