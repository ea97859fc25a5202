from __future__ import annotations

from dataclasses import replace

from tests.report.synthetic import empty_run, grid_run, mario_like_run
from tightrope.reference import Survivability
from tightrope.report import GateResult, PlainSummary
from tightrope.report.verdict import headline_suite, suite_names, verdicts
from tightrope.report.wording import THIN
from tightrope.statistics import Estimate, rate_estimate


def test_a_sentence_for_each_agent_with_its_interval() -> None:
    first = verdicts(mario_like_run())[0]
    assert first.sentence.replace(THIN, " ") == "failed in 14 % (4.8–25 %) of the tests on these 39 cases"
    assert any("control random(40)" in detail for detail in first.details)
    assert any("survivable ones of these cases alone" in detail for detail in first.details)


def test_no_fall_is_not_safety() -> None:
    run = grid_run()
    suite = replace(run.suites[0], fail_frequency=Estimate(0.0, 0.0, 0.31, 4, "x"))
    sentence = verdicts(replace(run, suites=(suite,)))[0].sentence.replace(THIN, " ")
    assert sentence == "never failed in the tests on these 4 cases; there its true rate may still be as high as 31 %"


def test_always_falling_has_an_interval_too() -> None:
    run = grid_run()
    suite = replace(run.suites[0], fail_frequency=Estimate(1.0, 0.97, 1.0, 4, "x"))
    sentence = verdicts(replace(run, suites=(suite,)))[0].sentence.replace(THIN, " ")
    assert sentence == "failed in every test (97.0–100 %) on these 4 cases"


def test_errors_are_told() -> None:
    run = grid_run()
    cases = tuple(replace(case, errors=1) for case in run.suites[0].cases)
    assert "5 cases raised errors" in verdicts(replace(run, suites=(replace(run.suites[0], cases=cases),)))[0].details


def test_nothing_measured_says_why() -> None:
    sentence = verdicts(empty_run())[0].sentence
    assert sentence.startswith("no data: no reference was found (budget spent)")


def test_nothing_judged_says_so() -> None:
    run = grid_run()
    suite = replace(run.suites[0], fail_frequency=Estimate.of_nothing(), boundary=())
    assert "none of its 5 cases could be judged" in verdicts(replace(run, suites=(suite,)))[0].sentence


def test_the_first_measured_suite_is_the_headline() -> None:
    run = replace(mario_like_run(), headline_suite=None)
    unmeasured = [replace(s, fail_frequency=Estimate.of_nothing()) if s.suite == "simple" else s for s in run.suites]
    assert headline_suite(run) == "simple"
    assert headline_suite(replace(run, suites=tuple(unmeasured))) == "interval(1)"


def test_controls_come_last() -> None:
    assert suite_names(mario_like_run())[-1] == "random(40)"


def test_gates_of_all_agents_and_of_one() -> None:
    run = replace(
        grid_run(), gates=(GateResult(name="a", passed=True), GateResult(name="b", passed=False, agent="other"))
    )
    assert verdicts(run)[0].passed is True
    assert verdicts(replace(run, gates=(GateResult(name="a", passed=None),)))[0].passed is None


def test_cases_that_were_never_tested_are_not_counted_as_doomed() -> None:
    run = grid_run()
    suite = run.suites[0]
    invalid = replace(suite.cases[0], passes=0, fails=0, invalid=1, survivable=Survivability.NO)
    tested = replace(suite.cases[0], passes=0, fails=1, invalid=0, survivable=Survivability.NO)
    assert replace(suite, cases=(invalid, tested)).doomed == 1
    assert replace(suite, cases=(invalid, tested)).invalid == 1


def told_plainly(unsafe: Estimate) -> str:
    run, nothing = grid_run(), Estimate.of_nothing()
    plain = PlainSummary(
        agent=run.agents[0].name,
        unsafe_rate=unsafe,
        goal_rate=nothing,
        timeout_rate=nothing,
        mean_return=nothing,
        episodes=60,
    )
    suite = replace(run.suites[0], fail_frequency=Estimate(0.0, 0.0, 0.31, 4, "x"))
    return verdicts(replace(run, suites=(suite,), plain=(plain,)))[0].sentence.replace(THIN, " ")


def test_an_agent_that_fails_plainly_is_said_to_fail_first() -> None:
    told = told_plainly(rate_estimate(45, 60))
    assert told.startswith("ends unsafe in 75 % (62–85 %) of 60 plain episodes; never failed in the tests on these")


def test_no_unsafe_plain_episode_is_no_proof_of_none() -> None:
    assert "ends unsafe in none of 60 plain episodes, though up to 6.0 % of them may" in told_plainly(
        rate_estimate(0, 60)
    )
