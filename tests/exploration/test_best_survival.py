"""Bounds on the best survival: against value iteration, and against the luck of choosing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextlib import closing

import numpy as np
import pytest

import tightrope as tr
from tests.exploration.mdps import Mdp, best_survival, ice, random_mdp
from tightrope.execution import Engine
from tightrope.exploration.best_survival import find_best_survival
from tightrope.exploration.learnt_model import Transitions, safest_policy
from tightrope.exploration.survival_bound import BestSurvival
from tightrope.outcome import Outcome
from tightrope.simulation import open_simulator, play
from tightrope.tasks import Task
from tightrope.testing import FunctionAgent
from tightrope.trace import Action, ActionTrace

LENGTH = 20


def situations(task: Task, count: int, seed: int = 0) -> dict[ActionTrace, int]:
    """Random ways into the task that have not ended, and the state each leads to."""
    rng, found = np.random.default_rng(seed), dict[ActionTrace, int]()
    with closing(open_simulator(task)) as simulator:
        for _ in range(20 * count):
            actions = rng.integers(len(task.search_actions), size=int(rng.integers(0, 6)))
            trace = ActionTrace(task.label, int(rng.integers(1000)), tuple(map(int, actions)))
            for _ in play(simulator, trace):
                pass
            if simulator.outcome is Outcome.ONGOING and len(found) < count:
                found[trace] = int(simulator.observation)
    return found


def bounds(task: Task, traces: Iterable[ActionTrace], **options: object) -> dict[str, BestSurvival]:
    with Engine(task) as engine:
        assert not engine.deterministic
        return find_best_survival(engine, traces, LENGTH, actions=task.search_actions, **options)


def test_never_above_the_optimum_and_seldom_far_below_on_random_worlds() -> None:
    above, gaps, asked = 0, list[float](), 0
    for seed in range(25):
        mdp = random_mdp(seed)
        truth, _ = best_survival(mdp.table, mdp.goals, mdp.unsafe, LENGTH)
        task = mdp.task()
        where = situations(task, 3, seed)
        found = bounds(task, list(where), steps_per_case=4000)
        for trace, state in where.items():
            estimate = found[trace.id].estimate
            asked += 1
            above += estimate.low > truth[state]
            gaps.append(truth[state] - estimate.value)
    # Each bound may be too high in 1 of 40; of 70 so many are with probability 0.003.
    assert asked > 60
    assert above <= 6
    assert np.mean(gaps) < 0.03
    assert max(gaps) < 0.3


@pytest.mark.parametrize("name", ["FrozenLake-v1", "FrozenLake8x8-v1"])
def test_on_slippery_ice(name: str) -> None:
    task = tr.make_task(name)
    lake = ice(task)
    truth, _ = best_survival(lake.table, lake.goals, lake.unsafe, LENGTH)
    where = situations(task, 12)
    found = bounds(task, list(where), steps_per_case=4000)
    assert all(found[trace.id].estimate.low <= truth[cell] for trace, cell in where.items())
    assert np.mean([truth[cell] - found[trace.id].estimate.value for trace, cell in where.items()]) < 0.04


def test_luck_in_choosing_is_not_luck_in_counting() -> None:
    # Whatever one does, one falls within the first step in half of the cases: the best of many tries looks better.
    coin = [((0.5, 1), (0.5, 9))] * 30
    mdp = Mdp({0: coin, 1: [((1.0, 1),)] * 30}, frozenset({8}), frozenset({9}))
    task = mdp.task()
    traces = [ActionTrace(task.label, seed) for seed in range(60)]
    found = bounds(task, traces, steps_per_case=1600)
    estimates = [found[trace.id].estimate for trace in traces]
    assert np.mean([estimate.value for estimate in estimates]) == pytest.approx(0.5, abs=0.035)
    assert sum(estimate.low > 0.5 for estimate in estimates) <= 5


def chapter(env: object, observation: int, info: object) -> object:
    """A key that never comes again, so that nothing can be learnt by heart."""
    return object()


chapter.lossy = True  # type: ignore[attr-defined]

# A ring of six cells, in each of which one of three actions is safe and the others are mostly deadly.
RING = Mdp(
    {
        cell: [
            ((1.0, (cell + 1) % 6),) if action == cell % 3 else ((0.8, 9), (0.2, (cell + 1) % 6)) for action in range(3)
        ]
        for cell in range(6)
    },
    frozenset({8}),
    frozenset({9}),
)


def test_an_agent_at_hand_shows_what_can_be_done() -> None:
    task = RING.task(state_key=chapter)
    start = ActionTrace(task.label, 0)
    knows = FunctionAgent(lambda cell: cell % 3, "knows")
    alone = bounds(task, [start], steps_per_case=2000)[start.id]
    with Engine(task, {"knows": knows}) as engine:
        helped = find_best_survival(engine, [start], LENGTH, actions=(0, 1, 2), agents=("knows",), steps_per_case=2000)
    assert alone.estimate.value < 0.1
    assert (helped[start.id].policy, helped[start.id].estimate.value) == ("knows", 1.0)


def test_foresight_helps_where_nothing_can_be_learnt() -> None:
    task = RING.task(state_key=chapter)
    start = ActionTrace(task.label, 0)
    found = bounds(task, [start], steps_per_case=200_000)[start.id]
    assert found.policy.endswith("with foresight")
    assert found.estimate.low > 0.5


def test_the_reference_is_tried_and_a_prefix_that_ends_is_left_out() -> None:
    task = RING.task(state_key=chapter)
    way = tuple(cell % 3 for cell in range(6)) * 5
    start, dead = ActionTrace(task.label, 0, way[:3]), ActionTrace(task.label, 0, (1,) * 40)
    found = bounds(task, [start, dead], steps_per_case=2000, references={start.id: way})
    assert set(found) == {start.id}
    assert found[start.id].policy == "the rest of the reference"
    assert found[start.id].estimate.value == 1.0
    assert found[start.id].estimate.high == 1.0


def test_the_same_answer_every_time_and_on_every_back_end() -> None:
    mdp = random_mdp(3)
    task = mdp.task()
    traces = list(situations(task, 10))
    with Engine(task) as inline, Engine(task, backend="processes", workers=2) as processes:
        first, second, third = (
            find_best_survival(engine, traces, LENGTH, actions=(0, 1, 2), steps_per_case=1000)
            for engine in (inline, inline, processes)
        )
    assert first == second == third


def test_a_counted_model_gives_the_safest_policy() -> None:
    mdp = random_mdp(11)
    seen = Transitions()
    for state, row in mdp.table.items():
        for action, chances in enumerate(row):
            for probability, target in chances:
                unsafe = target in mdp.unsafe
                end = Outcome.UNSAFE if unsafe else Outcome.GOAL if target in mdp.goals else target
                seen.counts[state, action][end] += round(probability * 100_000)
    assert seen.learnable
    best, _ = best_survival(mdp.table, mdp.goals, mdp.unsafe, 5)
    table = safest_policy(seen, 5).table
    for state in mdp.table:
        assert survives(mdp, table, state, 5) == pytest.approx(best[state], abs=1e-3)


def survives(mdp: Mdp, table: Mapping[Hashable, tuple[Action, ...]], state: int, left: int) -> float:
    """How often a policy survives, by the true probabilities."""
    if state in mdp.goals or state in mdp.unsafe or left == 0:
        return float(state not in mdp.unsafe)
    chances = mdp.table[state][table[state][left - 1]]
    return sum(probability * survives(mdp, table, target, left - 1) for probability, target in chances)
