"""Escapes from situations: against exact answers in worlds small enough to know them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exploration.oracles import tabular_conformance
from tightrope.exploration.escapes import EscapeTask, Survival, find_escapes
from tightrope.reference import Survivability
from tightrope.simulation import open_simulator
from tightrope.simulation.opening import conformance_of
from tightrope.tasks import Task
from tightrope.tasks.keys import LossyKey
from tightrope.testing import deterministic_table, tabular_task
from tightrope.trace import ActionTrace

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN


def test_a_budget_too_small_is_unknown() -> None:
    table = {cell: [cell + 1, 99] if cell % 2 else [99, cell + 1] for cell in range(60)}
    task = tabular_task(deterministic_table(table), {60}, {99}, name="zigzag")
    work = EscapeTask(
        prefixes=(ActionTrace(task.label, 0, (1,)),),
        actions=(0, 1),
        deterministic=True,
        provable=True,
        length=50,
        steps_per_case=20,
    )
    [answer] = find_escapes(task, work).answers
    assert answer.survivable is UNKNOWN
    assert "20 steps" in answer.evidence


def random_world(successors: list[tuple[int, int]], key: bool) -> Task:
    states = len(successors)
    table = deterministic_table({state: list(row) for state, row in enumerate(successors[:-2])})
    fields = {"state_key": lossy_key} if key else {}
    return tabular_task(table, {states - 2}, {states - 1}, name="random-world", **fields)


@LossyKey
def lossy_key(env: object, observation: int, info: object) -> int:
    return observation // 3


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
    conformance_of(task, tabular_conformance())  # another tabular world: checking each would take a second
    prefixes = [ActionTrace(task.label, 0, actions) for actions in ((), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1))]
    work = EscapeTask(
        prefixes=tuple(prefixes),
        actions=(0, 1),
        deterministic=True,
        provable=True,
        length=length,
        steps_per_case=10_000,
    )
    for prefix, escape in zip(prefixes, find_escapes(task, work).answers, strict=True):
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


def test_what_is_known_is_known_for_a_horizon() -> None:
    doomed = Survival(survivable=NO, evidence="proof", steps=10)
    assert [doomed.within(length).survivable for length in (9, 10, 40)] == [UNKNOWN, NO, NO]
    escape = Survival(survivable=YES, witness=(0,) * 10, evidence="seen", steps=10)
    assert [escape.within(length).survivable for length in (9, 10, 40)] == [YES, YES, UNKNOWN]
    ended = Survival(survivable=YES, witness=(0,) * 10, evidence="goal")
    assert ended.within(1000) is ended
