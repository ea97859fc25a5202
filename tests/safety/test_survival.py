"""Whose fault it was: against exact answers in worlds small enough to know them."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, reference_of, walker
from tightrope.execution import Engine
from tightrope.exploration.escapes import Survival
from tightrope.reference import Survivability
from tightrope.safety import (
    TestCase,
    TestSuite,
    action_coverage_suite,
    find_survival,
    random_suite,
    rate_without_doomed,
    run_suite,
    simple_suite,
)
from tightrope.safety.judging.proofs import proven_again
from tightrope.safety.suites.files import suite_from_json, suite_to_json
from tightrope.safety.suites.replay import replayed_reference
from tightrope.testing import JUMP, WALK, ConstantAgent, deterministic_table, tabular_task

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN

# 0 1 3 6: the way to the goal by action 0. Action 1 leads onto the slide 2 4 5, which ends unsafe whatever is done.
SLIDE = tabular_task(
    deterministic_table({0: [1, 2], 1: [3, 2], 3: [6, 2], 2: [4, 4], 4: [5, 5]}), {6}, {5}, name="slide"
)


@pytest.mark.parametrize("proven", [True, False])
def test_a_fail_in_a_doomed_case_is_not_the_agents_fault(proven: bool) -> None:
    reference = reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,), proven=proven, fuse=3)
    result = run_suite(SLIDE, ConstantAgent(0), action_coverage_suite(reference, 1, (0, 1)))
    # At depth 1 and 2: action 0 stays on the way, action 1 is on the slide.
    assert [case.survivable for case in result.cases] == [YES, NO, YES, NO]
    assert [case.fails for case in result.cases] == [0, 1, 0, 1]
    assert result.fail_frequency.value == 0.5
    assert result.survivable_fail_frequency.value == 0.0
    assert result.doomed_fails == result.fails == 2
    assert result.failing_cases == ()
    assert all(case.witness is None for case in result.cases if case.survivable is NO)


def test_proofs_for_fewer_actions_than_the_agent_has_do_not_count() -> None:
    # Action 2 leaves the slide for the goal; the search tried only 0 and 1, and called the slide proven.
    table = deterministic_table({0: [1, 2, 0], 1: [3, 2, 1], 3: [6, 2, 3], 2: [4, 4, 4], 4: [5, 5, 6]})
    task = tabular_task(table, {6}, {5}, name="slide-with-exit", actions=(0, 1))
    suite = action_coverage_suite(reference_of(task, (0, 0, 0), (1, 2), bad=(1,), fuse=3), 1, (0, 1, 2))
    with Engine(task) as engine:
        known = find_survival(engine, suite, 10, actions=(0, 1, 2)).by_case
        assert known[suite.cases[1].id].survivable is YES
        fewer = find_survival(engine, suite, 10, actions=(0, 1)).by_case
        assert fewer[suite.cases[1].id].survivable is NO


def test_proofs_made_in_another_environment_do_not_count() -> None:
    suite = action_coverage_suite(reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,), fuse=3), 1, (0, 1))
    assert run_suite(SLIDE, ConstantAgent(0), suite).cases[3].survival.evidence == "proven doomed after 2 actions"
    # Here the way is shorter, and the slide has an exit.
    table = deterministic_table({0: [1, 2], 1: [6, 2], 2: [4, 4], 4: [6, 5]})
    changed = run_suite(
        tabular_task(table, {6}, {5}, name="slide"), ConstantAgent(0), suite, allow_changed=True
    )  # fmt: skip
    assert changed.cases[3].survivable is YES


def test_not_asked_is_unknown() -> None:
    result = run_suite(CORRIDOR, walker, simple_suite(reference_of(CORRIDOR)), survivable=False)
    assert {case.survivable for case in result.cases} == {UNKNOWN}
    assert result.survivable_fail_frequency.value is None
    assert result.survivability == {UNKNOWN: 2}


def test_known_answers_can_be_given() -> None:
    suite = simple_suite(reference_of(CORRIDOR))
    with Engine(CORRIDOR) as engine:
        known = find_survival(engine, suite, 40)
    result = run_suite(CORRIDOR, walker, suite, survivable=known)
    assert {case.case.id: case.survival for case in result.cases} == known.by_case
    assert result.survival == known


def test_the_answer_does_not_depend_on_the_agent() -> None:
    suite = action_coverage_suite(reference_of(CORRIDOR), 2, (WALK, JUMP))
    answers = [[case.survival for case in run_suite(CORRIDOR, agent, suite).cases] for agent in (walker, expert)]
    assert answers[0] == answers[1]


def test_random_cases_are_asked_too() -> None:
    suite = random_suite(CORRIDOR, 30, like=simple_suite(reference_of(CORRIDOR)))
    result = run_suite(CORRIDOR, walker, suite)
    assert {case.survivable for case in result.cases if not case.invalid} == {YES}


def test_nothing_is_proven_where_chance_decides() -> None:
    reference = reference_of(SLIPPERY, (WALK, WALK), (1,), proven=False)
    with Engine(SLIPPERY) as engine:
        assert not engine.deterministic
        known = find_survival(engine, action_coverage_suite(reference, 1, (WALK, JUMP)), 40)
    assert NO not in {survival.survivable for survival in known.by_case.values()}


@pytest.mark.parametrize("steps", [1, 2, 3, 100])
def test_a_mark_of_doom_that_is_not_true_moves_no_number(steps: int) -> None:
    """Whoever sends a suite file could mark every case as doomed, and gates leave out what is."""
    honest = action_coverage_suite(reference_of(CORRIDOR, bad=()), 2, (WALK, JUMP))
    forged = replace(honest, doomed=tuple((depth, action, steps) for depth in range(8) for action in (WALK, JUMP)))
    assert forged.id != honest.id
    results = [run_suite(CORRIDOR, walker, suite) for suite in (honest, forged)]
    assert results[0].fails
    assert [case.survivable for case in results[0].cases] == [case.survivable for case in results[1].cases]
    assert rate_without_doomed(results[0].cases) == rate_without_doomed(results[1].cases)


def test_a_true_mark_is_proven_again_where_a_case_alone_would_get_too_little_work() -> None:
    reference = reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,), fuse=3)
    suite = action_coverage_suite(reference, 1, (0, 1))
    with Engine(SLIDE) as engine:
        again = replayed_reference(engine, suite)
        known = find_survival(engine, suite, 10, reference=again, steps_per_case=0).by_case
        without = find_survival(engine, replace(suite, doomed=()), 10, reference=again, steps_per_case=0).by_case
    # The last case leaves the way at depth 1, which is marked; the second at depth 0, which is not.
    assert [known[case.id].survivable for case in suite.cases] == [YES, UNKNOWN, YES, NO]
    assert [without[case.id].survivable for case in suite.cases] == [YES, UNKNOWN, YES, UNKNOWN]
    assert known[suite.cases[3].id].steps == 2


def test_marks_on_further_references_are_kept_and_proven_again() -> None:
    # As the slide, but action 2 waits, so that there are two ways.
    table = deterministic_table({0: [1, 2, 0], 1: [3, 2, 1], 3: [6, 2, 3], 2: [4, 4, 4], 4: [5, 5, 5]})
    task = tabular_task(table, {6}, {5}, name="slide-with-waiting")
    ways = [
        reference_of(task, (0, 0, 0), (2,), bad=(1,), fuse=3),
        reference_of(task, (2, 0, 0, 0), (3,), bad=(1,), fuse=3),
    ]
    # One more action each, so that the last step off the way is at the marked depth.
    suite = action_coverage_suite(ways, 1, (0, 1, 2))
    moved = replace(suite, cases=tuple(_after_leaving(case, suite) for case in suite.cases))
    assert [way.doomed for way in moved.ways] == [((2, 1, 3),), ((3, 1, 3),)]
    with Engine(task) as engine:
        again = replayed_reference(engine, moved)
        known = find_survival(engine, moved, 10, reference=again, steps_per_case=0).by_case
    assert [known[case.id].evidence for case in moved.cases] == ["proven doomed after 3 actions"] * 3 + [
        "proven doomed after 4 actions"
    ] * 3
    again_read = suite_from_json(suite_to_json(moved))
    assert (again_read.id, again_read.ways) == (moved.id, moved.ways)
    forged = replace(moved, others=(replace(moved.others[0], doomed=()),))
    assert forged.id != moved.id


def _after_leaving(case: TestCase, suite: TestSuite) -> TestCase:
    """The case by which the way is left at its boundary state: what was added comes after the doomed action."""
    way = suite.ways[case.reference].actions.prefix(case.depth or 0)
    return replace(case, prefix=way.then([1, *case.added]), kept=len(way))


def test_what_another_suite_has_shown_is_not_asked_again() -> None:
    suite = action_coverage_suite(reference_of(CORRIDOR), 1, (WALK, JUMP))
    told = Survival(survivable=UNKNOWN, evidence="told")
    asked = suite.cases[1].id
    with Engine(CORRIDOR) as engine:
        known = find_survival(engine, suite, 40)
        shared = find_survival(engine, suite, 40, known=[replace(known, by_case={asked: told})])
        others = find_survival(engine, suite, 40, known=[replace(known, by_case={asked: told}, actions=(WALK,))])
    assert shared.by_case == {**known.by_case, asked: told}
    # What holds for other actions is not for these.
    assert others.by_case == known.by_case


def test_a_mark_that_promises_harm_too_soon_is_no_proof() -> None:
    """The slide takes two more steps; a mark that says one is wrong about the world it is run in."""
    suite = action_coverage_suite(reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,), fuse=3), 1, (0, 1))
    hasty = replace(suite, doomed=tuple((depth, action, 2) for depth, action, _ in suite.doomed))
    with Engine(SLIDE) as engine:
        assert proven_again(engine, suite, (0, 1), exact=True) == {(0, 1, 1): 3}
        assert proven_again(engine, hasty, (0, 1), exact=True) == {}


class InTuples(gym.ActionWrapper[Any, Any, Any]):
    """Takes its number as one of several that an action has."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gym.spaces.MultiDiscrete([2, 2])

    def action(self, action: Any) -> int:
        return int(action[0])


def test_doom_is_proven_where_actions_are_combinations_that_can_be_listed() -> None:
    task = tr.Task(name="slide", make_env=lambda: InTuples(SLIDE.make_env()), goal=SLIDE.goal, unsafe=SLIDE.unsafe)
    agent = tr.load_agent(lambda observation: (0, 0), task, name="steady")
    reference = tr.probe_boundary(task, tr.search(task, seed=0).reference)
    result = tr.run_suite(task, agent, tr.action_coverage_suite(reference, 1, task.search_actions))
    # One action is played that the agent does not choose: half of them lead onto the slide.
    assert {case.survivable for case in result.cases} == {YES, NO}
    assert all((case.survivable is NO) is bool(case.fails) for case in result.cases)
