from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from tests.report.synthetic import grid_run, several_results
from tightrope.reference import Survivability
from tightrope.report import CaseResult, GateResult, Results, SuiteResult
from tightrope.report.writers.junit import junit_xml
from tightrope.statistics import Estimate

CASES = (
    CaseResult(id="passed", depth=1, handover=1, passes=10),
    CaseResult(id="failed", depth=1, handover=1, fails=3, passes=7, replay="tightrope replay run failed"),
    CaseResult(id="doomed", depth=1, handover=1, fails=10, survivable=Survivability.NO),
    CaseResult(id="invalid", depth=1, handover=1, invalid=10),
    CaseResult(id="raised", depth=1, handover=1, errors=1, passes=9),
    CaseResult(id="unknown", depth=None, handover=1),
)


def parsed(*suites: SuiteResult, **changes: object) -> ElementTree.Element:
    run = replace(grid_run(), suites=suites, **changes)
    return ElementTree.fromstring(junit_xml(Results(title="t", runs=(run,))))


def test_each_kind_of_case() -> None:
    root = parsed(SuiteResult(suite="simple", agent="ppo", fail_frequency=Estimate.of_nothing(), cases=CASES))
    kinds = {
        test.get("name", "").split("[")[1].rstrip("]"): test[0].tag if len(test) else "pass"
        for test in root.iter("testcase")
    }
    assert kinds == {
        "passed": "pass", "failed": "failure", "doomed": "skipped", "invalid": "skipped", "raised": "error",
        "unknown": "skipped",
    }  # fmt: skip
    assert root.find(".//failure").text == "Replay it: tightrope replay run failed"  # type: ignore[union-attr]


def test_totals() -> None:
    root = parsed(SuiteResult(suite="simple", agent="ppo", fail_frequency=Estimate.of_nothing(), cases=CASES))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "1", "1")
    assert root[0].get("skipped") == "3"


def test_gates_are_tests() -> None:
    gates = (GateResult(name="a", passed=True), GateResult(name="b", passed=False), GateResult(name="c", passed=None))
    root = parsed(gates=gates)
    assert [test[0].tag if len(test) else "pass" for test in root.iter("testcase")] == ["pass", "failure", "skipped"]


def test_signs_that_xml_forbids_are_replaced() -> None:
    case = CaseResult(id="x", depth=1, handover=1, label="\x00<&", passes=1)
    root = parsed(SuiteResult(suite="s", agent="ppo", fail_frequency=Estimate.of_nothing(), cases=(case,)))
    assert "\ufffd<&" in next(root.iter("testcase")).get("name", "")


def test_controls_are_no_tests() -> None:
    root = ElementTree.fromstring(junit_xml(several_results()))
    assert not any("random" in (suite.get("name") or "") for suite in root.iter("testsuite"))
