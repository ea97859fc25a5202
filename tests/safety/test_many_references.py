from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tightrope as tr
from tightrope.errors import NotReproducible, UsageError
from tightrope.report.verdict import _guidance_text
from tightrope.safety.suites.files import suite_from_json, suite_to_json
from tightrope.testing import corridor_task

TASK = corridor_task(length=12, holes=(3, 6, 9))
WAYS = [(0, 0, 1, 0, 1, 0, 1, 0, 0), (1, 1, 0, 1, 0, 1, 1), (0, 0, 1, 0, 1, 0, 1, 1)]
REFERENCES = tr.find_references(
    TASK, 3, budget=tr.Budget(steps=6_000), demonstrations=[tr.ActionTrace("corridor", 0, way) for way in WAYS]
)
WALKS = tr.load_agent(lambda observation: 0, TASK, name="walks")


def test_each_case_knows_its_reference_and_lies_on_it() -> None:
    suite = tr.simple_suite(REFERENCES)
    assert len(REFERENCES) == 3
    assert len(suite) == sum(len(reference.depths) for reference in REFERENCES)
    assert {case.reference for case in suite.cases} == {0, 1, 2}
    assert len({case.boundary for case in suite.cases}) == len(suite)
    for case in suite.cases:
        reference = REFERENCES[case.reference]
        assert case.prefix == reference.actions.prefix(len(case.prefix))
        assert case.depth in reference.depths
        assert suite.depths[case.boundary] == case.depth


@pytest.mark.parametrize(
    "make",
    [
        tr.simple_suite,
        lambda references: tr.interval_suite(references, 1),
        lambda references: tr.action_coverage_suite(references, 1, (0, 1)),
    ],
)
def test_the_cases_are_those_of_each_reference_alone(make) -> None:
    together = make(REFERENCES)
    apart = [make(reference) for reference in REFERENCES]
    assert [case.id for case in together.cases] == [case.id for suite in apart for case in suite.cases]
    assert together.others
    assert make(REFERENCES[:1]) == make(REFERENCES[0])


def test_they_are_portable_files() -> None:
    suite = tr.interval_suite(REFERENCES, 1)
    again = suite_from_json(json.loads(json.dumps(suite_to_json(suite))))
    assert again.id == suite.id
    assert again.cases == suite.cases
    assert again.ways == suite.ways


def test_the_id_covers_every_reference() -> None:
    suite = tr.simple_suite(REFERENCES)
    other = replace(suite, others=(suite.others[0], replace(suite.others[1], checksums=(1, 2))))
    assert other.id != suite.id


def test_what_is_said_in_general_is_over_the_references() -> None:
    result = tr.run_suite(TASK, WALKS, tr.simple_suite(REFERENCES))
    assert result.fail_frequency_in_general.n == 3
    assert result.fail_frequency.value == pytest.approx(sum(case.fails for case in result.cases) / len(result.cases))


def test_references_that_are_here_because_an_agent_failed_are_no_sample(tmp_path: Path) -> None:
    references = REFERENCES
    chosen = replace(references[2], agent="walker", by_failing=True)
    plain, mixed = tr.simple_suite(references), tr.simple_suite([*references[:2], chosen])
    assert (plain.chosen, mixed.chosen) == (frozenset(), {2})
    assert plain.id != mixed.id
    assert tr.load_suite(tr.save_suite(mixed, tmp_path / "mixed.suite.json")) == mixed
    result = tr.run_suite(TASK, WALKS, mixed)
    assert result.fail_frequency == tr.run_suite(TASK, WALKS, plain).fail_frequency, "on these cases they count"
    general = result.fail_frequency_in_general
    assert general.n == 2
    assert "without 1 reference chosen by where an agent fails" in general.method
    difference = tr.compare_safety(result, result).difference_in_general
    assert (difference.n, "without 1 reference" in difference.method) == (2, True)
    alone = tr.run_suite(TASK, WALKS, tr.simple_suite(chosen)).fail_frequency_in_general
    assert alone.value is None
    assert "no sample" in alone.method


def test_what_was_chosen_because_it_fails_does_not_show_that_the_search_pays() -> None:
    references = [replace(each, agent="walker", by_failing=True) for each in REFERENCES[:1]] + list(REFERENCES[1:])
    suite, control = tr.simple_suite(references), tr.uniform_suite(references, 12, seed=0)
    worth = tr.compare_guidance(tr.run_suite(TASK, WALKS, suite), tr.run_suite(TASK, WALKS, control))
    for counted, of in zip(worth.cases, (suite, control), strict=True):
        assert counted == len({case.id for case in of.cases if case.reference != 0})
    assert "not chosen by where an agent fails" in worth.sentence()


def test_where_all_was_chosen_because_it_fails_the_sentence_says_so() -> None:
    chosen = [replace(each, agent="walker", by_failing=True) for each in REFERENCES]
    suite, control = tr.simple_suite(chosen), tr.uniform_suite(chosen, 6, seed=0)
    worth = tr.compare_guidance(tr.run_suite(TASK, WALKS, suite), tr.run_suite(TASK, WALKS, control))
    assert worth.sentence().endswith("lies on a reference chosen by where an agent fails")


def test_where_all_boundary_states_were_chosen_because_it_fails_the_control_is_drawn_from_other_references() -> None:
    """States of the chosen ones told nothing of how often it fails elsewhere: on LunarLander, nothing did."""
    chosen = [replace(each, agent="walker", by_failing=True) for each in REFERENCES[:1]]
    references = [*chosen, *(replace(each, boundary_states=()) for each in REFERENCES[1:])]
    suite, control = tr.simple_suite(references), tr.uniform_suite(references, 8, seed=0)
    assert [sum(case.reference == number for case in control.cases) for number in range(3)] == [0, 4, 4]
    found = tr.run_suite(TASK, WALKS, control)
    assert found.fail_frequency_in_general.n == 2
    worth = tr.compare_guidance(tr.run_suite(TASK, WALKS, suite), found)
    assert worth.pays is None
    assert worth.elsewhere.startswith("at 8 uniformly drawn states of other references it fails ")
    assert worth.sentence().endswith(f"by where an agent fails; {worth.elsewhere}")
    assert _guidance_text(worth).endswith(worth.elsewhere), "the report says it, too"


def test_an_environment_that_changed_is_noticed_on_any_of_them() -> None:
    suite = tr.simple_suite(REFERENCES)
    changed = replace(suite.others[1], checksums=(*suite.others[1].checksums[:-1], 7))
    agent = tr.load_agent(lambda observation: 0, TASK, name="walks")
    with pytest.raises(NotReproducible, match="has changed since"):
        tr.run_suite(TASK, agent, replace(suite, others=(suite.others[0], changed)))


def test_no_reference_is_no_suite() -> None:
    with pytest.raises(UsageError, match="needs a reference"):
        tr.simple_suite([])


def test_a_case_deeper_than_the_first_reference_is_judged_as_alone() -> None:
    """What the suite marks as doomed is of its first reference, which may be shorter than the others."""
    ordered = sorted(REFERENCES, key=lambda reference: len(reference.actions))
    long = tr.simple_suite(ordered[-1])
    short = tr.simple_suite(ordered[0])
    short = replace(
        short, reference=short.reference.prefix(1), checksums=short.checksums[:2], depths=(), cases=(), doomed=()
    )
    suite = tr.TestSuite.joined([short, long])
    agent = tr.load_agent(lambda cell: 0, TASK, name="walker")
    alone = tr.run_suite(TASK, agent, long)
    together = tr.run_suite(TASK, agent, suite)
    assert [case.verdicts for case in together.cases] == [case.verdicts for case in alone.cases]
    assert [case.survivable for case in together.cases] == [case.survivable for case in alone.cases]


def test_where_no_reference_joins_the_cases_each_is_a_sample_of_its_own() -> None:
    """Whatever kind of suite it is: a package may bring one of its own."""
    joined = tr.simple_suite(REFERENCES)
    drawn = tr.random_suite(TASK, 8, seed=1, like=joined)
    assert [suite.by_case for suite in (drawn, joined)] == [True, False]
    for suite in (drawn, replace(drawn, kind="drawn otherwise")):
        result = tr.run_suite(TASK, WALKS, suite)
        assert result.fail_frequency_in_general.n == len(suite) - result.invalid_cases == 5
        assert tr.compare_safety(result, result).difference_in_general.n == 5
