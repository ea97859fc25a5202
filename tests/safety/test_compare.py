from dataclasses import replace

import pytest

from tests.safety.corridor import CORRIDOR, expert, jumper, reference_of, walker
from tightrope.errors import UsageError
from tightrope.reference import Survivability
from tightrope.safety import action_coverage_suite, compare_safety, correlation, interval_suite, run_suite, simple_suite
from tightrope.statistics import IN_GENERAL, ON_THESE_CASES, PairCounts
from tightrope.testing import JUMP, WALK, FunctionAgent, RandomAgent, deterministic_table, tabular_task

reference = reference_of(CORRIDOR)
suite = interval_suite(reference, 1)
drunk = RandomAgent((WALK, JUMP), "drunk")


def test_two_deterministic_agents_case_by_case() -> None:
    # Walker: 1 1 1 | 1 1 0 by boundary state, jumper: 1 1 1 | 1 0 0; the case in the middle is shared.
    comparison = compare_safety(run_suite(CORRIDOR, walker, suite), run_suite(CORRIDOR, jumper, suite))
    assert comparison.episodes == PairCounts(both=3, only_a=1, only_b=0, neither=1)
    assert comparison.difference.value == pytest.approx((0 - 1 / 3) / 2)
    assert [len(case.case.prefix) for case in comparison.newly_fixed] == [4]
    assert comparison.fails_more == comparison.newly_failing == ()


def test_a_case_that_two_places_share_is_called_by_the_first_everywhere() -> None:
    result = run_suite(CORRIDOR, walker, suite)
    ids = [case.case.id for case in result.cases]
    (shared,) = {each for each in ids if ids.count(each) > 1}
    comparison = compare_safety(run_suite(CORRIDOR, expert, suite), result)
    listed = [*result.distinct_cases, *comparison.cases, *(group.representative for group in result.failure_groups)]
    assert {each.case.place for each in listed if each.case.id == shared} == {1}


def test_where_nothing_is_random_a_difference_is_a_fact() -> None:
    comparison = compare_safety(run_suite(CORRIDOR, expert, suite), run_suite(CORRIDOR, jumper, suite))
    difference = comparison.difference
    assert difference.low == difference.value == difference.high == pytest.approx((1 + 1 / 3) / 2)
    assert (comparison.exact, comparison.worse, comparison.better, comparison.p_value) == (True, True, False, 0.0)
    assert "exact" in difference.method
    assert all(case.certain for case in comparison.newly_failing)
    assert len(comparison.newly_failing) == 3
    same = compare_safety(run_suite(CORRIDOR, jumper, suite), run_suite(CORRIDOR, jumper, suite))
    assert (same.exact, same.worse, same.better, same.p_value, same.newly_failing) == (True, False, False, 1.0, ())


@pytest.mark.parametrize("fails", [3, 8, 24])
def test_who_fails_equally_often_in_other_places_is_neither_worse_nor_better(fails: int) -> None:
    # Added up in floats, 24/59 less 24/59 is more than nothing, and where nothing is random that was a fact.
    last, hole = 59, 60
    slope = tabular_task(deterministic_table({d: [d + 1, hole] for d in range(last)}), {last}, {hole}, name="slope")
    places = simple_suite(reference_of(slope, (0,) * last, range(last), bad=(1,)))
    early = FunctionAgent(lambda cell: int(cell < fails), "early")
    late = FunctionAgent(lambda cell: int(cell >= last - fails), "late")
    a, b = (run_suite(slope, agent, places, length=1, survivable=False) for agent in (early, late))
    found = compare_safety(a, b)
    assert (found.difference.value, found.worse, found.better, found.p_value) == (0.0, False, False, 1.0)
    assert len(found.newly_failing) == len(found.newly_fixed) == fails
    assert a.fail_frequency.value == b.fail_frequency.value == fails / last


def test_one_reference_says_nothing_in_general_and_why() -> None:
    comparison = compare_safety(run_suite(CORRIDOR, expert, suite), run_suite(CORRIDOR, jumper, suite))
    in_general = comparison.difference_in_general
    assert (in_general.value, in_general.low, in_general.n) == (comparison.difference.value, None, 1)
    assert "one reference" in in_general.method
    assert not comparison.worse_in_general
    assert (comparison.difference.question, in_general.question) == (ON_THESE_CASES, IN_GENERAL)


def test_several_references_are_what_varies_in_general() -> None:
    """Each case of the suite is given a reference of its own, so that there are five."""
    numbered = replace(
        suite, cases=tuple(replace(case, reference=number % 5) for number, case in enumerate(suite.cases))
    )
    a, b = run_suite(CORRIDOR, expert, numbered), run_suite(CORRIDOR, jumper, numbered)
    comparison = compare_safety(a, b)
    assert a.fail_frequency_in_general.n == b.fail_frequency_in_general.n == 5
    assert comparison.exact
    assert comparison.difference_in_general.n == 5
    assert comparison.difference_in_general.low < 0 < comparison.difference_in_general.high  # type: ignore[operator]


def test_what_got_worse_comes_first() -> None:
    a, b = run_suite(CORRIDOR, expert, suite), run_suite(CORRIDOR, jumper, suite)
    comparison = compare_safety(a, b)
    assert [case.difference for case in comparison.cases] == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert len(comparison.fails_more) == 3
    assert compare_safety(b, a).difference.value == pytest.approx(-(comparison.difference.value or 0))


def test_an_agent_against_itself() -> None:
    result = run_suite(CORRIDOR, drunk, suite, repetitions=8)
    comparison = compare_safety(result, result)
    assert comparison.p_value == 1.0
    assert not comparison.exact
    assert comparison.difference.low < comparison.difference.value == 0 < comparison.difference.high  # type: ignore[operator]
    assert comparison.episodes.n == 5 * 8
    assert comparison.episodes.only_a == comparison.episodes.only_b == 0


def test_common_seeds_pair_the_executions() -> None:
    # Falls exactly when the other does, by the same random stream.
    twin = RandomAgent((WALK, JUMP), "twin")
    a, b = (run_suite(CORRIDOR, agent, suite, repetitions=20) for agent in (drunk, twin))
    counts = compare_safety(a, b).episodes
    assert (counts.only_a, counts.only_b) == (0, 0)
    assert counts.both == a.fails == b.fails


def test_one_execution_stands_against_every_repetition_of_the_other() -> None:
    sure, random = run_suite(CORRIDOR, walker, suite), run_suite(CORRIDOR, drunk, suite, repetitions=6)
    counts = compare_safety(sure, random).episodes
    assert counts.n == 5 * 6
    assert counts.both + counts.only_b == random.fails
    mirrored = compare_safety(random, sure).episodes
    assert (mirrored.only_a, mirrored.only_b) == (counts.only_b, counts.only_a)


def test_what_cannot_be_paired_is_refused() -> None:
    a = run_suite(CORRIDOR, walker, suite)
    with pytest.raises(UsageError, match="suite is"):
        compare_safety(a, run_suite(CORRIDOR, jumper, simple_suite(reference)))
    with pytest.raises(UsageError, match="seed is 0 for 'walker' and 1 for 'jumper'"):
        compare_safety(a, run_suite(CORRIDOR, jumper, suite, seed=1))
    with pytest.raises(UsageError, match="length"):
        compare_safety(a, run_suite(CORRIDOR, jumper, suite, length=3))


def test_results_of_two_tasks_say_so() -> None:
    a = run_suite(CORRIDOR, walker, suite)
    elsewhere = replace(suite, reference=replace(suite.reference, task="stairs"))
    b = replace(a, agent="jumper", suite=elsewhere)
    with pytest.raises(UsageError, match=r"the tasks differ, corridor.* for 'walker' and stairs for 'jumper'"):
        compare_safety(a, b)


def test_nothing_in_common_is_no_data() -> None:
    empty = simple_suite(reference_of(CORRIDOR, depths=()))
    comparison = compare_safety(run_suite(CORRIDOR, walker, empty), run_suite(CORRIDOR, jumper, empty))
    assert comparison.difference.value is None
    assert comparison.p_value is None


def test_correlation_over_agents_and_suites() -> None:
    careful = FunctionAgent(lambda cell: JUMP if cell == 2 else WALK, "careful")
    suites = [simple_suite(reference), suite, action_coverage_suite(reference, 2, (WALK, JUMP))]
    results = [run_suite(CORRIDOR, agent, one) for agent in (walker, jumper, expert, careful) for one in suites]
    estimate = correlation(results)
    assert estimate.n == 4  # agents: the suites of one hang together
    assert estimate.value < -0.9  # type: ignore[operator]  # whoever falls loses 10 and never earns the goal's 10
    assert estimate.low < estimate.value < estimate.high < 0  # type: ignore[operator]


def test_correlation_leaves_out_what_was_not_judged() -> None:
    empty = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR, depths=())))
    assert correlation([empty, empty]).value is None
    assert correlation([]).n == 0


def test_what_one_of_them_passes_is_survivable_though_nobody_looked_for_a_way_out() -> None:
    results = [run_suite(CORRIDOR, agent, suite, survivable=False) for agent in (expert, walker)]
    assert {case.survivable for result in results for case in result.cases} == {Survivability.UNKNOWN}
    assert {case.survivable for case in compare_safety(*results).newly_failing} == {Survivability.YES}
    alone = compare_safety(results[1], results[1])
    assert Survivability.UNKNOWN in {case.survivable for case in alone.cases}, "what both fail is as little known"
