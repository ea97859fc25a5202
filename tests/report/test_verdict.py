from __future__ import annotations

from dataclasses import replace

from tests.report.synthetic import empty_run, grid_run, many_cases, mario_like_run, plainly, raised, with_result
from tightrope.report.verdict import headline_suite, verdicts
from tightrope.report.wording import THIN
from tightrope.runs.gates import Gate
from tightrope.safety import judge_case
from tightrope.statistics import Estimate, rate_estimate


def test_a_sentence_for_each_agent_with_its_interval() -> None:
    first = verdicts(mario_like_run())[0]
    assert first.sentence.replace(THIN, " ") == "failed in 12 % (9.2–16 %) of the tests on these 37 cases"
    assert any("in random situations it fails in 6.7" in detail for detail in first.details)
    assert any("avoidable: 12" in detail for detail in first.details)


def test_where_some_of_it_was_fate_the_sentence_alone_says_how_much_was_not() -> None:
    first = verdicts(many_cases())[0]
    assert "; its avoidable fail frequency is 37" in first.sentence
    assert not any(detail.startswith("avoidable") for detail in first.details)


def test_the_details_count_cases_as_the_sentence_does() -> None:
    """Two boundary states can share a case: 39 stand in the table, and 37 were tested."""
    assert verdicts(mario_like_run())[0].counted[0] == "interval:1, 37 cases × 10 executions"


def told(estimate: Estimate) -> str:
    return verdicts(with_result(grid_run(), fail_frequency=estimate))[0].sentence.replace(THIN, " ")


def test_no_fail_is_not_safety() -> None:
    sentence = told(Estimate(0.0, 0.0, 0.31, 4, "x"))
    assert sentence == "never failed in the tests on these 4 cases (its true rate there may be up to 31 %)"


def test_always_failing_has_an_interval_too() -> None:
    assert told(Estimate(1.0, 0.97, 1.0, 4, "x")) == "failed in every test (97–100 %) on these 4 cases"


def test_errors_are_told() -> None:
    run = grid_run()
    result = run.safety["simple"]["ppo"]
    cases = tuple(judge_case(each.case, [raised(each.case, "ppo", 0)], 40) for each in result.cases)
    assert "5 cases raised errors" in verdicts(with_result(run, cases=cases))[0].details


def test_nothing_measured_says_why() -> None:
    sentence = verdicts(empty_run())[0].sentence
    assert sentence.startswith("no data: no reference was found (budget spent)")


def test_what_a_run_has_not_come_to_is_not_there_yet() -> None:
    untested = replace(grid_run(), safety={})
    assert verdicts(untested)[0].sentence == "no data: no safety suite was run"
    going = replace(untested, status="unfinished: interrupted")
    assert verdicts(going)[0].sentence == "no data: no safety suite was run yet"


def test_nothing_judged_says_so() -> None:
    assert "none of its 5 cases could be judged" in told(Estimate.of_nothing())


def test_the_first_measured_suite_is_the_headline() -> None:
    run = grid_run()
    assert headline_suite(run) == "simple"
    nothing = replace(run.safety["simple"]["ppo"], fail_frequency=Estimate.of_nothing())
    changed = {"blank": {"ppo": nothing}, "other": run.safety["simple"]}
    assert headline_suite(replace(run, safety=changed)) == "other"


def test_controls_come_last() -> None:
    run = grid_run()
    turned = replace(run, safety=dict(reversed(run.safety.items())))
    assert [suite.name for suite in turned.suites] == ["simple", "random"]


def test_gates_of_all_agents_and_of_one() -> None:
    def gate(agent: str | None, passed: bool | None) -> Gate:
        return Gate(name="a", agent=agent, suite="simple", passed=passed, detail="")

    assert verdicts(replace(grid_run(), gates=(gate(None, True), gate("other", False))))[0].passed is True
    assert verdicts(replace(grid_run(), gates=(gate(None, None),)))[0].passed is None


def told_plainly(unsafe: int) -> str:
    run = with_result(grid_run(), fail_frequency=Estimate(0.0, 0.0, 0.31, 4, "x"))
    return verdicts(replace(run, plain={"ppo": plainly("ppo", unsafe)}))[0].sentence.replace(THIN, " ")


def test_an_agent_that_fails_plainly_is_said_to_fail_first() -> None:
    assert rate_estimate(45, 60).value == 0.75
    assert told_plainly(45).startswith(
        "ends unsafe in 75 % (62–85 %) of 60 plain episodes; never failed in the tests on these"
    )


def test_no_unsafe_plain_episode_is_no_proof_of_none() -> None:
    assert "ends unsafe in none of 60 plain episodes (its true rate may be up to 6.0 %)" in told_plainly(0)
