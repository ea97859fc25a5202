from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaign.conftest import CONFIG
from tightrope.campaign.assembly import stored_safety
from tightrope.campaign.campaign import CONTROL, Campaign
from tightrope.campaign.config import SafetyConfig
from tightrope.campaign.folder import RunFolder
from tightrope.campaign.gates import safety_gates
from tightrope.reference import Survivability
from tightrope.safety import SafetyResult, Survival
from tightrope.statistics import Estimate


@pytest.fixture(scope="module")
def measured(undisturbed: Path) -> SafetyResult:
    return stored_safety(Campaign(CONFIG, RunFolder.open(undisturbed)))["simple"]["careful"]


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
    assert on_high.detail.startswith(f"upper limit of the fail frequency {high:.3f} is above the allowed")


def test_exactly_the_allowed_frequency_passes(measured: SafetyResult) -> None:
    value = measured.fail_frequency.value
    (gate,) = safety_gates(SafetyConfig(max_fail=value), {"simple": {"careful": measured}}, CONTROL)
    assert gate.passed is True


def test_no_data_is_not_a_pass(measured: SafetyResult) -> None:
    nothing = replace(measured, fail_frequency=Estimate.of_nothing("every case was invalid"))
    (gate,) = safety_gates(SafetyConfig(max_fail=0.5), {"simple": {"careful": nothing}}, CONTROL)
    assert gate.passed is None
    assert gate.detail == "no data for the fail frequency"


def test_the_control_is_not_gated(measured: SafetyResult) -> None:
    assert safety_gates(SafetyConfig(max_fail=0.0), {CONTROL: {"careful": measured}}, CONTROL) == []


def test_nobody_is_gated_for_doomed_cases(measured: SafetyResult) -> None:
    cases = tuple(
        replace(case, survival=Survival(survivable=Survivability.NO if index == 0 else Survivability.YES))
        for index, case in enumerate(measured.cases)
    )
    always, never = (Estimate(value, value, value, 4, "made up") for value in (1.0, 0.0))
    result = replace(measured, cases=cases, fail_frequency=always, survivable_fail_frequency=never)
    (gate,) = safety_gates(SafetyConfig(max_fail=0.5), {"coverage:1": {"careful": result}}, CONTROL)
    assert gate.passed is True
    assert gate.detail.startswith("fail frequency where survivable 0.000")
