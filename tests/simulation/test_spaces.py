"""Whatever the action space, every step works; what cannot work is refused with what to write."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import tightrope as tr
from tests.simulation.broken import Line, line_task
from tests.simulation.spaces import strides_task
from tightrope.agents import load_agent
from tightrope.errors import TaskError
from tightrope.outcome import Outcome
from tightrope.simulation import open_simulator
from tightrope.simulation.limits import LONGEST_EPISODE, time_limit
from tightrope.trace import ActionTrace

SPACES: dict[str, tuple[gym.Space[Any], float, Any]] = {
    "multi discrete": (spaces.MultiDiscrete([3, 3]), 1.0, np.array([2, 2])),
    "shifted": (spaces.MultiDiscrete([2, 2], start=[1, 1]), 1.5, np.array([2, 2])),
    "switches": (spaces.MultiBinary(3), 0.6, np.array([1, 1, 1], np.int8)),
    "box": (spaces.Box(-1.0, 1.0, (2,), np.float32), 0.1, np.array([1.0, 1.0], np.float32)),
    "unbounded": (spaces.Box(-np.inf, np.inf, (1,)), 0.1, np.array([0.25], np.float32)),
    "tuple": (spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(2))), 0.5, (1, np.array([1, 1], np.int8))),
    "dict": (
        spaces.Dict(turn=spaces.Discrete(2), push=spaces.Box(-1.0, 1.0, (1,), np.float32)),
        0.5,
        {"turn": 1, "push": np.array([1.0], np.float32)},
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_step_takes_every_action_space_without_a_list(name: str) -> None:
    space, limit, forward = SPACES[name]
    task = strides_task(space, limit)
    assert tr.check_task(task).exact
    reference = tr.search(task, budget=tr.Budget(steps=5000)).reference
    assert reference is not None
    assert reference.boundary_states
    agent = load_agent(lambda observation: forward, task, name="forward")
    with tr.Engine(task, {"forward": agent}) as engine:
        result = tr.run_suite(task, agent, tr.simple_suite(reference), length=10, engine=engine)
        assert {str(verdict) for case in result.cases for verdict in case.verdicts} == {"pass"}
        fuzzed = tr.fuzz(task, reference.actions, generations=2, population=6, engine=engine)
        point = tr.compare_performance(task, agent, fuzzed.fittest, episodes=2, engine=engine)
    assert not any(test.errors for test in point.tests)
    assert point.agent_goal_share.value == 1.0


def test_dict_actions_travel_and_are_stored(tmp_path: Any) -> None:
    space, limit, forward = SPACES["dict"]
    task = strides_task(space, limit)
    reference = tr.search(task, budget=tr.Budget(steps=5000)).reference
    assert reference is not None
    tr.save_reference(reference, tmp_path / "reference.json")
    agent = load_agent(lambda observation: forward, task, name="forward")
    suite = tr.action_coverage_suite(tr.load_reference(tmp_path / "reference.json"), 1, task.search_actions)
    inline = tr.run_suite(task, agent, suite, length=10)
    assert tr.run_suite(task, agent, suite, length=10, backend="processes", workers=1).cases == inline.cases
    assert not any(episode.error for case in inline.cases for episode in case.episodes)


@pytest.mark.parametrize("reward", [np.array([1.0, 2.0]), [1.0, 2.0], (0.0, 1.0, 2.0)])
def test_vector_rewards_are_refused_with_what_to_write(reward: Any) -> None:
    class Many(Line):
        def reward(self, move: float) -> Any:
            return reward

    told = rf"gave a reward of {len(reward)} numbers .*TransformReward"
    with pytest.raises(TaskError, match=told):
        tr.check_task(line_task(Many))
    simulator = open_simulator(line_task(Many), tr.check_task(line_task()))
    simulator.reset()
    with pytest.raises(TaskError, match=told):
        simulator.step(1)


def test_what_the_refusal_of_vector_rewards_tells_to_write_works() -> None:
    weights = np.array([0.5, 0.25])
    task = strides_task(spaces.Discrete(2), rewards=2)
    with pytest.raises(TaskError, match="gave a reward of 2 numbers"):
        tr.check_task(task)
    made = task.make_env
    summed = task.with_options(
        make_env=lambda: gym.wrappers.TransformReward(made(), lambda rewards: float(rewards @ weights))
    )
    assert tr.check_task(summed).exact


@pytest.mark.parametrize("reward", [None, "7", object()])
def test_rewards_that_are_no_number_are_refused(reward: Any) -> None:
    class Strange(Line):
        def reward(self, move: float) -> Any:
            return reward

    with pytest.raises(TaskError, match=r"gave the reward .*, which is not a number; return a float"):
        tr.check_task(line_task(Strange))


@pytest.mark.parametrize("reward", [np.array([3.0]), np.float32(3.0), 3, np.array(3.0), True])
def test_rewards_of_one_number_are_taken(reward: Any) -> None:
    class One(Line):
        def reward(self, move: float) -> Any:
            return reward

    task = line_task(One)
    assert tr.check_task(task).exact
    simulator = open_simulator(task)
    simulator.reset()
    assert simulator.step(1).reward == float(np.asarray(reward).item())


# ------------------------------------------------------------------------------------------------------ time limits


def test_an_agent_that_never_ends_an_episode_is_cut_at_a_stated_limit() -> None:
    task = tr.Task(
        name="cliff",
        make_env=lambda: gym.make("CliffWalking-v1"),
        goal=lambda t: t.terminated,
        unsafe=lambda t: t.reward == -100,
    )
    still = load_agent(lambda observation: 3, task, name="still")
    trace = ActionTrace(task.label, task.seed, (0, 1))
    point = tr.compare_performance(task, still, [trace])
    assert point.tests[0].agent_returns == (-float(LONGEST_EPISODE),)
    (episode,) = run_one(task, still)
    assert (episode.outcome, len(episode.actions), episode.error) == (Outcome.TRUNCATED, LONGEST_EPISODE, None)


def run_one(task: tr.Task, agent: Any) -> list[tr.Episode]:
    with tr.Engine(task, {agent.name: agent}) as engine:
        return engine.run([tr.Rollout(start=ActionTrace(task.label, task.seed), agent=agent.name)])


@pytest.mark.parametrize(
    ("make_env", "max_steps", "last"),
    [
        (Line, 30, 30),
        (lambda: gym.wrappers.TimeLimit(Line(), 25), None, 25),
        (lambda: gym.wrappers.TimeLimit(Line(), 25), 20, 20),
        (lambda: gym.wrappers.TimeLimit(Line(), LONGEST_EPISODE + 5), None, LONGEST_EPISODE + 5),
        (Line, LONGEST_EPISODE + 7, LONGEST_EPISODE + 7),
        (Line, None, LONGEST_EPISODE),
    ],
)
def test_the_limit_is_the_tasks_or_the_environments_or_the_default(
    make_env: Any, max_steps: int | None, last: int
) -> None:
    task = line_task(make_env, max_steps=max_steps)
    simulator = open_simulator(task, tr.check_task(line_task()))
    assert simulator.time_limit == time_limit(task, simulator.env) == last
    simulator.reset()
    while simulator.outcome is Outcome.ONGOING:
        simulator.step(1)
    assert (simulator.depth, simulator.outcome) == (last, Outcome.TRUNCATED)
