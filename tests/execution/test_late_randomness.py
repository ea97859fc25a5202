"""Deterministic or not is decided where it matters: in the episodes themselves, not where random walks came."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import pytest
from scipy.stats import binomtest

import tightrope as tr
from tests.execution.late_randomness import (
    EDGE,
    GOAL,
    ON,
    SLIP,
    SLIPPERY,
    TRUTH,
    foggy_task,
    late_slip,
    own_dice_task,
    pipes_task,
    saved_pipes,
    steer,
)
from tests.execution.workload import assert_same
from tightrope.agents import load_agent
from tightrope.execution.naive import run_naively
from tightrope.execution.worker import environments
from tightrope.outcome import Outcome
from tightrope.simulation import RandomnessMet, check_task, conformance_of, fresh_seeds_of, open_simulator
from tightrope.simulation.conformance import deep_walks
from tightrope.simulation.fresh_seeds import UNTIL, FreshSeeds
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import OwnMethodsSnapshotter
from tightrope.testing import ConstantAgent, FunctionAgent, RandomAgent, corridor_task
from tightrope.trace import ActionTrace

FORWARD = ConstantAgent(ON, "forward")


@pytest.fixture(autouse=True)
def short_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check's deep walks would come to these places; elsewhere others do not, and then this is what is left."""
    monkeypatch.setattr(deep_walks, "MOST_STEPS", 0)


def from_reset(task: tr.Task, agent: str, number: int, **fields: Any) -> list[tr.Rollout]:
    start = ActionTrace(task.label, task.seed)
    return [tr.Rollout(start=start, agent=agent, seed=seed, **fields) for seed in range(number)]


def naively(task: tr.Task, agents: dict[str, Any], rollouts: Sequence[tr.Rollout]) -> list[tr.Episode]:
    simulator = open_simulator(task)
    return [run_naively(simulator, agents, rollout) for rollout in rollouts]


def assert_rate(hits: int, tries: int, truth: float) -> None:
    interval = binomtest(hits, tries).proportion_ci(0.999)
    assert interval.low <= truth <= interval.high, (hits, tries)


LANES = {
    "an environment each": ({}, {}),
    "in turn": ({"one_per_process": True}, {}),
    "in the tree": ({}, {"CHEAP_SAVING": 1e9}),
}


@pytest.mark.parametrize("lanes", LANES)
def test_a_late_slip_is_met_and_everything_is_executed(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields, constants = LANES[lanes]
    for name, value in constants.items():
        monkeypatch.setattr(environments, name, value)
    task = late_slip(**fields)
    assert check_task(task).deterministic, "random walks do not come so far"
    rollouts = from_reset(task, "forward", 400)
    with tr.Engine(task, {"forward": FORWARD}) as engine:
        episodes = engine.run(rollouts)
        assert not engine.deterministic
        assert engine.counters.steps_executed > 400 * SLIPPERY
    assert_same(episodes, naively(task, {"forward": FORWARD}, rollouts))
    assert not any(episode.deterministic for episode in episodes)
    assert_rate(sum(episode.outcome is Outcome.UNSAFE for episode in episodes), 400, TRUTH)
    assert not conformance_of(task).deterministic, "for whoever comes next, too"


def test_workers_in_processes_meet_it_as_well() -> None:
    task = late_slip()
    rollouts = from_reset(task, "forward", 60)
    with tr.Engine(task, {"forward": FORWARD}, backend="processes", workers=2) as engine:
        assert engine.deterministic
        episodes = engine.run(rollouts)
        assert not engine.deterministic
    assert_same(episodes, naively(task, {"forward": FORWARD}, rollouts))


def test_fixed_actions_and_agents_that_draw_meet_it_as_well() -> None:
    for agents, rollout in (
        ({}, {"actions": (ON,) * GOAL}),
        ({"any": RandomAgent((ON, ON, ON), "any")}, {"agent": "any"}),
    ):
        task = late_slip()
        start = ActionTrace(task.label, task.seed)
        rollouts = [tr.Rollout(start=start, seed=seed, **rollout) for seed in range(50)]  # type: ignore[arg-type]
        with tr.Engine(task, agents) as engine:
            assert_same(engine.run(rollouts), naively(task, agents, rollouts))
            assert not engine.deterministic


def test_a_prefix_that_ends_by_chance_is_met() -> None:
    """The slip is so likely that the prefix itself ends where it should not: nobody takes over, but it is noticed."""
    task = late_slip(slip=0.9)
    prefix = ActionTrace(task.label, task.seed, (ON,) * (GOAL - 1))
    rollouts = [tr.Rollout(start=prefix, agent="forward", seed=seed) for seed in range(20)]
    with tr.Engine(task, {"forward": FORWARD}) as engine:
        assert engine.deterministic
        assert_same(engine.run(rollouts), naively(task, {"forward": FORWARD}, rollouts))
        assert not engine.deterministic


def test_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    task = late_slip()
    with caplog.at_level(logging.WARNING, "tightrope"), tr.Engine(task, {"forward": FORWARD}) as engine:
        engine.run(from_reset(task, "forward", 20))
        engine.run(from_reset(task, "forward", 30))
    (said,) = [record.getMessage() for record in caplog.records]
    assert "task late-slip is not deterministic: after reset(seed=0) the same 40 actions led elsewhere" in said
    assert any("led elsewhere under fresh seeds, from step" in note for note in conformance_of(task).notes)


def test_a_stream_cannot_take_back_and_says_so() -> None:
    task = late_slip()
    with tr.Engine(task, {"forward": FORWARD}) as engine, pytest.raises(RandomnessMet, match="under fresh seeds"):
        list(engine.stream(from_reset(task, "forward", 20)))


# ------------------------------------------------------------------------------------------------- in every step


def test_a_suite_gives_the_right_frequency_with_all_repetitions_executed() -> None:
    task = late_slip()
    reference = tr.search(late_slip(), budget=tr.Budget(steps=20_000)).reference
    assert reference is not None
    suite = tr.simple_suite(reference)
    assert conformance_of(task).deterministic
    result = tr.run_suite(task, FORWARD, suite, repetitions=10, length=GOAL, survivable=False)
    early = [case for case in result.cases if EDGE <= len(case.case.prefix) <= SLIPPERY]
    assert len(early) >= 10
    assert all(len(case.episodes) == 10 and not case.deterministic for case in result.cases)
    assert_rate(sum(case.fails for case in early), 10 * len(early), TRUTH)
    assert len({tuple(case.verdicts) for case in early}) > 1, "the executions differ"


def test_a_search_takes_its_own_way_under_fresh_seeds() -> None:
    task = late_slip()
    result = tr.search(task, budget=tr.Budget(steps=20_000))
    assert not result.deterministic
    assert not conformance_of(task).deterministic
    assert result.reference is not None
    assert result.reference.actions.reseeds, "found with the randomness it names"


@pytest.mark.parametrize("step", ["performance", "robustness", "evaluation", "fuzzing"])
def test_every_step_begins_again(step: str) -> None:
    task = late_slip()
    trace = ActionTrace(task.label, task.seed, (ON,) * GOAL)
    if step == "performance":
        point = tr.compare_performance(task, FORWARD, [trace], episodes=10)
        assert len(point.tests[0].agent_returns) == 10
        assert not point.agent_deterministic
    elif step == "robustness":
        robust = tr.compare_robustness(task, FORWARD, [trace, trace], tests=2, episodes=10, step_width=30)
        assert all(len(test.agent_returns) == 10 for point in robust.points for test in point.tests)
    elif step == "evaluation":
        evaluation = tr.evaluate(task, FORWARD, episodes=60)
        assert_rate(sum(episode.outcome is Outcome.UNSAFE for episode in evaluation.episodes), 60, TRUTH)
    else:
        tr.fuzz(task, trace, generations=2, population=6)
    assert not conformance_of(task).deterministic


# ------------------------------------------------------------------------------------------------ kinds of randomness


@pytest.mark.parametrize("make_task", [pipes_task, foggy_task], ids=["pipes", "fog"])
def test_draws_far_into_an_episode_are_met(make_task: Any) -> None:
    task = make_task()
    pilot = FunctionAgent(steer, "pilot")
    assert check_task(task).deterministic, "random flights crash before anything is drawn"
    with tr.Engine(task, {"pilot": pilot}) as engine:
        rollouts = from_reset(task, "pilot", 30)
        episodes = engine.run(rollouts)
        assert not engine.deterministic
    assert len({episode.actions for episode in episodes}) > 1
    assert_same(episodes, naively(task, {"pilot": pilot}, rollouts))


def test_dice_that_only_the_environment_sees_are_met() -> None:
    task = own_dice_task()
    with tr.Engine(task, {"forward": FORWARD}) as engine:
        was_deterministic = engine.deterministic
        episodes = engine.run(from_reset(task, "forward", 60))
        assert not engine.deterministic
    assert was_deterministic
    assert_rate(sum(episode.outcome is Outcome.GOAL for episode in episodes), 60, 0.5)


def test_where_nothing_is_drawn_nothing_is_played_again() -> None:
    task = tr.make_task("CartPole-v1")
    agent = load_agent(lambda observation: int(observation[2] > 0), task, name="lean")
    with tr.Engine(task, {"lean": agent}) as engine:
        episodes = engine.run(from_reset(task, "lean", 10, length=100))
        assert engine.deterministic
        assert engine.counters.steps_executed <= 2 * len(episodes[0].actions)
    assert fresh_seeds_of(task).agreed == 0


@pytest.mark.parametrize("lanes", LANES)
def test_a_saved_state_without_the_unused_generator_makes_nobody_doubt(
    lanes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields, constants = LANES[lanes]
    for name, value in constants.items():
        monkeypatch.setattr(environments, name, value)
    task = saved_pipes(still=True, **fields)
    agents = {"pilot": FunctionAgent(steer, "pilot")}
    starts = [ActionTrace(task.label, seed) for seed in (1, 2, 1, 3)]
    rollouts = [tr.Rollout(start=start, agent="pilot", seed=seed) for seed, start in enumerate(starts)]
    with tr.Engine(task, agents) as engine:
        assert engine.deterministic
        assert conformance_of(task).method == "own methods"
        episodes = [*engine.run(rollouts), *engine.run(rollouts)]
        assert engine.deterministic
        assert engine.counters.steps_executed <= sum(len(episode.actions) for episode in episodes)
    assert {len(episode.actions) for episode in episodes} == {60}
    assert fresh_seeds_of(task).agreed == 0


def _watched(task: tr.Task, env: Any) -> Simulator:
    return Simulator(task, env, OwnMethodsSnapshotter(env), watched=True)


def test_a_saved_state_without_the_generator_hides_no_draw() -> None:
    """What was drawn before it was saved is seen in every situation put back, in other environments too."""
    task = saved_pipes(still=False)
    first, second = (_watched(task, task.make_env()) for _ in range(2))
    for simulator, place in ((first, 40), (second, 20)):
        simulator.reset(7)
        while simulator.depth < place:
            simulator.step(steer(simulator.observation))
    after, before = first.save(), second.save()
    for simulator in (first, second):
        simulator.load(before)
        assert not simulator.has_drawn()
        simulator.load(after)
        assert simulator.has_drawn()


def test_no_generator_is_saved_of_an_environment_that_says_it_draws_nothing() -> None:
    env: Any = saved_pipes(still=False).make_env()
    env.reset(seed=7)
    assert OwnMethodsSnapshotter(env).save()[1] is not None
    env.draws_nothing = True
    _, generator, _ = OwnMethodsSnapshotter(env).save()
    assert generator is None


def test_draws_without_effect_leave_a_task_deterministic_after_replays() -> None:
    task = tr.make_task("FrozenLake-v1", is_slippery=False)
    reference = tr.search(task).reference
    assert reference is not None
    agent = load_agent(lambda observation: 2, task, name="right")
    result = tr.run_suite(task, agent, tr.simple_suite(reference))
    assert all(len(case.episodes) == 1 and case.deterministic for case in result.cases)
    assert conformance_of(task).deterministic
    assert fresh_seeds_of(task).agreed > 0


def test_the_more_has_agreed_the_less_is_played_again() -> None:
    task = gym_lake()
    simulator = open_simulator(task)
    doubts = fresh_seeds_of(task)
    trace = ActionTrace(task.label, task.seed, (2, 2, 1))
    for _ in range(8):
        doubts.doubt(simulator, trace)
    assert doubts.agreed == 64
    for _ in range(1000):
        doubts.doubt(simulator, trace, begun_at="here")
    assert 300 <= doubts.agreed <= 300 + 100
    before = doubts.agreed
    for place in range(20):
        doubts.doubt(simulator, trace, begun_at=place)
    assert doubts.agreed == before + 2 * 20, "new places always"


def gym_lake() -> tr.Task:
    return tr.Task(
        name="lake",
        make_env=lambda: gym.make("FrozenLake-v1", is_slippery=False),
        goal=lambda t: t.terminated and t.reward > 0,
        unsafe=lambda t: t.terminated and t.reward <= 0,
    )


def test_a_slip_of_one_in_twenty_is_met_with_the_stated_probability() -> None:
    """Eight suspicious episodes of one slippery step each are played again 64 times: 0.9625."""
    simulator, met = open_simulator(late_slip()), 0
    for seed in range(300):
        trace, doubts = ActionTrace("late-slip", seed, (ON,) * (SLIPPERY + 1)), FreshSeeds()
        try:
            while doubts.agreed < UNTIL:
                doubts.doubt(simulator, trace)
        except RandomnessMet:
            met += 1
    assert_rate(met, 300, 1 - (1 - SLIP) ** UNTIL)


def test_deterministic_worlds_stay_so() -> None:
    task = corridor_task(length=30, holes=(7, 15))
    agent = FunctionAgent(lambda cell: int(cell in (6, 14)), "careful")
    with tr.Engine(task, {"careful": agent}) as engine:
        episodes = engine.run(from_reset(task, "careful", 10))
        assert engine.deterministic
    assert {episode.outcome for episode in episodes} == {Outcome.GOAL}
    assert engine.counters.steps_executed < 2 * 30
