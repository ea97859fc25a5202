"""Shrinking: simpler, never longer, the same failure, verified, the same every time."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from tests.exploration.mdps import Mdp
from tests.exploration.oracles import World, worlds
from tests.safety.corridor import CORRIDOR, expert, reference_of, walker
from tightrope.errors import UsageError
from tightrope.execution import Engine, Rollout
from tightrope.outcome import Outcome
from tightrope.safety import TestCase
from tightrope.testing import FunctionAgent
from tightrope.trace import ActionTrace

WALK, JUMP, WAIT = range(3)


def waiting_corridor(length: int, hole: int) -> World:
    """Cells 0 … length with one hole; one can walk, jump over a cell, or wait."""
    cells = [cell for cell in range(length) if cell != hole]
    table = {cell: [min(cell + 1, length), min(cell + 2, length), cell] for cell in cells}
    return World(table, frozenset({length}), frozenset({hole}))


def case_of(task: tr.Task, actions: tuple[int, ...]) -> TestCase:
    return TestCase(prefix=ActionTrace(task.label, 0, actions), boundary=0, depth=None, kept=0)


def episode_of(task: tr.Task, agent: tr.Agent, case: TestCase, length: int = 40) -> tr.Episode:
    with Engine(task, {agent.name: agent}) as engine:
        rollout = Rollout(start=case.prefix, agent=agent.name, length=length, fixed_prefix=True)
        [episode] = engine.run([rollout])
    return episode


def test_detours_go_and_the_agent_takes_over_at_its_decision() -> None:
    task, agent = waiting_corridor(20, 6).task(), FunctionAgent(lambda cell: WALK, "walks")
    # To cell 3 with much waiting; then the agent walks to 5 and on into the hole.
    case = case_of(task, (WAIT, WALK, WAIT, WAIT, WALK, WAIT, WAIT, WALK, WAIT, WAIT))
    found = tr.shrink(task, agent, case)
    assert set(found.prefix.actions) <= {WALK, JUMP}
    episode = episode_of(task, agent, found)
    assert episode.outcome is Outcome.UNSAFE
    # The decision is the first thing it does, and nobody gets there in fewer steps by such actions.
    assert episode.actions == (WALK,)
    assert len(found.prefix) == 5
    assert found.prefix.actions == (WALK,) * 5
    assert tr.shrink(task, agent, case) == found


def test_a_case_that_cannot_be_simpler_stays() -> None:
    suite = tr.simple_suite(reference_of(CORRIDOR, depths=(2,)))
    result = tr.run_suite(CORRIDOR, walker, suite)
    assert tr.shrink(CORRIDOR, walker, result.cases[0]) == suite.cases[0]
    with pytest.raises(UsageError, match="does not fail"):
        tr.shrink(CORRIDOR, expert, suite.cases[0])


@settings(max_examples=60, deadline=None)
@given(
    worlds(max_states=12),
    st.lists(st.integers(0, 2), min_size=1, max_size=8),
    st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_what_is_found_is_never_longer_and_fails_in_the_same_way(
    world: World, prefix: list[int], policy: list[int]
) -> None:
    actions = len(world.table[0])
    agent = FunctionAgent(lambda state: policy[state] % actions, "fixed")
    task = world.task()
    case = case_of(task, tuple(action % actions for action in prefix))
    episode = episode_of(task, agent, case)
    if not episode.reached_handover or episode.outcome is not Outcome.UNSAFE:
        return
    found = tr.shrink(task, agent, case)
    again = episode_of(task, agent, found)
    assert again.reached_handover
    assert again.outcome is Outcome.UNSAFE
    assert len(found.prefix) <= len(case.prefix)
    assert len(again.trace) <= len(episode.trace)
    before, after = (tr.explain(task, agent, each) for each in (episode, again))
    if before.agents_fault:
        assert after.agents_fault
        assert after.action == before.action
        assert after.key == before.key or set(after.better) & set(before.better)


class Counted(gym.Wrapper[Any, Any, Any, Any]):
    """Counts every step that anyone takes in any of them."""

    steps = 0

    def step(self, action: Any) -> Any:
        Counted.steps += 1
        return self.env.step(action)


def test_what_it_takes_to_understand_the_failure_is_part_of_the_budget() -> None:
    pole = tr.make_task("CartPole-v1")
    task = pole.with_options(make_env=lambda: Counted(pole.make_env()))
    leans = FunctionAgent(lambda seen: int(seen[2] > 0.05), "leans")
    way = (0, 1) * 6 + (1, 0) * 3
    case = TestCase(prefix=ActionTrace(task.label, 3, way), boundary=0, depth=None, kept=0)
    with tr.Engine(task, {leans.name: leans}) as engine:
        assert engine.deterministic
        Counted.steps = 0
        tr.shrink(task, leans, case, length=100, budget=tr.Budget(steps=3_000), engine=engine)
    assert 500 < Counted.steps < 3_500


def test_the_budget_is_kept_and_what_was_found_by_then_is_given() -> None:
    task, agent = waiting_corridor(200, 100).task(), FunctionAgent(lambda cell: WALK, "walks")
    case = case_of(task, (WAIT, WALK) * 90)
    # Watched for longer it fails from the start on, so that little is enough to hand over there.
    short, plenty = (
        tr.shrink(task, agent, case, length=40, budget=tr.Budget(steps=steps)) for steps in (1_000, 100_000)
    )
    assert len(plenty.prefix) < len(short.prefix) <= len(case.prefix)
    assert WAIT not in plenty.prefix.actions


def test_what_was_of_the_reference_is_still_said_to_be() -> None:
    reference = reference_of(CORRIDOR)
    suite = tr.interval_suite(reference, 1)
    result = tr.run_suite(CORRIDOR, walker, suite)
    for case in result.failing_cases:
        found = tr.shrink(CORRIDOR, walker, case)
        assert found.prefix.actions[: found.kept] == reference.actions.actions[: found.kept]


def slippery(length: int, hole: int, slip: float) -> Mdp:
    """The waiting corridor in which every action sometimes does nothing; at the hole's edge walking falls in."""
    cells = [cell for cell in range(length) if cell != hole]

    def led(cell: int, target: int) -> tuple[tuple[float, int], ...]:
        return ((1 - slip, min(target, length)), (slip, cell)) if target != cell else ((1.0, cell),)

    table = {cell: (led(cell, cell + 1), led(cell, cell + 2), led(cell, cell)) for cell in cells}
    return Mdp(table, frozenset({length}), frozenset({hole}))


def share_of_fails(task: tr.Task, agent: tr.Agent, case: TestCase, runs: int = 200) -> float:
    with Engine(task, {agent.name: agent}) as engine:
        rollouts = [
            Rollout(start=case.prefix, agent=agent.name, length=40, seed=10_000 + seed, fixed_prefix=True)
            for seed in range(runs)
        ]
        episodes = engine.run(rollouts)
    assert all(episode.reached_handover for episode in episodes)
    return sum(episode.outcome is Outcome.UNSAFE for episode in episodes) / runs


@pytest.mark.parametrize("seed", [0, 5])
def test_where_chance_decides_the_agent_still_fails_and_detours_go(seed: int) -> None:
    task, agent = slippery(14, 6, 0.2).task(), FunctionAgent(lambda cell: WALK, "walks")
    actions = (WAIT, WALK, WAIT, WAIT, WALK, WAIT, WALK, WAIT)
    case = TestCase(prefix=ActionTrace(task.label, seed, actions), boundary=0, depth=None, kept=0)
    assert share_of_fails(task, agent, case) > 0.9
    found = tr.shrink(task, agent, case, budget=tr.Budget(steps=20_000))
    assert len(found.prefix) < len(case.prefix)
    assert WAIT not in found.prefix.actions
    assert share_of_fails(task, agent, found) > 0.5, "it fails in the simpler situation, with other luck as well"
    assert tr.shrink(task, agent, case, budget=tr.Budget(steps=20_000)) == found


def test_where_chance_decides_a_case_that_hardly_fails_is_not_taken_for_one() -> None:
    # Only from beyond the first hole does the agent fail often; before it, it jumps, and mostly gets across.
    task = slippery(14, 6, 0.0).task()
    careful = FunctionAgent(lambda cell: JUMP if cell == 5 else WALK, "careful")
    case = TestCase(prefix=ActionTrace(task.label, 0, (WALK,)), boundary=0, depth=None, kept=0)
    with pytest.raises(UsageError, match="does not fail"):
        tr.shrink(task, careful, case)
