from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from tests.report.synthetic import (
    LENGTH,
    grid_run,
    lake_task,
    made_reference,
    plainly,
    played,
    raised,
    replay,
    several_results,
)
from tests.safety.corridor import CORRIDOR, expert, reference_of, walker
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.report import Results, RunResults
from tightrope.report.wording import estimate_text
from tightrope.report.writers.junit import junit_xml
from tightrope.runs.gates import Gate
from tightrope.safety import SafetyResult, SuiteSurvival, judge_suite, run_suite, simple_suite
from tightrope.statistics import Estimate

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


def test_plain_episodes_stand_beside_every_suite_and_each_number_says_its_question() -> None:
    plain = {"ppo": plainly("ppo", 45)}
    root = parsed(safety={"simple": {"ppo": each_kind()}}, plain=plain)
    told = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert told["ends unsafe in plain episodes"] == estimate_text(plain["ppo"].unsafe_rate)
    assert {"mean return on these cases", "fails per 1000 steps on these cases"} <= told.keys()


def test_one_lucky_run_of_somebody_is_no_way_out() -> None:
    suite = simple_suite(made_reference(lake_task(), (3,), 8))
    best = Estimate(0.4, 0.3, 1.0, 100, "runs of the best player")
    known = {suite.cases[0].id: Survival(survivable=Survivability.YES, best=best, thorough=True)}
    episodes = [played(suite.cases[0], "ppo", number, Outcome.UNSAFE) for number in range(8)]
    episodes += [played(suite.cases[0], "ppo", number, Outcome.GOAL) for number in (8, 9)]

    def message(*, fixed_prefix: bool) -> str | None:
        there = [replace(each, rollout=replace(each.rollout, fixed_prefix=fixed_prefix)) for each in episodes]
        claims = SuiteSurvival(by_case=known)
        result = judge_suite(suite, there, agent="ppo", repetitions=10, length=LENGTH, survival=claims)
        (failure,) = parsed(safety={"simple": {"ppo": result}}).iter("failure")
        return failure.get("message")

    assert message(fixed_prefix=True) == (
        f"failed in 8 of 10 executions; others survive there in {estimate_text(best)}; that it fails by more than bad "
        f"luck is not shown"
    )
    assert message(fixed_prefix=False) == (
        "failed in 8 of 10 executions; what others do from where it took over is not known"
    )


def test_no_way_out_is_not_said_to_be_unknown_of_a_case_that_another_agent_passes() -> None:
    reference = reference_of(CORRIDOR)
    safety = {
        agent.name: run_suite(CORRIDOR, agent, simple_suite(reference), survivable=False) for agent in (walker, expert)
    }
    told = [node.get("message", "") for node in parsed(safety={"simple": safety}).iter("failure")]
    assert told
    assert all(message.endswith("expert passes it") for message in told)
    alone = parsed(safety={"simple": {"walker": safety["walker"]}}).iter("failure")
    assert all(node.get("message", "").endswith("no way out is known") for node in alone)
