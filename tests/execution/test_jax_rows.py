"""Rollouts in rows of arrays are what the naive way makes of them, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.agents.behaviour import random_action, replaced_by_noise
from tightrope.errors import NotReproducible
from tightrope.execution.naive import run_naively
from tightrope.execution.worker import jax_stretch, worker
from tightrope.execution.worker.planned_noise import planned_noise
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


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many ticks were played in each call."""
    ticks: list[int] = []
    known = jax_stretch.Stretches.play

    def noted(self: Any, *arguments: Any) -> Any:
        found = known(self, *arguments)
        ticks.append(len(found[1].actions))
        return found

    monkeypatch.setattr(jax_stretch.Stretches, "play", noted)
    return ticks


@pytest.mark.parametrize(
    ("wind", "epsilon", "looped"),
    [(0.0, 0.0, True), (0.0, 0.15, False), (1.0, 0.0, False), (1.0, 0.15, True)],
    ids=["greedy, looped", "noisy", "greedy in wind", "noisy in wind, looped"],
)
def test_rows_are_the_naive_way(
    wind: float, epsilon: float, looped: bool, used: list[bool], loops: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax_stretch, "PAYS_AFTER", 0 if looped else 10**9)
    task = pole_task(wind)
    tested, asked = agent(task, epsilon=epsilon), rollouts(task, 300)
    with tr.Engine(task, {"net": tested}) as engine:
        found = engine.run(asked)
    assert set(used) == {True}
    assert any(ticks > 1 for ticks in loops) == looped
    assert {episode.outcome for episode in found} >= {tr.Outcome.GOAL, tr.Outcome.UNSAFE, tr.Outcome.ONGOING}
    places = range(0, 300, 15)
    for place, expected in zip(places, naive(task, tested, [asked[place] for place in places]), strict=True):
        assert found[place] == expected
        assert (found[place].actions, found[place].rewards) == (expected.actions, expected.rewards)


@pytest.mark.parametrize("epsilon", [1e-9, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("actions", [1, 2, 5, 3 * 2**29], ids=str)
def test_noise_is_planned_as_it_would_be_drawn_step_by_step(epsilon: float, actions: int) -> None:
    """With 3·2²⁹ actions a quarter of the draws is refused and drawn again."""
    steps = [150, 0, 1, 149, 77] * 4
    streams = [np.random.Generator(np.random.PCG64(seed)) for seed in range(len(steps))]
    planned = planned_noise(streams, epsilon, actions, steps)
    for seed, length in enumerate(steps):
        asked = np.random.Generator(np.random.PCG64(seed))
        one_by_one = {step: int(asked.integers(actions)) for step in range(length) if replaced_by_noise(epsilon, asked)}
        assert {step: action for step, action in enumerate(planned[seed].tolist()) if action >= 0} == one_by_one


def test_noise_is_a_random_action() -> None:
    space, asked = gym.spaces.Discrete(7, start=3), np.random.Generator(np.random.PCG64(1))
    [planned] = planned_noise([np.random.Generator(np.random.PCG64(1))], 1.0, 7, [30])
    for action in planned:
        assert replaced_by_noise(1.0, asked)
        assert random_action(space, asked) == 3 + action


def changed_loop(monkeypatch: pytest.MonkeyPatch, *, from_call: int) -> None:
    """From some call on, the compiled loop plays another action in one row."""
    known = jax_stretch.Player.compiled
    calls = 0

    def compiled(self: Any) -> Any:
        loop = known(self)

        def changed(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            ticks, scene, stretch = loop(*arguments)
            actions = np.array(stretch.actions)
            actions[0, 5] ^= calls >= from_call
            return ticks, scene, stretch._replace(actions=actions)

        return changed

    monkeypatch.setattr(jax_stretch.Player, "compiled", compiled)
    monkeypatch.setattr(jax_stretch, "PAYS_AFTER", 0)


def test_a_loop_that_differs_from_single_ticks_is_not_used(loops: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    changed_loop(monkeypatch, from_call=1)
    task = pole_task(1.0)
    tested, asked = agent(task), rollouts(task, 400)
    with tr.Engine(task, {"net": tested}) as engine:
        found = engine.run(asked)
    assert set(loops[1:]) == {1}
    assert found[::50] == naive(task, tested, asked[::50])


def test_a_loop_that_differs_later_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    changed_loop(monkeypatch, from_call=2)
    task = pole_task(1.0)
    with tr.Engine(task, {"net": agent(task)}) as engine, pytest.raises(NotReproducible, match="in single steps"):
        engine.run(rollouts(task, 800))


def test_an_agent_that_answers_nan_on_the_way_is_told_as_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubtful(parameters: Any, observations: Any) -> Any:
        import jax.numpy as jnp

        x, _, lean, _ = observations.T
        lost = (lean > 0.06) & (lean < 0.2) & (abs(x) < 0.15)
        return jnp.where(lost[:, None], jnp.nan, policy(parameters, observations))

    monkeypatch.setattr(jax_stretch, "PAYS_AFTER", 0)
    task = pole_task(1.0)
    tested = tr.load_agent(tr.JaxNetwork(doubtful, weights(5.0)), task, name="net")
    start = tr.ActionTrace(task.label, 0)
    asked = [tr.Rollout(start=start, agent="net", seed=seed, length=[2, None][seed % 2]) for seed in range(12)]
    with tr.Engine(task, {"net": tested}) as engine:
        found = engine.run(asked)
    assert {episode.error is None for episode in found} == {True, False}
    assert found == naive(task, tested, asked)


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
