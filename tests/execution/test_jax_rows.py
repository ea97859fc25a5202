"""Rollouts in rows of arrays are what the naive way makes of them, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.agents.behaviour import random_action, replaced_by_noise
from tightrope.execution.naive import run_naively
from tightrope.execution.worker import worker
from tightrope.execution.worker.jax_rows import planned_noise
from tightrope.simulation import conformance_of, open_simulator
from tightrope.testing.jax_pole import LIMIT, pole_task, policy, weights


def rollouts(task: tr.Task, number: int, *, fixed_prefix: bool = True) -> list[tr.Rollout]:
    """From many starts, with prefixes and lengths of all kinds, some of which end before hand-over."""
    rng = np.random.default_rng(5)
    starts = [
        tr.ActionTrace(task.label, int(rng.integers(6)), tuple(map(int, rng.integers(0, 2, rng.integers(0, 25)))))
        for _ in range(number)
    ]
    return [
        tr.Rollout(
            start=start,
            agent="net",
            length=[None, 0, 1, 7, 20, 200][int(rng.integers(6))],
            seed=seed,
            fixed_prefix=fixed_prefix,
        )
        for seed, start in enumerate(starts)
    ]


def agent(task: tr.Task, **options: Any) -> tr.Agent:
    return tr.load_agent(tr.JaxNetwork(policy, weights()), task, name="net", **options)


def naive(task: tr.Task, tested: tr.Agent, asked: Sequence[tr.Rollout]) -> list[tr.Episode]:
    simulator = open_simulator(task)
    deterministic = conformance_of(task).deterministic
    return [run_naively(simulator, {"net": tested}, rollout, deterministic=deterministic) for rollout in asked]


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether rows were chosen, each time that was asked."""
    chosen: list[bool] = []
    known = worker.runs_in_rows

    def noted(*arguments: Any, **options: Any) -> bool:
        chosen.append(known(*arguments, **options))
        return chosen[-1]

    monkeypatch.setattr(worker, "runs_in_rows", noted)
    return chosen


@pytest.mark.parametrize("wind", [0.0, 1.0], ids=["deterministic", "wind"])
@pytest.mark.parametrize("epsilon", [0.0, 0.15], ids=["greedy", "noisy"])
def test_rows_are_the_naive_way(wind: float, epsilon: float, used: list[bool]) -> None:
    task = pole_task(wind)
    tested, asked = agent(task, epsilon=epsilon), rollouts(task, 300)
    with tr.Engine(task, {"net": tested}) as engine:
        found = engine.run(asked)
    assert set(used) == {True}
    assert {episode.outcome for episode in found} >= {tr.Outcome.GOAL, tr.Outcome.UNSAFE, tr.Outcome.ONGOING}
    places = range(0, 300, 15)
    for place, expected in zip(places, naive(task, tested, [asked[place] for place in places]), strict=True):
        assert found[place] == expected
        assert (found[place].actions, found[place].rewards) == (expected.actions, expected.rewards)


@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.3, 1.0])
def test_noise_is_planned_as_it_would_be_drawn_step_by_step(epsilon: float) -> None:
    space = gym.spaces.Discrete(5)
    for seed in range(20):
        asked, planned = (np.random.Generator(np.random.PCG64(seed)) for _ in range(2))
        one_by_one = {step: random_action(space, asked) for step in range(150) if replaced_by_noise(epsilon, asked)}
        assert dict(planned_noise(planned, epsilon, space, 150)) == one_by_one


def test_two_processes_give_the_same() -> None:
    task = pole_task(1.0)
    tested, asked = agent(task, epsilon=0.1), rollouts(task, 60)
    with tr.Engine(task, {"net": tested}) as inline:
        expected = inline.run(asked)
    with tr.Engine(task, {"net": tested}, backend="processes", workers=2) as processes:
        assert processes.run(asked) == expected


@pytest.mark.parametrize("what", ["keys", "fresh prefix", "sampled", "python agent"])
def test_what_rows_cannot_tell_runs_in_lanes(what: str, used: list[bool]) -> None:
    task = pole_task(1.0)
    tested = agent(task, behaviour="sampled" if what == "sampled" else "greedy")
    if what == "python agent":
        tested = tr.load_agent(lambda observation: int(observation[2] > 0), task, name="net")
    asked = rollouts(task, 12, fixed_prefix=what != "fresh prefix")
    if what == "keys":
        asked = [
            tr.Rollout(start=each.start, agent="net", length=9, seed=each.seed, record_keys=True) for each in asked
        ]
    with tr.Engine(task, {"net": tested}) as engine:
        found = engine.run(asked)
    assert set(used) == {False}
    assert found == naive(task, tested, asked)


def test_an_agent_that_raises_is_told_as_elsewhere() -> None:
    def broken(parameters: Any, observations: Any) -> Any:
        return policy(parameters, observations)[..., :1] if observations.shape[0] else None

    task = pole_task()
    with pytest.raises(tr.TightropeError, match="action space takes"):
        tr.load_agent(tr.JaxNetwork(broken, weights()), task)


def test_a_suite_of_a_jax_agent_is_judged_as_any_other() -> None:
    task = pole_task()
    tested = agent(task)
    result = tr.evaluate(task, tested, episodes=40, seed=1)
    assert len(result.judged) == 40
    assert all(len(episode.actions) <= LIMIT for episode in result.judged)
