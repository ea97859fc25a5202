"""Whose fault it was: against exact answers in worlds small enough to know them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, reference_of, walker
from tightrope.execution import Engine
from tightrope.reference import Survivability
from tightrope.safety import action_coverage_suite, find_survival, random_suite, run_suite, simple_suite
from tightrope.safety.escape import EscapeTask, find_escapes
from tightrope.simulation import open_simulator
from tightrope.simulation.opening import conformance_of
from tightrope.tasks import Task, parts_key
from tightrope.testing import JUMP, WALK, ConstantAgent, deterministic_table, tabular_task
from tightrope.trace import ActionTrace

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN

# 0 1 3 6: the way to the goal by action 0. Action 1 leads onto the slide 2 4 5, which ends unsafe whatever is done.
SLIDE = tabular_task(
    deterministic_table({0: [1, 2], 1: [3, 2], 3: [6, 2], 2: [4, 4], 4: [5, 5]}), {6}, {5}, name="slide"
)


@pytest.mark.parametrize("proven", [True, False])
def test_a_fail_in_a_doomed_case_is_not_the_agents_fault(proven: bool) -> None:
    reference = reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,), proven=proven)
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
    suite = action_coverage_suite(reference_of(task, (0, 0, 0), (1, 2), bad=(1,)), 1, (0, 1, 2))
    with Engine(task) as engine:
        known = find_survival(engine, suite, 10)
        assert known[suite.cases[1].id].survivable is YES
        fewer = find_survival(engine, suite, 10, actions=(0, 1))
        assert fewer[suite.cases[1].id].survivable is NO


def test_proofs_made_in_another_environment_do_not_count() -> None:
    suite = action_coverage_suite(reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,)), 1, (0, 1))
    assert (
        run_suite(SLIDE, ConstantAgent(0), suite).cases[3].survival.evidence == "proven by the search after 2 actions"
    )
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
    assert {case.case.id: case.survival for case in result.cases} == known


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
    assert NO not in {survival.survivable for survival in known.values()}


def test_a_budget_too_small_is_unknown() -> None:
    table = {cell: [cell + 1, 99] if cell % 2 else [99, cell + 1] for cell in range(60)}
    task = tabular_task(deterministic_table(table), {60}, {99}, name="zigzag")
    work = EscapeTask(
        prefixes=(ActionTrace(task.label, 0, (1,)),),
        reference=(),
        actions=(0, 1),
        provable=True,
        length=50,
        steps_per_case=20,
    )
    assert find_escapes(task, work)[0].survivable is UNKNOWN
    assert "20 steps" in find_escapes(task, work)[0].evidence


def random_world(successors: list[tuple[int, int]], key: bool) -> Task:
    states = len(successors)
    table = deterministic_table({state: list(row) for state, row in enumerate(successors[:-2])})
    fields = {"state_key": lossy_key} if key else {}
    return tabular_task(table, {states - 2}, {states - 1}, name="random-world", **fields)


def lossy_key(env: object, observation: int, info: object) -> int:
    return observation // 3


lossy_key.lossy = True  # type: ignore[attr-defined]


def can_survive(successors: list[tuple[int, int]], state: int, length: int) -> bool:
    """By the definition: some sequence does not meet the unsafe state within so many steps, or reaches the goal."""
    goal, unsafe = len(successors) - 2, len(successors) - 1
    if state == goal or length == 0:
        return True
    return any(
        successor != unsafe and can_survive(successors, successor, length - 1) for successor in set(successors[state])
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 8).flatmap(lambda n: st.lists(
    st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=n, max_size=n)), st.booleans())  # fmt: skip
def test_yes_and_no_are_exact_with_enough_budget(successors: list[tuple[int, int]], lossy: bool) -> None:
    task, length = random_world(successors, lossy), 6
    conformance_of(task, conformance_of(CORRIDOR))  # another tabular world: checking each would take a second
    prefixes = [ActionTrace(task.label, 0, actions) for actions in ((), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1))]
    work = EscapeTask(
        prefixes=tuple(prefixes), reference=(), actions=(0, 1), provable=True, length=length, steps_per_case=10_000
    )
    for prefix, escape in zip(prefixes, find_escapes(task, work), strict=True):
        state = 0
        for action in prefix.actions:
            state = successors[state][action] if state < len(successors) - 2 else len(successors)
        if state >= len(successors) - 2:
            assert escape.survivable is UNKNOWN
            continue
        assert escape.survivable is (YES if can_survive(successors, state, length) else NO)
        if escape.witness is not None:
            assert survives(task, prefix, escape.witness, length)


def survives(task: Task, prefix: ActionTrace, witness: tuple, length: int) -> bool:
    simulator = open_simulator(task)
    simulator.reset(prefix.seed)
    for action in (*prefix.actions, *witness):
        simulator.step(action)
    return simulator.outcome == "goal" or (simulator.outcome == "ongoing" and len(witness) == length)


def test_a_lossy_key_is_marked_as_such() -> None:
    assert not CORRIDOR.with_options(state_key=lossy_key).key_is_exact
    assert not CORRIDOR.with_options(state_key=parts_key(0)).key_is_exact
