from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.runs import gates
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.gates import Evidence, Gate, GateRule, all_passed, asked_for, judge_gate, judged_gates
from tightrope.runs.measurements import Measurement, measured_fails
from tightrope.runs.run import open_run
from tightrope.runs.storage.layout import CONTROLS, plain_settings, safety_settings
from tightrope.safety import GateDecision, SafetyResult, Survival, avoidable_fail_frequency
from tightrope.settings import AgentConfig, PlainConfig, SafetyConfig
from tightrope.statistics import Estimate
from tightrope.statistics.words import THIN, percent


@pytest.fixture(scope="module")
def measured(undisturbed: Path) -> SafetyResult:
    return open_run(undisturbed).safety["simple"]["careful"]


def judged(safety: SafetyConfig, results: dict[str, dict[str, SafetyResult]]) -> list[Gate]:
    return list(judged_gates(CampaignConfig(task="x", safety=safety), Evidence(safety=results)))


def test_without_a_limit_there_is_no_gate(measured: SafetyResult) -> None:
    assert judged(SafetyConfig(), {"simple": {"careful": measured}}) == []


def test_a_gate_is_on_the_value_or_on_the_upper_limit(measured: SafetyResult) -> None:
    value, high = measured.fail_frequency.value, measured.fail_frequency.high
    assert value is not None
    assert high is not None
    assert value < high
    between = (value + high) / 2
    results = {"simple": {"careful": measured}}
    (on_value,) = judged(SafetyConfig(max_fail=between), results)
    (on_high,) = judged(SafetyConfig(max_fail=between, gate_on="high"), results)
    assert on_value.passed is True
    assert on_high.passed is False
    assert on_high.detail.startswith(
        f"upper limit of the avoidable fail frequency on these cases {percent(high)} is above the allowed"
    )


def test_a_share_above_one_by_the_last_digit_is_still_told_in_percent() -> None:
    share = Measurement(agent="a", suite="simple", estimate=Estimate.certain(1 + 2e-16 * 2), what="fail frequency")
    assert judge_gate("fails", share, 0.05).detail == f"fail frequency 100{THIN}% is above the allowed 5{THIN}%"
    steps = replace(share, estimate=Estimate.certain(12.5), what="return")
    assert judge_gate("return", steps, 20.0).detail == "return 12.5 is within the allowed 20"


def test_a_number_beside_its_limit_never_reads_like_it_unless_it_is() -> None:
    near = Measurement(agent="a", suite="simple", estimate=Estimate.certain(0.100004), what="fail frequency")
    told = judge_gate("fails", near, 0.1).detail.replace(THIN, "")
    assert told == "fail frequency 10.0004% is above the allowed 10%"
    far = replace(near, estimate=Estimate.certain(0.6325))
    assert judge_gate("fails", far, 0.1234).detail.replace(THIN, "") == (
        "fail frequency 63% is above the allowed 12.34%"
    ), "a limit is told as it was asked for"


def test_exactly_the_allowed_frequency_passes(measured: SafetyResult) -> None:
    value = measured.fail_frequency.value
    (gate,) = judged(SafetyConfig(max_fail=value), {"simple": {"careful": measured}})
    assert gate.passed is True


def test_no_data_is_not_a_pass(measured: SafetyResult) -> None:
    nothing = replace(measured, cases=tuple(replace(case, verdicts=(), returns=()) for case in measured.cases))
    (gate,) = judged(SafetyConfig(max_fail=0.5), {"simple": {"careful": nothing}})
    assert gate.passed is None
    assert gate.detail == "no data for the fail frequency on these cases"


def test_executions_that_raised_cannot_make_a_gate_pass(measured: SafetyResult) -> None:
    first = measured.cases[0]
    raised = replace(first, verdicts=(Verdict.ERROR, *first.verdicts[1:]), returns=first.returns[1:])
    result = replace(measured, cases=(raised, *measured.cases[1:]))
    within, above = gated(result, max_fail=1.0), gated(result, max_fail=0.0)
    assert within.passed is None
    assert "is within the allowed 100\u202f%;" in within.detail
    assert within.detail.endswith("; 1 execution raised errors, which it leaves out")
    assert above.passed is False


def test_controls_are_not_gated(measured: SafetyResult) -> None:
    (gate,) = judged(SafetyConfig(max_fail=0.0), {control: {"careful": measured} for control in CONTROLS})
    assert gate == Gate(
        name="fail frequency", agent=None, suite="", passed=None, detail="nothing was measured for --max-fail 0"
    )


def with_survival(result: SafetyResult, *survivable: Survivability) -> SafetyResult:
    """The result with what is known about its first cases, and nothing known about the rest."""
    known = [*survivable, *[Survivability.UNKNOWN] * (len(result.cases) - len(survivable))]
    cases = [replace(case, survival=Survival(survivable=of)) for case, of in zip(result.cases, known, strict=True)]
    return replace(result, cases=tuple(cases))


def gated(result: SafetyResult, max_fail: float = 0.0) -> Gate:
    (gate,) = judged(SafetyConfig(max_fail=max_fail), {"simple": {"careful": result}})
    return gate


def test_nobody_is_gated_for_doomed_cases(measured: SafetyResult) -> None:
    values = [case.fail_frequency.value or 0.0 for case in measured.cases]
    doomed = values.index(max(values))
    order = (measured.cases[doomed], *measured.cases[:doomed], *measured.cases[doomed + 1 :])
    result = with_survival(replace(measured, cases=order), Survivability.NO)
    rest = fmean(values[:doomed] + values[doomed + 1 :])
    assert gated(result).detail.startswith(
        f"fail frequency on these cases without doomed ones {100 * rest:.4g}\u202f% is "
    )
    assert rest < fmean(values)


def test_fails_without_a_known_way_out_count_also_beside_doomed_cases(measured: SafetyResult) -> None:
    """That one case is hopeless says nothing about the others."""
    assert measured.cases[-1].fails
    unknown = with_survival(measured, Survivability.NO, Survivability.YES)
    nothing_survivable_fails = replace(unknown, survivable_fail_frequency=Estimate(0.0, 0.0, 0.5, 1, "made up"))
    assert gated(nothing_survivable_fails).passed is False


def test_where_all_is_doomed_nothing_can_be_judged(measured: SafetyResult) -> None:
    gate = gated(with_survival(measured, *[Survivability.NO] * len(measured.cases)))
    assert gate.passed is None
    assert gate.detail == "no data for the fail frequency on these cases without doomed ones"


def test_one_boundary_state_is_gated_by_the_same_rule(measured: SafetyResult) -> None:
    state = measured.boundary_states[0]
    alone = measured_fails("careful", "boundary state 0", state.cases)
    assert alone.estimate == avoidable_fail_frequency(state.cases)
    doomed = with_survival(measured, *[Survivability.NO] * len(state.cases))
    assert measured_fails("careful", "boundary state 0", doomed.cases[: len(state.cases)]).estimate.value is None


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([], None), ([True], True), ([True, None], None), ([None, False], False), ([True, False], False)],
)
def test_several_gates_pass_only_if_every_one_does(verdicts: list[bool | None], expected: bool | None) -> None:
    told = [Gate(name="x", agent="a", suite="s", passed=passed, detail="") for passed in verdicts]
    assert all_passed(told) is expected


def test_a_gate_is_added_by_a_rule(measured: SafetyResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its limit stands, and what it measures: all else follows."""
    returns = Estimate(3.0, 2.0, 4.0, 5, "made up")
    rule = GateRule(
        name="returns",
        setting="safety.repetitions",
        lacks=lambda config: "",
        measure=lambda evidence: [Measurement(agent="a", suite="plain episodes", estimate=returns, what="mean return")],
    )
    monkeypatch.setattr(gates, "RULES", (*gates.RULES, rule))
    (gate,) = judged(SafetyConfig(repetitions=2), {"simple": {"careful": measured}})
    assert (gate.name, gate.suite, gate.passed) == ("returns", "plain episodes", False)
    assert gate.detail == "mean return 3 is above the allowed 2"
    assert asked_for(CampaignConfig(task="x", safety=SafetyConfig(repetitions=2)))[0].option == "--repetitions"


def test_gates_are_no_part_of_how_results_were_made() -> None:
    assert SafetyConfig.gates() == {"max_fail": None, "gate_on": "value", "until_decided": False}


def stopped(
    low: float, high: float, *, limit: float = 0.05, passed: bool | None = None, errors: int = 0
) -> GateDecision:
    estimate = Estimate((low + high) / 2, low, high, 40, "either limit holds", "on these cases")
    return GateDecision(
        limit=limit, decided=passed, draws=40, executions=48, fails=1, errors=errors, whole=110, estimate=estimate
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
    (gate,) = judged(SafetyConfig(max_fail=allowed), {"simple": {"careful": result}})
    assert gate.passed is passed
    assert "62 of the suite's 110 saved" in gate.detail


def test_a_gate_is_no_part_of_what_decides_a_result() -> None:
    agent = AgentConfig(source="a.onnx")
    loose = CampaignConfig(task="t", plain=PlainConfig(max_fail=1.0), safety=SafetyConfig(max_fail=1.0, gate_on="high"))
    strict = CampaignConfig(task="t", plain=PlainConfig(max_fail=0.0), safety=SafetyConfig(max_fail=0.0))
    assert plain_settings(loose, "a", agent) == plain_settings(strict, "a", agent)
    assert safety_settings(loose, "a", agent) == safety_settings(strict, "a", agent)
    more = strict.model_copy(update={"plain": PlainConfig(episodes=7), "safety": SafetyConfig(length=7)})
    assert plain_settings(more, "a", agent) != plain_settings(strict, "a", agent)
    assert safety_settings(more, "a", agent) != safety_settings(strict, "a", agent)
