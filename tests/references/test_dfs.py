"""Depth-first search: the paper's example, a direct recursive reading, and proofs that are never false."""

from __future__ import annotations

import re

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from tests.exploration.oracles import Recursive, World, doomed_states, doomed_within, worlds
from tightrope.errors import TaskError
from tightrope.references.dfs import DepthFirst
from tightrope.references.reporting import ProgressLine
from tightrope.references.result import SearchStats
from tightrope.simulation import open_simulator
from tightrope.tasks.keys import LossyKey
from tightrope.testing import JUMP, WALK, corridor_task, paper_example


def dfs(task, **options):
    return tr.search(task, "dfs", **options)


class Diary:
    """A state key that also notes the order in which situations are first seen."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, env, observation, info):
        if observation not in self.seen:
            self.seen.append(observation)
        return observation


def test_paper_example():
    diary = Diary()
    result = dfs(paper_example().with_options(state_key=diary))
    reference = result.reference
    assert result.stop_reason is tr.StopReason.GOAL_FOUND
    assert reference.trace.keys == (0, 1, 6, 7, 10)
    assert reference.actions.actions == (0, 1, 0, 1)
    assert reference.trace.rewards == (-1.0, -1.0, -1.0, 9.0)
    assert [state.key for state in reference.boundary_states] == [1, 7]
    assert [state.depth for state in reference.boundary_states] == [1, 3]


def test_paper_example_visits_in_order_and_explores_what_the_paper_says():
    successors = {0: [1, 1], 1: [2, 6], 2: [2, 3], 3: [4, 5], 6: [7, 7], 7: [8, 10], 8: [5, 9]}
    oracle = Recursive(World(successors, frozenset({10}), frozenset({4, 5, 9}))).run()
    assert oracle.visited == list(range(11))
    assert "".join("ab"[action] for action in oracle.played) == "aababbaabb"
    assert oracle.dead_ends == {2, 3, 4, 5, 8, 9}
    assert oracle.reference == ([0, 1, 6, 7, 10], [0, 1, 0, 1])


def test_paper_example_evidence():
    first, second = dfs(paper_example()).reference.boundary_states
    # s2 can stand still for ever, so what lies below it is no proof; s8 is doomed by both its actions.
    assert (first.actions, first.proven, first.evidence) == ((0,), False, {"unsafe": 2, "cycle": 1})
    assert (second.actions, second.proven, second.evidence) == ((0,), True, {"unsafe": 2})


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_equals_the_recursive_reading(world):
    oracle, result = Recursive(world).run(), dfs(world.task())
    if not oracle.success:
        assert result.reference is None
        assert result.stop_reason is tr.StopReason.EXHAUSTED
        return
    reference = result.reference
    states, actions = oracle.reference
    assert list(reference.trace.keys) == states
    assert list(reference.actions.actions) == actions
    assert {state.depth: state.actions for state in reference.boundary_states} == oracle.boundary


def assert_sound(world, reference, doomed):
    for state in reference.boundary_states if reference else ():
        here = reference.trace.keys[state.depth]
        if state.proven:
            assert set(state.evidence) == {"unsafe"}
            assert all(world.table[here][action] in doomed for action in state.actions)


@settings(max_examples=300, deadline=None)
@given(worlds(max_states=20))
def test_proven_is_never_false_and_complete_for_what_was_searched(world):
    reference = dfs(world.task()).reference
    doomed = doomed_states(world)
    assert_sound(world, reference, doomed)
    for state in reference.boundary_states if reference else ():
        here = reference.trace.keys[state.depth]
        if all(world.table[here][action] in doomed for action in state.actions):
            assert state.proven


@LossyKey
def pairs(env, observation, info):
    return observation // 2


def exactly(env, observation, info):
    return observation


@settings(max_examples=300, deadline=None)
@given(worlds(max_states=16), st.booleans())
def test_proven_is_never_false_with_a_lossy_key(world, with_identity):
    task = world.task(state_key=pairs, identity=exactly if with_identity else None)
    reference = dfs(task).reference
    for state in reference.boundary_states if reference else ():
        if state.proven:
            assert_actions_doomed(world, reference, state)


def assert_actions_doomed(world, reference, state):
    here = 0
    for action in reference.actions.prefix(state.depth).actions:
        here = world.table[here][action]
    assert all(world.table[here][action] in doomed_states(world) for action in state.actions)


@settings(max_examples=300, deadline=None)
@given(worlds(max_states=10), st.integers(1, 12))
def test_proven_is_never_false_with_a_time_limit(world, limit):
    reference = dfs(world.task(max_steps=limit)).reference
    for state in reference.boundary_states if reference else ():
        if state.proven:
            here = reference.trace.keys[state.depth]
            doomed = doomed_within(world, limit - state.depth - 1)
            assert all(world.table[here][action] in doomed for action in state.actions)


def test_a_cut_at_a_lossy_key_is_evidence_of_nothing():
    # 1 and 2 share a key. 1 is doomed; 2 is not, but the search never looks.
    world = World({0: [1, 2, 3], 1: [4, 4, 4], 2: [3, 3, 3]}, frozenset({3}), frozenset({4}))

    @LossyKey
    def merged(env, observation, info):
        return 1 if observation == 2 else observation

    [state] = dfs(world.task(state_key=merged)).reference.boundary_states
    assert (state.actions, state.proven) == ((0, 1), False)
    assert state.evidence == {"unsafe": 3, "merged": 1}


def test_a_goal_with_the_key_of_a_visited_state_is_still_found():
    world = World({0: [1, 1], 1: [0, 2]}, frozenset({2}), frozenset())

    @LossyKey
    def merged(env, observation, info):
        return min(observation, 1)

    assert dfs(world.task(state_key=merged)).reference.actions.actions == (0, 1)


def test_stuck_cuts_and_says_so():
    # State 1 is a trap without end for a key that changes; the hook gives it up.
    world = World({0: [1, 2], 1: [1, 3], 2: [4, 4], 3: [1, 1]}, frozenset({4}), frozenset({9}))
    result = dfs(world.task(stuck=lambda path: path[-1].key == 3))
    [state] = result.reference.boundary_states
    assert (state.depth, state.proven, state.evidence) == (0, False, {"cycle": 1, "stuck": 1})
    assert result.stats.stuck_cut == 1


def test_depth_limit_cuts_and_says_so():
    task = corridor_task(10, holes=())
    result = dfs(task, max_depth=4)
    assert result.reference is None
    assert result.stats.deepest == 4
    assert result.stats.depth_cut > 0
    shortcut = World({0: [1, 5], 1: [2, 2], 2: [3, 3], 3: [3, 3], 5: [6, 6]}, frozenset({6}), frozenset())
    [state] = dfs(shortcut.task(), max_depth=2).reference.boundary_states
    assert (state.proven, state.evidence) == (False, {"depth": 1, "visited": 1})


def test_truncated_ends_are_no_proof():
    world = World({0: [1, 2], 1: [1, 1], 2: [3, 3]}, frozenset({3}), frozenset())
    endless = World({0: [1, 5], 1: [2, 2], 2: [3, 3], 3: [4, 4], 5: [6, 6]}, frozenset({6}), frozenset({4}))
    [state] = dfs(endless.task(max_steps=3)).reference.boundary_states
    assert (state.proven, state.evidence) == (False, {"truncated": 2, "visited": 1})
    [state] = dfs(world.task()).reference.boundary_states
    assert state.evidence == {"cycle": 2}


def test_action_order_hook_sees_path_and_backtracks():
    calls = []

    def other_first(actions, path, backtracks):
        calls.append((tuple(actions), [visit.key for visit in path], backtracks))
        return tuple(actions)[::-1]

    reference = dfs(corridor_task(7, holes=(4,), order_actions=other_first)).reference
    assert calls[0] == ((WALK, JUMP), [0], 0)
    assert reference.actions.actions[0] == JUMP
    assert calls[-1][2] > 0


def test_deep_search_needs_no_recursion():
    class Staircase(gym.Env):
        """Action 1 leads one step up; action 0 is a fall."""

        observation_space = gym.spaces.Discrete(10_000)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.height = 0
            return 0, {}

        def step(self, action):
            self.height += action
            return self.height, 0.0, action == 0, False, {}

    task = tr.Task(
        name="staircase",
        make_env=Staircase,
        goal=lambda transition: transition.observation == 5000,
        unsafe=lambda transition: transition.terminated,
    )
    reference = dfs(task).reference
    assert len(reference) == 5000
    assert reference.proven == 5000


def test_action_masks_are_respected():
    from tightrope.testing.worlds import TabularWorld

    class Masked(TabularWorld):
        def _info(self):
            return {"action_mask": [self.state != 0, True]}

        def reset(self, **options):
            return super().reset(**options)[0], self._info()

        def step(self, action):
            assert self._info()["action_mask"][action]
            return (*super().step(action)[:4], self._info())

    task = corridor_task(6, holes=(3,))
    masked = task.with_options(make_env=lambda: Masked(*task.make_env.args))
    assert dfs(masked).reference.actions.actions[0] == JUMP


def test_stochastic_reference_replays_and_the_seed_matters():
    task = corridor_task(30, holes=(4, 9, 14, 20), slip=0.4)
    first, again, other = (dfs(task, seed=seed).reference for seed in (1, 1, 2))
    assert first == again
    assert first.actions.reseeds != other.actions.reseeds
    simulator = open_simulator(task)
    simulator.reset(first.actions.seed)
    reseeds = dict(first.actions.reseeds)
    keys = [simulator.key()]
    for index, action in enumerate(first.actions.actions):
        simulator.reseed(reseeds[index])
        simulator.step(action)
        keys.append(simulator.key())
    assert tuple(keys) == first.trace.keys
    assert simulator.outcome is tr.Outcome.GOAL


def test_stochastic_repetitions_find_rare_harm():
    # At cell 2 a jump slips into the hole 3 with probability 0.1.
    task = corridor_task(8, holes=(3,), slip=0.1, actions=[JUMP, WALK])
    found = 0
    for seed in range(20):
        reference = dfs(task, seed=seed, repetitions=tr.repetitions(0.999, 0.1)).reference
        found += any(state.key == 2 and JUMP in state.actions for state in reference.boundary_states)
    assert found >= 1


def test_on_stochastic_tasks_only_harm_itself_is_proof():
    # 1 always falls into 2, whatever is done, but sampling cannot prove "always".
    table = {0: [((1.0, 1),), ((0.5, 3), (0.5, 0))], 1: [((1.0, 2),), ((1.0, 2),)]}
    from tightrope.testing import tabular_task

    [state] = dfs(tabular_task(table, {3}, {2})).reference.boundary_states
    assert (state.actions, state.proven) == ((0,), False)
    direct = {0: [((1.0, 2),), ((0.5, 3), (0.5, 0))]}
    [state] = dfs(tabular_task(direct, {3}, {2})).reference.boundary_states
    assert (state.actions, state.proven) == ((0,), True)


def test_budgets_bound_the_search():
    task = corridor_task(1000, holes=())
    result = dfs(task, budget=tr.Budget(steps=100))
    assert (result.reference, result.stop_reason) == (None, tr.StopReason.BUDGET_SPENT)
    assert result.stats.steps == 100
    result = dfs(task, budget=tr.Budget(seconds=0))
    assert result.stop_reason is tr.StopReason.BUDGET_SPENT


def test_cancelling_returns_what_is_known():
    def interrupt(progress):
        raise KeyboardInterrupt

    result = dfs(corridor_task(1000, holes=()), on_progress=interrupt)
    assert (result.reference, result.stop_reason) == (None, tr.StopReason.CANCELLED)
    assert 0 < result.stats.steps < 1000


def test_progress_tells_depth_harm_speed_and_what_is_used_of_the_budget():
    reports = []
    dfs(corridor_task(200, holes=(3, 50)), budget=tr.Budget(seconds=1500, steps=7000), on_progress=reports.append)
    assert reports[0].stage == "search"
    assert (reports[0].finished, reports[0].total) == (64, 7000)
    assert re.fullmatch(r"0 of 1,500 s, [\d,]+ steps/s, depth \d+, deepest \d+, \d+ unsafe", reports[0].note)
    reports.clear()
    dfs(corridor_task(200, holes=(3, 50)), budget=tr.Budget(), on_progress=reports.append)
    assert reports[0].total is None
    assert " of " not in reports[0].note


@pytest.mark.parametrize("role", ["goal", "unsafe"])
def test_a_task_that_is_over_at_reset_is_refused(role):
    task = corridor_task(5, holes=()).with_options(**{role: lambda transition: True})
    with pytest.raises(TaskError, match=role):
        dfs(task)


def test_snapshots_are_taken_only_where_there_is_something_to_come_back_for():
    task = corridor_task(50, holes=(), actions=[WALK])
    simulator = open_simulator(task)
    simulator.reset()
    meter = tr.Budget().start()
    search = DepthFirst(
        simulator,
        meter=meter,
        stats=SearchStats(),
        progress=ProgressLine(None, meter),
        repetitions=1,
        deterministic=True,
        seed=0,
        max_depth=None,
    )
    assert search.run() is tr.StopReason.GOAL_FOUND
    assert simulator.counters.saves == 0
