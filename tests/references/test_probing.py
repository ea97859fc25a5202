"""Probing: every boundary state of a reference, and no other; witnesses that survive; bounded and shared work."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from tests.exploration.oracles import World, doomed_states, doomed_within, true_boundary, worlds
from tightrope.errors import UsageError
from tightrope.execution import Engine
from tightrope.exploration.sameness import Sameness
from tightrope.reference import Survivability
from tightrope.references.probe_blocks import survey
from tightrope.tasks.keys import LossyKey
from tightrope.testing import JUMP, WALK, corridor_task

PLENTY = tr.Budget(steps=1_000_000)


def probed(task, **options):
    """The probed reference of a task, or None where the search finds no reference."""
    reference = tr.search(task, "dfs").reference
    return None if reference is None else tr.probe_boundary(task, reference, **{"budget": PLENTY, **options})


@settings(max_examples=200, deadline=None)
@given(worlds(max_states=20))
def test_precision_and_recall_are_one(world):
    reference = probed(world.task())
    if reference is None:
        return
    assert {state.depth for state in reference.boundary_states} == true_boundary(world, reference.trace.keys)
    assert all(state.proven for state in reference.boundary_states)
    assert reference.probing.unknown == 0
    assert reference.probing.stop_reason is tr.StopReason.COMPLETED


@settings(max_examples=200, deadline=None)
@given(worlds(max_states=20))
def test_every_successor_is_classified_rightly_and_witnesses_survive(world):
    reference = probed(world.task())
    doomed = doomed_states(world)
    for state in reference.boundary_states if reference else ():
        here = world.table[reference.trace.keys[state.depth]]
        assert state.actions == tuple(a for a in range(len(here)) if here[a] in doomed)
        for successor in state.successors:
            assert (successor.survivable is Survivability.NO) == (here[successor.action] in doomed)
            if successor.survivable is Survivability.YES:
                check_witness(world, here[successor.action], successor)


def check_witness(world, state, successor):
    path = [state]
    for action in successor.witness:
        assert path[-1] not in world.unsafe | world.goals
        path.append(world.table[path[-1]][action])
    if successor.ending == "goal":
        assert path[-1] in world.goals
    else:
        assert successor.ending == "cycle"
        assert path[-1] == path[-1 - successor.loop]
        assert path[-1] not in world.unsafe


@LossyKey
def pairs(env, observation, info):
    return observation // 2


def exactly(env, observation, info):
    return observation


@settings(max_examples=200, deadline=None)
@given(worlds(max_states=12), st.booleans())
def test_lossy_keys_give_no_false_verdict(world, with_identity):
    task = world.task(state_key=pairs, identity=exactly if with_identity else None)
    reference = probed(task, budget=tr.Budget(steps=3000))
    doomed, state_at = doomed_states(world), [0]
    for action in reference.actions.actions if reference else ():
        state_at.append(world.table[state_at[-1]][action])
    for state in reference.boundary_states if reference else ():
        here = world.table[state_at[state.depth]]
        for successor in state.successors:
            if successor.survivable is not Survivability.UNKNOWN:
                assert (successor.survivable is Survivability.NO) == (here[successor.action] in doomed)
    if reference and with_identity:
        assert {state.depth for state in reference.boundary_states} == true_boundary(world, state_at)


@settings(max_examples=200, deadline=None)
@given(worlds(max_states=10), st.integers(1, 10))
def test_time_limits_give_no_false_verdict(world, limit):
    reference = probed(world.task(max_steps=limit))
    for state in reference.boundary_states if reference else ():
        here = world.table[reference.trace.keys[state.depth]]
        doomed = doomed_within(world, limit - state.depth - 1)
        assert all((s.survivable is Survivability.NO) == (here[s.action] in doomed) for s in state.successors)


def test_corridor_answers_by_hand():
    task = corridor_task(20, holes=(3, 6, 12))
    reference = probed(task)
    assert {(state.key, state.actions) for state in reference.boundary_states} == {
        (1, (JUMP,)), (2, (WALK,)), (4, (JUMP,)), (5, (WALK,)), (10, (JUMP,)), (11, (WALK,)),
    }  # fmt: skip
    assert (reference.probing.successors, reference.probing.doomed) == (17, 6)


def test_a_found_boundary_that_is_none_is_dropped():
    # s2 can stand still for ever, so the boundary state that Algorithm 1 sees at s1 is none.
    from tightrope.testing import paper_example

    task = paper_example()
    reference = tr.search(task, "dfs").reference
    assert [state.key for state in reference.boundary_states] == [1, 7]
    assert [state.key for state in tr.probe_boundary(task, reference).boundary_states] == [7]


def test_budget_bounds_the_steps_and_what_was_found_stays_unproven():
    task = corridor_task(400, holes=(3,), actions=[JUMP, WALK])
    reference = tr.search(task, "dfs").reference
    result = tr.probe_boundary(task, reference, budget=tr.Budget(steps=2 * len(reference) + 50))
    assert result.probing.steps <= 2 * len(reference) + 50
    assert result.probing.stop_reason is tr.StopReason.BUDGET_SPENT
    assert result.probing.unknown > 0


def test_unsettled_findings_of_the_search_stay_unproven():
    # The search leaves 1 by its depth limit; with one step of effort probing can settle nothing.
    far = {state: [state + 1, state + 1] for state in range(1, 90)}
    world = World({0: [1, 100], **far, 90: [91, 91], 100: [101, 101]}, frozenset({101}), frozenset({91}))
    task = world.task()
    reference = tr.search(task, "dfs", max_depth=5).reference
    assert [state.proven for state in reference.boundary_states] == [False]
    [state] = tr.probe_boundary(task, reference, effort=1).boundary_states
    assert (state.depth, state.actions, state.proven) == (0, (0,), False)
    assert state.evidence["budget"] == 1
    [state] = tr.probe_boundary(task, reference).boundary_states
    assert state.proven


def test_nothing_is_searched_twice(monkeypatch):
    # Names are believed here: what their tests cost would hide what the searches do.
    monkeypatch.setattr(Sameness, "to_be_tested", lambda self: False)
    # Every state of the corridor has a side track into one long doomed tunnel.
    tunnel = {state: [state + 1, state + 1] for state in range(200, 225)}
    corridor = {state: [state + 1, 200] for state in range(20)}
    world = World({**corridor, **tunnel}, frozenset({20}), frozenset({225}))
    reference = probed(world.task())
    assert reference.proven == 20
    # The survey walks the reference once; each of the three blocks walks to its depths, tries its actions and searches
    # the tunnel once.
    walks = 7 + 15 + 19
    assert reference.probing.steps == 20 + walks + 20 + 3 * 2 * 25


def test_stochastic_harm_is_found_on_the_reference_s_own_action_too():
    task = corridor_task(12, holes=(3, 6), slip=0.3)
    reference = probed(task)
    by_key = {state.key: state.actions for state in reference.boundary_states}
    # At 2 walking always falls, jumping falls when it slips; at 1 a jump falls unless it slips.
    assert by_key[2] == (WALK, JUMP)
    assert by_key[1] == (JUMP,)
    assert all(state.proven for state in reference.boundary_states)
    [lucky] = [s for state in reference.boundary_states if state.key == 1 for s in state.successors if s.action == JUMP]
    assert lucky.survivable is Survivability.YES


def test_same_result_on_every_back_end():
    task = corridor_task(150, holes=range(3, 150, 5))
    reference = tr.search(task, "dfs").reference
    inline, processes = (
        tr.probe_boundary(task, reference, budget=PLENTY, backend=backend, workers=2)
        for backend in ("inline", "processes")
    )
    assert inline.boundary_states == processes.boundary_states
    assert inline.probing.steps == processes.probing.steps


def test_cancelling_returns_what_is_known():
    task = corridor_task(150, holes=range(3, 150, 5))
    reference = tr.search(task, "dfs").reference
    rounds = []

    def interrupt_the_second_round(progress):
        rounds.append(progress)
        if len(rounds) == 2:
            raise KeyboardInterrupt

    result = tr.probe_boundary(task, reference, on_progress=interrupt_the_second_round)
    assert result.probing.stop_reason is tr.StopReason.CANCELLED
    assert result.proven > 0
    assert rounds[0].stage == "probing"


def test_where_the_search_found_nothing_there_is_nothing_to_probe() -> None:
    task = corridor_task()
    found = tr.search(task, budget=tr.Budget(steps=1)).reference
    assert found is None
    with pytest.raises(UsageError, match="the search found none"):
        tr.probe_boundary(task, found)  # type: ignore[arg-type]


def test_a_reference_of_another_task_is_refused():
    reference = tr.search(corridor_task(), "dfs").reference
    with pytest.raises(UsageError, match="belongs to task 'corridor'"):
        tr.probe_boundary(corridor_task(name="other"), reference)


def test_a_changed_environment_is_noticed():
    reference = tr.search(corridor_task(10, holes=(3,)), "dfs").reference
    with pytest.raises(tr.TightropeError, match="played from reset"):
        tr.probe_boundary(corridor_task(10, holes=(2,)), reference)


def test_a_situation_met_twice_on_the_reference_still_leads_to_the_goal():
    world = World({0: [1, 1], 1: [0, 2], 2: [3, 4]}, frozenset({4}), frozenset({3}))
    task = world.task()
    result = tr.search(task, "demonstration", demonstration=[0, 0, 0, 1, 1])
    found = survey(task, (result.reference.actions, True))
    assert found.knowledge.witness(0).actions == (0, 1, 1)
    [state] = result.reference.boundary_states
    assert (state.depth, state.actions) == (4, (0,))


def test_probing_with_a_borrowed_engine_leaves_it_open():
    task = corridor_task()
    with Engine(task) as engine:
        reference = tr.search(task, "dfs", engine=engine).reference
        first = tr.probe_boundary(task, reference, engine=engine)
        again = tr.probe_boundary(task, reference, engine=engine)
    assert replace(first, probing=None) == replace(again, probing=None)


@pytest.mark.parametrize("steps", [300, 1_000, 5_000])
@pytest.mark.parametrize("name", ["CartPole-v1", "LunarLander-v3"])
def test_a_budget_in_steps_is_kept(name, steps):
    task = tr.make_task(name)
    reference = tr.search(task, "dfs", budget=tr.Budget(steps=5_000)).reference
    spent = tr.probe_boundary(task, reference, budget=tr.Budget(steps=steps)).probing.steps
    assert spent <= steps + len(reference), "within one rollout"


def test_unasked_the_budget_is_in_steps_so_that_every_machine_proves_the_same():
    assert inspect.signature(tr.probe_boundary).parameters["budget"].default.steps == 100_000
