from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import gymnasium as gym
import pytest

import tightrope as tr
from tests.fuzzing.worlds import Careful
from tightrope.errors import UsageError
from tightrope.exploration.playing import replay
from tightrope.progress import Progress
from tightrope.references.several import find_references, gather_references
from tightrope.simulation import open_simulator
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace

GALLERY = Path(__file__).parents[2] / "agents" / "gallery"
CARTPOLE = tr.make_task("CartPole-v1")


def test_references_differ_and_each_can_be_replayed() -> None:
    late = tr.load_agent(GALLERY / "cartpole-late.onnx", CARTPOLE, name="late")
    found = find_references(CARTPOLE, 4, [late], tr.Budget(steps=40_000), probe=False)
    assert len(found) == 4
    assert len({reference.checksums for reference in found}) == 4
    assert len({reference.actions.seed for reference in found}) > 1
    simulator = open_simulator(CARTPOLE)
    for reference in found:
        assert replay(simulator, reference.actions) == reference.trace
    assert any(reference.agent == "late" and not reference.by_failing for reference in found)


def test_the_same_way_from_another_seed_is_no_other_reference() -> None:
    # The corridor always begins in cell 0: there are few ways through, and reset seeds make no new ones.
    found = find_references(corridor_task(), 6, [Careful()], tr.Budget(steps=4_000), probe=False)
    assert len(found) > 1
    assert len({reference.actions.actions for reference in found}) == len(found)


def test_each_gets_its_boundary_states() -> None:
    found = find_references(corridor_task(), 2, budget=tr.Budget(steps=4_000))
    assert all(reference.depths for reference in found)
    assert all(reference.proven for reference in found)


def test_most_references_of_cart_pole_have_boundary_states() -> None:
    """Runs of a good agent stay away from all of them; searches from other starts do not, and must not be given up
    because one order of the actions leads nowhere."""
    late = tr.load_agent(GALLERY / "cartpole-late.onnx", CARTPOLE, name="late")
    found, steps = gather_references(CARTPOLE, 8, [late], tr.Budget(steps=120_000), 0, reset_seeds=8)
    searched = [reference for reference in found if reference.boundary_states and not reference.chosen]
    assert len(searched) >= 4
    assert len({reference.actions.seed for reference in searched}) == len(searched)
    assert steps <= 120_500


def test_where_nobody_reaches_the_goal_the_longest_runs_serve_and_say_so() -> None:
    task = tr.make_task("LunarLander-v3")
    agent = tr.load_agent(lambda observation: 0, task, name="falls")
    told: list[Progress] = []
    found = find_references(task, 2, [agent], tr.Budget(steps=600), probe=False, on_progress=told.append)
    assert found
    assert told[0].note == "runs of the agents, round 1", "before the first is found it is said what is done"
    assert {(reference.agent, reference.trace.outcome) for reference in found} == {("falls", tr.Outcome.ONGOING)}


def test_demonstrations_come_first() -> None:
    way = ActionTrace("corridor", 0, (1, 1, 0, 1, 1, 0))
    first, *_ = find_references(corridor_task(), 3, budget=tr.Budget(steps=2_000), demonstrations=[way], probe=False)
    assert first.actions == way
    assert first.method == "demonstration"


def test_a_trace_that_does_not_reach_the_goal_is_no_reference() -> None:
    """A fuzz trace may end in a hole: nothing can be tested on the way there."""
    short = ActionTrace(corridor_task().label, 0).then([0])
    found = find_references(corridor_task(), 3, budget=tr.Budget(steps=2_000), demonstrations=[short], probe=False)
    assert found
    assert all(reference.trace.outcome is tr.Outcome.GOAL for reference in found)


def test_the_same_seed_finds_the_same() -> None:
    late = tr.load_agent(GALLERY / "cartpole-late.onnx", CARTPOLE, name="late")
    one, again, other = (
        find_references(CARTPOLE, 2, [late], tr.Budget(steps=6_000), seed=seed, probe=False) for seed in (0, 0, 1)
    )
    assert one
    assert [r.actions for r in one] == [r.actions for r in again]
    assert [r.actions for r in one] != [r.actions for r in other]


def test_all_that_was_done_is_counted() -> None:
    Counted.steps, task = 0, corridor_task()
    task = replace(task, make_env=partial(_counted, task.make_env))
    with tr.Engine(task, {"careful": Careful()}) as engine:
        engine.run([tr.Rollout(start=ActionTrace("corridor", 0), agent="careful")])
        before = Counted.steps
        found, steps = gather_references(task, 4, [], tr.Budget(steps=2_000), 0, engine=engine)
    assert len(found) > 1
    assert steps > sum(reference.probing.steps for reference in found if reference.probing is not None)
    assert 0.9 * steps <= Counted.steps - before <= 1.1 * steps


@pytest.mark.parametrize("method", ["dfs", "archive"])
def test_where_nothing_can_be_saved_a_search_pays_for_its_replays(method: str) -> None:
    make = partial(_counted, CARTPOLE.make_env)
    task = replace(CARTPOLE, make_env=lambda: tr.renewed_env(make))
    assert tr.check_task(task).method == "replay"
    Counted.steps = 0
    result = tr.search(task, method, budget=tr.Budget(steps=3_000), probe=False)
    assert result.reference is None
    # What was begun is ended.
    assert 3_000 <= Counted.steps <= 4_000


class Counted(gym.Wrapper):
    """Counts the steps of all environments."""

    steps = 0

    def step(self, action):
        Counted.steps += 1
        return self.env.step(action)


def _counted(make_env):
    return Counted(make_env())


def test_wrong_use_is_named() -> None:
    with pytest.raises(UsageError, match="count must be 1 or more"):
        find_references(corridor_task(), 0)
    agent = tr.load_agent(lambda cell: 1, corridor_task(), name="walks")
    for wrong, told in (
        ({"budget": 1_000}, "a budget is given as in tr.Budget"),
        ({"agents": agent}, r"give agents=\[agent\]"),
    ):
        with pytest.raises(UsageError, match=told):
            find_references(corridor_task(), 2, **wrong)  # type: ignore[arg-type]


def test_what_is_of_another_task_or_no_trace_is_refused() -> None:
    known = tr.search(corridor_task()).reference
    assert known is not None
    for wrong, told in (
        ({"known": [known]}, "of task 'corridor', not 'CartPole-v1'"),
        ({"demonstrations": [known.actions]}, "of task 'corridor', not 'CartPole-v1'"),
        ({"demonstrations": [known]}, "demonstrations takes ActionTraces, not Reference"),
        ({"demonstrations": [known.trace]}, "demonstrations takes ActionTraces, not Trace"),
        ({"known": [known.actions]}, "known takes References, not ActionTrace"),
    ):
        with pytest.raises(UsageError, match=told):
            find_references(CARTPOLE, 2, **wrong)  # type: ignore[arg-type]


def test_where_nothing_can_be_proven_the_moments_of_failures_are_boundary_states() -> None:
    def act(observation: object) -> int:
        """Balances, but gives up once the pole leans."""
        wanted = observation @ [0.1, 0.5, 3.0, 1.0] > 0  # type: ignore[operator]
        return int(wanted if abs(observation[2]) < 0.08 else not wanted)  # type: ignore[index]

    agent = tr.load_agent(act, CARTPOLE, name="leaning")
    found = find_references(CARTPOLE, 8, [agent], tr.Budget(steps=30_000))
    failures = [reference for reference in found if reference.by_failing and reference.agent == "leaning"]
    assert failures
    suite = tr.simple_suite(failures)
    result = tr.run_suite(CARTPOLE, agent, suite, length=100)
    # Its boundary states are where it went wrong, so from there it goes wrong again.
    assert result.fails == len(result.cases)


def test_known_references_come_first_and_count() -> None:
    known = tr.search(corridor_task(), "dfs").reference
    assert known is not None
    found = find_references(corridor_task(), 2, budget=tr.Budget(steps=4_000), known=[known])
    assert found[0] is known
    assert len(found) <= 2


def test_on_lunar_lander_an_agent_that_always_fails_leaves_steps_for_one_that_seldom_does() -> None:
    """Moments of hopeless runs took all the steps, and what was known gave way to the first moment found."""
    task = tr.make_task("LunarLander-v3")
    agents = [tr.load_agent(GALLERY / f"lunarlander-{name}.onnx", task, name=name) for name in ("early", "late")]
    known = tr.search(task, probe=False).reference
    assert known is not None
    assert not known.boundary_states
    found = find_references(task, 8, agents, tr.Budget(steps=120_000), known=[known])
    assert found[0] is known
    assert known not in found[1:]
    assert sum(reference.by_failing and reference.agent == "late" for reference in found) >= 2
    assert len(tr.simple_suite(found)) >= 2


def test_one_reset_seed_means_the_tasks_own() -> None:
    late = tr.load_agent(GALLERY / "cartpole-late.onnx", CARTPOLE, name="late")
    found = find_references(CARTPOLE, 3, [late], tr.Budget(steps=20_000), reset_seeds=1, probe=False)
    assert {reference.actions.seed for reference in found} == {CARTPOLE.seed}
