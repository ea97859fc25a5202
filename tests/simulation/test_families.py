"""Emulators and physics: each family's snapshotter keeps the contract, and what it cannot save is refused."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.simulation.broken import Line, line_task
from tightrope.errors import NotReproducible, UsageError
from tightrope.simulation import check_task
from tightrope.simulation.snapshots import (
    AleSnapshotter,
    MujocoSnapshotter,
    OwnMethodsSnapshotter,
    RetroSnapshotter,
    Snapshotter,
    canonical_reseed,
)
from tightrope.simulation.snapshots.ale import with_generators
from tightrope.tasks import Task, make_task
from tightrope.testing import SnapshotterContract


class Helpful(Line):
    """Saves itself, a coin included."""

    def reward(self, move: float) -> float:
        return float(self.np_random.integers(2))

    def save_state(self) -> Any:
        return self.place, self.np_random.bit_generator.state

    def load_state(self, saved: Any) -> None:
        self.place, self.np_random.bit_generator.state = saved

    def reseed(self, seed: int) -> None:
        self.np_random = np.random.default_rng(seed)


class WithoutReseed(Helpful):
    reseed = None  # type: ignore[assignment]


class TestOwnMethods(SnapshotterContract):
    task = line_task(lambda: gym.wrappers.StickyAction(gym.wrappers.TimeLimit(Helpful(), 50), 0.3))
    snapshotter = OwnMethodsSnapshotter


class TestOwnMethodsWithoutReseed(SnapshotterContract):
    task = line_task(WithoutReseed)
    snapshotter = OwnMethodsSnapshotter


def test_own_methods_are_preferred_and_reseeded() -> None:
    verdict = check_task(TestOwnMethods.task)
    assert (verdict.method, verdict.deterministic, verdict.transferable) == ("own methods", False, True)


def test_own_methods_that_forget_something_are_rejected() -> None:
    class Forgetful(Helpful):
        def save_state(self) -> Any:
            return self.place

        def load_state(self, saved: Any) -> None:
            self.place = saved

    verdict = check_task(line_task(Forgetful))
    assert verdict.method == "attributes"
    assert "reward differs" in verdict.rejected[0].reason


class Certain(Line):
    """Saves itself, sets all generators it draws from, which are none, and says so."""

    draws_nothing = True

    def save_state(self) -> Any:
        return self.place

    def load_state(self, saved: Any) -> None:
        self.place = saved

    def reseed(self, seed: int) -> None: ...


class Slipping(gym.Wrapper[Any, Any, Any, Any]):
    """Draws from a generator of its own, and not before the walks of the first check have ended."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.rng, self.steps = np.random.default_rng(seed), 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        slips = self.steps > 60 and self.rng.random() < 0.3
        return super().step(1 - action if slips else action)


@pytest.mark.parametrize(
    "wrap", [lambda env: gym.wrappers.StickyAction(env, 0.3), lambda env: gym.wrappers.TimeLimit(Slipping(env), 90)]
)
def test_wrappers_that_draw_around_an_environment_that_does_not_are_random(wrap: Any) -> None:
    assert check_task(line_task(Certain)).dynamics_evidence == "the environment says that its steps draw nothing"
    verdict = check_task(line_task(lambda: wrap(Certain())))
    assert (verdict.method, verdict.deterministic) == ("own methods", False)


def test_own_methods_of_an_environment_kept_inside_another_are_not_enough() -> None:
    class Keeping(Line):
        def __init__(self) -> None:
            super().__init__()
            self.kept = Certain()

    assert check_task(line_task(Keeping)).method == "attributes"


class TestMujocoHopper(SnapshotterContract):
    pytest.importorskip("mujoco")
    task = make_task("Hopper-v5")
    snapshotter = MujocoSnapshotter


def humanoid() -> Task:
    torques = [
        tuple(0.4 * sign if joint == index else 0.0 for index in range(17)) for joint in range(4) for sign in (1, -1)
    ]
    return line_task(lambda: gym.make("Humanoid-v5"), actions=torques, unsafe=lambda t: bool(t.terminated))


def test_rewards_that_lag_behind_the_integration_are_put_back() -> None:
    pytest.importorskip("mujoco")
    assert check_task(humanoid()).method == "mujoco"


class TestAle(SnapshotterContract):
    pytest.importorskip("ale_py")
    task = make_task("ALE/Freeway-v5")
    snapshotter = AleSnapshotter


def sticky_freeway() -> Any:
    ale_py = pytest.importorskip("ale_py")
    gym.register_envs(ale_py)
    return gym.make("ALE/Freeway-v5", frameskip=4)


def test_sticky_actions_of_ale_itself_are_refused() -> None:
    snapshotter: Snapshotter = AleSnapshotter(sticky_freeway())
    with pytest.raises(UsageError, match="StickyAction"):
        snapshotter.save()


def test_sticky_ale_gets_fresh_randomness_without_reloading_the_game() -> None:
    env = sticky_freeway()
    actions = np.random.default_rng(0).integers(0, 3, 60).tolist()

    def play(seed: int) -> bytes:
        env.reset(seed=0)
        canonical_reseed(env)(seed)
        for action in actions:
            env.step(action)
        return bytes(env.unwrapped.ale.getRAM())

    assert play(1) == play(1)
    assert len({play(seed) for seed in range(6)}) > 1


def test_an_unknown_layout_of_ale_is_refused() -> None:
    with pytest.raises(UsageError, match="does not keep its random generators"):
        with_generators(b"nothing of the kind", 0)


RETRO = """
import stable_retro as retro
from tests.simulation.broken import line_task
from tightrope.simulation import check_task

def airstriker():
    # The one game whose ROM comes with the library.
    actions = retro.Actions.DISCRETE
    return retro.make("Airstriker-Genesis-v0", use_restricted_actions=actions, render_mode="rgb_array")

print(check_task(line_task(airstriker, unsafe=lambda t: bool(t.terminated), one_per_process=True)).method)
"""


def test_retro_puts_back_the_emulator_and_what_rewards_compare_with() -> None:
    pytest.importorskip("stable_retro")
    # In a process of its own: a process can hold one emulator, and other tests may have it.
    result = subprocess.run([sys.executable, "-c", RETRO], capture_output=True, text=True, check=False)
    assert result.stdout.split()[-1:] == [RetroSnapshotter.name], result.stderr


def test_box2d_falls_back_on_replay() -> None:
    pytest.importorskip("Box2D")
    verdict = check_task(make_task("LunarLander-v3"))
    assert verdict.method == "replay"
    assert "Box2D" in verdict.rejected[0].reason


def test_a_world_that_is_used_again_is_refused_and_works_when_made_anew() -> None:
    """BipedalWalker keeps its Box2D world over resets, and what was in it decides last digits of what follows."""
    pytest.importorskip("Box2D")

    def task(make_env: Any) -> Task:
        return line_task(make_env, actions=None, unsafe=lambda t: bool(t.terminated), max_steps=120)

    with pytest.raises(NotReproducible, match=r"reset\(seed=…\) leaves something behind.*renewed_env"):
        check_task(task(partial(gym.make, "BipedalWalker-v3")))
    verdict = check_task(task(lambda: tr.renewed_env(partial(gym.make, "BipedalWalker-v3"))))
    assert (verdict.method, verdict.deterministic) == ("replay", True)


def test_the_built_in_walker_is_made_anew() -> None:
    pytest.importorskip("Box2D")
    verdict = check_task(make_task("BipedalWalker-v3"))
    assert (verdict.method, verdict.deterministic) == ("replay", True)
