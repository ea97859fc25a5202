"""Worlds of brax and pgx by name. Without these libraries most is skipped: ``pip install '.[brax,pgx]'`` runs it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.execution.naive import run_naively
from tightrope.simulation import conformance_of, open_simulator

POLE, GAME = "brax:inverted_pendulum", "pgx:minatar-breakout"
LIMIT = 20


@pytest.fixture(scope="module", params=[POLE, GAME])
def task(request: pytest.FixtureRequest) -> tr.Task:
    pytest.importorskip(request.param.partition(":")[0])
    return tr.make_task(request.param, max_episode_steps=LIMIT)


def steer(weights: Any, observations: Any) -> Any:
    """For the pole, a torque against its lean; for the game, scores of a picture."""
    return observations.reshape(len(observations), -1) @ weights


@pytest.fixture(scope="module")
def agent(task: tr.Task) -> tr.Agent:
    weights = np.array([[0.1], [4.0], [0.2], [0.8]], dtype=np.float32)
    if isinstance(task.action_space, gym.spaces.Discrete):
        size = gym.spaces.flatdim(task.observation_space), int(task.action_space.n)
        weights = np.random.default_rng(0).normal(size=size).astype(np.float32)
    return tr.load_agent(tr.JaxNetwork(steer, weights), task, name="net")


def test_it_is_exact_and_its_randomness_is_known(task: tr.Task) -> None:
    found = tr.check_task(task)
    assert found.method == "own methods"
    assert found.deterministic is (task.name == POLE)


def test_an_episode_ends_once_and_is_not_begun_anew(task: tr.Task) -> None:
    env: Any = task.open_env()
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    over, steps = False, 0
    while not over:
        observation, _, terminated, truncated, info = env.step(task.search_actions[0])
        over, steps = terminated or truncated, steps + 1
    assert env.observation_space.contains(observation)
    assert int(env.unwrapped.situation[1][1]) == steps <= LIMIT
    assert info == {"goal": truncated and not terminated, "unsafe": terminated}


def test_plain_episodes_a_search_and_a_suite(task: tr.Task, agent: tr.Agent) -> None:
    played = tr.evaluate(task, agent, episodes=4)
    assert played.goal_rate.n == 4
    found = tr.search(task, budget=tr.Budget(steps=300), seed=0)
    assert found.reference is not None
    assert len(found.reference.actions) == LIMIT
    reference = tr.probe_boundary(task, found.reference, budget=tr.Budget(steps=100))
    suite = tr.interval_suite(reference, size=5)
    safety = tr.run_suite(task, agent, suite, repetitions=2, length=5)
    assert safety.fail_frequency.n > 0


def test_the_engine_is_the_naive_way(task: tr.Task, agent: tr.Agent) -> None:
    rng = np.random.default_rng(5)
    some = [task.search_actions[int(place)] for place in rng.integers(0, len(task.search_actions), 60)]
    asked = [
        tr.Rollout(
            start=tr.ActionTrace(task.label, seed % 3, tuple(some[4 * seed : 4 * seed + seed % 4])),
            agent="net",
            length=[None, 3][seed % 2],
            seed=seed,
        )
        for seed in range(8)
    ]
    with tr.Engine(task, {"net": agent}) as engine:
        found = engine.run(asked)
    simulator, deterministic = open_simulator(task), conformance_of(task).deterministic
    expected = [run_naively(simulator, {"net": agent}, rollout, deterministic=deterministic) for rollout in asked]
    assert found == expected
    assert [episode.rewards for episode in found] == [episode.rewards for episode in expected]
