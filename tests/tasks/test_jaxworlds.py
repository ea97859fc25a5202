"""Worlds written in JAX as environments: exact, whatever stands in the other rows."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.errors import TaskError, UnknownName
from tightrope.tasks.jaxworlds import JaxEnvironment
from tightrope.tasks.jaxworlds.rows import WIDTH, rows_of
from tightrope.testing.jax_pole import LIMIT, pole_task, pole_world


def test_gymnasium_accepts_it() -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(JaxEnvironment(pole_world()), skip_render_check=True)


def test_a_row_shows_the_same_wherever_it_stands_and_whatever_stands_beside_it() -> None:
    world = pole_world(wind=1.0)
    rows, rng = rows_of(world), np.random.default_rng(0)
    starts = [rows.row(rows.reset(np.array([seed, 7], dtype=np.uint32))[0]) for seed in range(12)]
    picked = rng.integers(0, 12, WIDTH)
    situations = rows.stacked([starts[which] for which in picked])
    actions = rng.integers(0, 2, WIDTH)
    for _ in range(25):
        after, shown = rows.step(situations, actions)
        for place in rng.integers(0, WIDTH, 6):
            alone, seen = rows.step(rows.filled(rows.row(situations, place)), np.full(WIDTH, actions[place]))
            assert np.array_equal(np.asarray(seen.observation)[0], np.asarray(shown.observation)[place])
            (key, (state, _)), (its_key, (its_state, _)) = rows.row(alone), rows.row(after, place)
            assert np.array_equal(key, its_key)
            assert np.array_equal(state, its_state)
        situations, actions = after, rng.integers(0, 2, WIDTH)


@pytest.mark.parametrize(("wind", "deterministic"), [(0.0, True), (1.0, False)])
def test_conformance_finds_it_exact_and_knows_its_randomness(wind: float, deterministic: bool) -> None:
    task = pole_task(wind)
    found = tr.check_task(task)
    assert found.method == "own methods"
    assert found.deterministic is deterministic
    assert JaxEnvironment(pole_world(wind)).draws_nothing is deterministic


def test_a_search_finds_its_boundary_states() -> None:
    found = tr.search(pole_task(), method="archive", budget=tr.Budget(steps=1500), seed=0)
    assert found.stats.steps <= 1500
    env = JaxEnvironment(pole_world())
    env.reset(seed=0)
    steps = [env.step(number % 2)[2:4] for number in range(LIMIT)]
    assert any(any(ended) for ended in steps)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("gymnax:CartPoll-v1", "world of gymnax .* 'CartPole-v1'"),
        ("brax:reacher", "world of brax .* hopper, .*tightrope.jax_task"),
        ("brax:", "world of brax .* hopper, .*tightrope.jax_task"),
        ("pgx:minatar-brakeout", "world of pgx .* 'minatar-breakout'"),
        ("pgx:chess", "world of pgx .* minatar-breakout, .*tightrope.jax_task"),
    ],
)
def test_names_that_are_no_worlds_say_so(name: str, offered: str) -> None:
    with pytest.raises(UnknownName, match=offered):
        tr.make_task(name)


@pytest.mark.parametrize("name", ["jumanji:Snake-v1", "navix:Navix-Empty-5x5-v0", "craftax:symbolic", "playground:x"])
def test_libraries_whose_worlds_have_no_names_are_told_from_modules_of_ones_own(name: str) -> None:
    with pytest.raises(TaskError, match=r"some of brax, gymnax, pgx .*tightrope.jax_task"):
        tr.make_task(name)


def test_a_module_of_ones_own_may_be_called_like_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "xminigrid"
    (tmp_path / f"{name}.py").write_text(
        "from tightrope.testing.jax_pole import pole_task\n\n\ndef pole():\n    return pole_task()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert tr.make_task(f"{name}:pole").name == f"{name}:pole"
    with pytest.raises(TaskError, match=r"tightrope.jax_task"):
        tr.make_task(f"{name}:poll")


def test_the_worlds_of_gymnax() -> None:
    pytest.importorskip("gymnax")
    for name in ("CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Breakout-MinAtar"):
        task = tr.make_task(f"gymnax:{name}", max_episode_steps=30)
        env = task.open_env()
        observation, _ = env.reset(seed=3)
        assert env.observation_space.contains(observation)
        assert isinstance(env.action_space, gym.spaces.Discrete)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(0)
            over = terminated or truncated
        assert set(info) == {"goal", "unsafe"}
