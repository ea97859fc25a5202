from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from tests.report.synthetic import (
    LENGTH,
    grid_run,
    lake_task,
    made_reference,
    played,
    raised,
    replay,
    several_results,
)
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.report import Results, RunResults
from tightrope.report.writers.junit import junit_xml
from tightrope.runs.gates import Gate
from tightrope.safety import SafetyResult, SuiteSurvival, judge_suite, simple_suite

KINDS = ("passed", "failed", "doomed", "invalid", "raised", "unknown")


def each_kind() -> SafetyResult:
    """A suite of which each case went another way."""
    suite = simple_suite(made_reference(lake_task(), range(1, 7), 8))
    passed, failed, doomed, invalid, raising, _ = suite.cases
    episodes = [played(passed, "ppo", number, Outcome.ONGOING) for number in range(10)]
    episodes += [played(failed, "ppo", number, Outcome.UNSAFE if number < 3 else Outcome.GOAL) for number in range(10)]
    episodes += [played(doomed, "ppo", number, Outcome.UNSAFE) for number in range(10)]
    episodes += [played(invalid, "ppo", number, None) for number in range(10)]
    episodes += [raised(raising, "ppo", 0), *(played(raising, "ppo", number, Outcome.GOAL) for number in range(9))]
    known = SuiteSurvival(by_case={doomed.id: Survival(survivable=Survivability.NO, evidence="proven")})
    return judge_suite(suite, episodes, agent="ppo", repetitions=10, length=LENGTH, survival=known)


def parsed(**changes: object) -> ElementTree.Element:
    run: RunResults = replace(grid_run(), **changes)  # type: ignore[arg-type]
    return ElementTree.fromstring(junit_xml(Results(title="t", runs=(run,))))


def test_each_kind_of_case() -> None:
    result = each_kind()
    root = parsed(safety={"simple": {"ppo": result}})
    kinds = {
        test.get("name", "").split("[")[1].rstrip("]"): test[0].tag if len(test) else "pass"
        for test in root.iter("testcase")
    }
    names = dict(zip(KINDS, (case.id for case in result.suite.cases), strict=True))
    assert {kind: kinds[identifier] for kind, identifier in names.items()} == {
        "passed": "pass", "failed": "failure", "doomed": "skipped", "invalid": "skipped", "raised": "error",
        "unknown": "skipped",
    }  # fmt: skip
    assert root.find(".//failure").text == f"Replay it: {replay(names['failed'], 'ppo')}"  # type: ignore[union-attr]


def test_places_have_the_numbers_that_the_report_calls_them_by() -> None:
    root = parsed(safety={"simple": {"ppo": each_kind()}})
    assert [test.get("name", "").split(",")[0] for test in root.iter("testcase")][:2] == [
        "place #1 at depth 1",
        "place #2 at depth 2",
    ]


def test_totals() -> None:
    root = parsed(safety={"simple": {"ppo": each_kind()}})
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "1", "1")
    assert root[0].get("skipped") == "3"


def test_gates_are_tests() -> None:
    gates = [
        Gate(name=name, agent=None, suite="", passed=passed, detail="")
        for name, passed in zip("abc", (True, False, None), strict=True)
    ]
    root = parsed(safety={}, gates=tuple(gates))
    assert [test[0].tag if len(test) else "pass" for test in root.iter("testcase")] == ["pass", "failure", "skipped"]


def test_signs_that_xml_forbids_are_replaced() -> None:
    root = parsed(name="\x00<&")
    assert "\ufffd<&" in next(root.iter("testcase")).get("classname", "")


def test_controls_are_no_tests() -> None:
    root = ElementTree.fromstring(junit_xml(several_results()))
    assert not any("random" in (suite.get("name") or "") for suite in root.iter("testsuite"))
