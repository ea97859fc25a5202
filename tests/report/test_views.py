"""The views say what the results say."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.report.synthetic import (
    empty_run,
    grid_run,
    judged_by,
    lake_task,
    made_reference,
    mario_like_run,
    one_place,
    rolled,
    searched,
)
from tests.report.test_junit import each_kind
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.report import CaseView, SuiteView
from tightrope.report.verdict import verdicts
from tightrope.report.writers.pagedata import run_data
from tightrope.safety import CaseResult, interval_suite, simple_suite
from tightrope.safety.suites.controls import uniform_suite
from tightrope.statistics import Estimate


def test_a_view_keeps_no_copy() -> None:
    assert [field.name for field in fields(SuiteView)] == ["run", "name", "result"]
    assert [field.name for field in fields(CaseView)] == ["suite", "result"]
    run = mario_like_run()
    assert all(suite.result is run.safety[suite.name][suite.agent] for suite in run.suites)


def test_cases_that_were_never_tested_are_not_counted_as_doomed() -> None:
    (suite,) = replace(grid_run(), safety={"simple": {"ppo": each_kind()}}).suites
    assert (suite.doomed, suite.raised, suite.judged, suite.result.invalid_cases) == (1, 1, 4, 1)


def test_a_place_has_one_number_in_every_suite() -> None:
    run = mario_like_run()
    assert [place.number for place in run.places] == list(range(1, 14))
    for suite in run.suites:
        for case in suite.cases:
            if not suite.control:
                assert case.place is not None
                assert run.places[case.place - 1].depth == case.depth
    assert {case.place for suite in run.suites if suite.control for case in suite.cases} == {None}


def test_where_only_some_boundary_states_are_tested_the_suites_number_them() -> None:
    task = lake_task()
    reference = made_reference(task, (1, 2, 5), 6, guesses=(1,))
    proven = replace(reference, boundary_states=tuple(s for s in reference.boundary_states if s.proven))
    result = judged_by(simple_suite(proven), "ppo", lambda case, number: Outcome.UNSAFE)
    run = replace(grid_run(), search=searched(reference, 9), safety={"simple": {"ppo": result}})
    assert [(place.number, place.depth, place.proven) for place in run.places] == [(1, 1, True), (2, 5, True)]


def test_places_on_several_references_are_told_apart() -> None:
    task = lake_task()
    one, other = made_reference(task, (2, 4), 6), made_reference(task, (2, 3), 5)
    result = judged_by(interval_suite([one, other], 0), "ppo", lambda case, number: Outcome.UNSAFE)
    run = replace(grid_run(), search=searched(one, 9), safety={"interval:0": {"ppo": result}})
    assert [(place.number, place.reference, place.depth) for place in run.places] == [
        (1, 0, 2), (2, 0, 4), (3, 1, 2), (4, 1, 3),
    ]  # fmt: skip
    assert [place.state is None for place in run.places] == [False, False, True, True]


def test_what_is_known_of_a_place_is_known_on_every_reference_of_the_run() -> None:
    task = lake_task()
    first = made_reference(task, (2, 4), 9)
    second = made_reference(task, (4, 6), 11, guesses=(1,))
    run = replace(
        grid_run(),
        references=(first, second),
        safety={"simple": {"ppo": rolled(simple_suite([first, second]), "ppo")}},
        search=searched(first, 9),
        controls=(),
    )
    assert [(place.reference, place.depth, place.proven) for place in run.places] == [
        (0, 2, True),
        (0, 4, True),
        (1, 4, True),
        (1, 6, False),
    ]
    assert run_data(run, "run0", {})["along"]["high"] == 11, "the line of places is as long as the longest reference"


def test_the_cases_of_a_control_have_no_place() -> None:
    task = lake_task()
    reference = made_reference(task, (1, 4), 6)
    drawn = judged_by(uniform_suite(reference, 3), "ppo", lambda case, number: Outcome.UNSAFE)
    run = replace(grid_run(), safety={"uniform": {"ppo": drawn}}, controls=("uniform",), search=searched(reference, 9))
    (suite,) = run.suites
    assert {case.place for case in suite.cases} == {None}
    assert suite.states == ()
    assert [place.depth for place in run.places] == [1, 4]


def test_without_suites_the_reference_numbers_them() -> None:
    assert [place.number for place in replace(grid_run(), safety={}).places] == [1, 2, 3, 4, 5]
    assert empty_run().places == ()


def test_ten_executions_are_told_only_where_ten_were_made() -> None:
    (case,) = one_place().suites[0].cases
    assert (case.executions, case.made) == (10, 1)
    assert case.told == "always fails, as nothing is random"
    assert verdicts(one_place())[0].details[0] == "simple, 1 case, executed once, as nothing is random"
    assert "of 10 executions" in grid_run().suites[0].cases[1].told


def test_one_agent_alone_has_no_correlation() -> None:
    assert grid_run().correlation.value is None
    assert "one agent" in grid_run().correlation.method
    assert mario_like_run().correlation.method != grid_run().correlation.method


def _with_fixed_prefix(case: CaseResult) -> CaseResult:
    """As where chance decides: every execution begins in the situation that was looked at."""
    fixed = (replace(each, rollout=replace(each.rollout, fixed_prefix=True)) for each in case.episodes)
    return replace(case, episodes=tuple(fixed))


@pytest.mark.parametrize(("fails", "blame"), [(0, ""), (1, "chance"), (3, "not known"), (9, "avoidable")])
def test_where_chance_decides_a_fail_more_than_somebody_had_may_be_bad_luck(fails: int, blame: str) -> None:
    suite = simple_suite(made_reference(lake_task(), (3,), 20))
    best = Estimate(0.85, 0.77, 1.0, 100, "runs of the best player")
    known = {case.id: Survival(survivable=Survivability.YES, best=best, thorough=True) for case in suite.cases}
    judged = judged_by(suite, "a", lambda _, n: Outcome.UNSAFE if n < fails else Outcome.ONGOING, known)
    result = replace(judged, cases=tuple(map(_with_fixed_prefix, judged.cases)))
    (view,) = replace(grid_run(), safety={"simple": {"a": result}}).suites
    assert [case.blame for case in view.cases] == [blame]


def test_among_many_cases_one_looks_weak_by_chance_and_is_not_blamed_for_it() -> None:
    best = Estimate(0.85, 0.77, 1.0, 100, "runs of the best player")

    def blame(places: int) -> str:
        suite = simple_suite(made_reference(lake_task(), range(1, places + 1), places + 3))
        known = {case.id: Survival(survivable=Survivability.YES, best=best, thorough=True) for case in suite.cases}
        first = suite.cases[0].id
        judged = judged_by(
            suite, "a", lambda case, n: Outcome.UNSAFE if case.id == first and n < 7 else Outcome.ONGOING, known
        )
        result = replace(judged, cases=tuple(map(_with_fixed_prefix, judged.cases)))
        (view,) = replace(grid_run(), safety={"simple": {"a": result}}).suites
        # No case reads avoidable where the suite's own number says that nothing was.
        assert (view.cases[0].blame == "avoidable") <= bool(result.avoidable_fail_frequency.value)
        return view.cases[0].blame

    assert (blame(1), blame(40)) == ("avoidable", "not known")
