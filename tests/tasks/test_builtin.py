"""The built-in tasks: saved exactly, judged rightly, drawn where a map makes sense."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tightrope.errors import MissingExtra, TaskError, UnknownName
from tightrope.outcome import Outcome
from tightrope.simulation import Simulator, check_task
from tightrope.tasks import Task, make_task, task_builders
from tightrope.tasks.builtin import BUILTIN_TASKS
from tightrope.tasks.builtin.making import make_environment

# Task -> (library, way of saving, deterministic).
EXPECTED: dict[str, tuple[str, str, bool]] = {
    "FrozenLake-v1": ("gymnasium", "attributes", False),
    "FrozenLake8x8-v1": ("gymnasium", "attributes", False),
    "CliffWalking-v1": ("gymnasium", "attributes", True),
    "CartPole-v1": ("gymnasium", "attributes", True),
    "MountainCar-v0": ("gymnasium", "attributes", True),
    "Acrobot-v1": ("gymnasium", "attributes", True),
    "LunarLander-v3": ("Box2D", "replay", False),
    "MiniGrid-LavaCrossingS9N1-v0": ("minigrid", "attributes", True),
    "MiniGrid-Dynamic-Obstacles-8x8-v0": ("minigrid", "attributes", False),
    "highway-fast-v0": ("highway_env", "attributes", True),
    "merge-v0": ("highway_env", "attributes", True),
    "ALE/MsPacman-v5": ("ale_py", "ale", True),
    "Hopper-v5": ("mujoco", "mujoco", True),
    "Walker2d-v5": ("mujoco", "mujoco", True),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_it_is_saved_exactly(name: str) -> None:
    library, method, deterministic = EXPECTED[name]
    pytest.importorskip(library)
    verdict = check_task(make_task(name))
    assert (verdict.method, verdict.deterministic) == (method, deterministic), verdict.rejected
    assert not verdict.notes


TAXI = "Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3"


def test_taxi_under_whichever_number_gymnasium_has() -> None:
    assert check_task(make_task(TAXI)).method == "attributes"


def simulate(task: Task, actions: list[Any]) -> Any:
    simulator = started(task)
    for action in actions:
        if not simulator.outcome.terminal:
            simulator.step(action)
    return simulator


def started(task: Task) -> Simulator:
    """A simulator right after reset; without a check, since nothing is saved here."""
    simulator = Simulator(task, task.open_env(), None)
    simulator.reset()
    return simulator


@pytest.mark.parametrize(
    ("name", "options", "actions", "outcome"),
    [
        ("FrozenLake-v1", {"is_slippery": False}, [1, 1, 2, 1, 2, 2], Outcome.GOAL),
        ("FrozenLake-v1", {"is_slippery": False}, [1, 2], Outcome.UNSAFE),
        ("CliffWalking-v1", {}, [0, *[1] * 11, 2], Outcome.GOAL),
        ("CliffWalking-v1", {}, [1], Outcome.UNSAFE),
        (TAXI, {}, [5], Outcome.UNSAFE),
        ("CartPole-v1", {}, [0] * 15, Outcome.UNSAFE),
        ("CartPole-v1", {"max_episode_steps": 5}, [0, 1, 0, 1, 0], Outcome.GOAL),
        ("MountainCar-v0", {}, [1] * 200, Outcome.TRUNCATED),
    ],
)
def test_known_ends(name: str, options: dict[str, Any], actions: list[int], outcome: Outcome) -> None:
    assert simulate(make_task(name, **options), actions).outcome is outcome


def test_the_car_that_rolls_back_too_far_hits_the_wall() -> None:
    simulator = started(make_task("MountainCar-v0"))
    turned = False
    while not simulator.outcome.terminal:
        place, speed = simulator.observation
        turned = turned or place > -0.1
        simulator.step(0 if turned or speed < 0 else 2)
    assert simulator.outcome is Outcome.UNSAFE
    assert simulator.depth < 200


@pytest.mark.parametrize("name", ["Hopper-v5", "Walker2d-v5", "HalfCheetah-v5"])
def test_walkers_name_what_they_see(name: str) -> None:
    pytest.importorskip("mujoco")
    task = make_task(name)
    simulator = started(task)
    data = simulator.env.unwrapped.data
    seen = dict(zip(task.observation_names or (), simulator.observation, strict=True))
    assert seen["height"] == pytest.approx(data.qpos[1])
    assert seen["lean"] == pytest.approx(data.qpos[2])
    assert seen["forward speed"] == pytest.approx(data.qvel[0])
    joints = [data.joint(at).name for at in range(3, len(data.qpos))]
    speeds = list(seen)[-len(joints) :]
    for joint, speed in zip(joints, speeds, strict=True):
        assert seen[speed] == pytest.approx(float(data.joint(joint).qvel[0]))


def test_lava_is_unsafe_and_the_far_corner_is_the_goal() -> None:
    pytest.importorskip("minigrid")
    task = make_task("MiniGrid-LavaGapS5-v0")
    simulator = started(task)
    outcomes = set()
    rng = np.random.default_rng(0)
    for _ in range(200):
        simulator.reset()
        while not simulator.outcome.terminal:
            simulator.step(int(rng.integers(3)))
        outcomes.add(simulator.outcome)
    assert {Outcome.GOAL, Outcome.UNSAFE} <= outcomes


def test_a_chicken_that_is_hit_is_unsafe_and_one_that_arrives_is_not() -> None:
    pytest.importorskip("ale_py")
    task = make_task("ALE/Freeway-v5", points=1)
    assert simulate(task, [1] * 43).outcome is Outcome.GOAL
    assert simulate(task, [0] * 7 + [1] * 15).outcome is Outcome.UNSAFE


def test_atari_as_the_usual_agents_see_it() -> None:
    pytest.importorskip("ale_py")
    task = make_task("ALE/Freeway-v5", preprocessed=True, sticky=0.25)
    assert task.observation_space.shape == (4, 84, 84)


@pytest.mark.parametrize("observation", ["dict", "image", "flat", "full"])
def test_minigrid_observations(observation: str) -> None:
    pytest.importorskip("minigrid")
    task = make_task("MiniGrid-LavaCrossingS9N1-v0", observation=observation)
    simulator = started(task)
    assert task.observation_space.contains(simulator.observation)
    with pytest.raises(UnknownName, match="image"):
        make_task("MiniGrid-LavaCrossingS9N1-v0", observation="imag")


@pytest.mark.parametrize(
    "name", ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", TAXI, "MiniGrid-LavaCrossingS9N1-v0"]
)
def test_the_start_lies_on_the_map(name: str) -> None:
    if name.startswith("MiniGrid"):
        pytest.importorskip("minigrid")
    task = make_task(name)
    simulator = started(task)
    assert task.draw_map is not None
    assert task.position is not None
    level = task.draw_map(task)
    x, y = level.to_pixels(task.position(simulator.env, simulator.observation, simulator.info))
    height, width, channels = level.image.shape
    assert level.image.dtype == np.uint8
    assert channels == 3
    assert 0 <= x < width
    assert 0 <= y < height
    assert len(np.unique(level.image.reshape(-1, 3), axis=0)) > 2


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"])
def test_positions_are_numbers(name: str) -> None:
    task = make_task(name)
    simulator = simulate(task, [0, 1])
    assert task.position is not None
    assert all(math.isfinite(part) for part in task.position(simulator.env, simulator.observation, simulator.info))
    assert isinstance(simulator.identity(), bytes)
    assert simulator.identity() != simulator.key()


def test_every_builtin_task_is_named_and_takes_no_unknown_option() -> None:
    assert set(BUILTIN_TASKS) <= set(task_builders())
    with pytest.raises(UnknownName, match="is_slippery"):
        make_task("FrozenLake-v1", slippery=False)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tightrope.tasks.builtin.making.importlib.import_module",
        lambda name: (_ for _ in ()).throw(ImportError(name)),
    )
    with pytest.raises(MissingExtra, match=r"pip install 'tightrope\[minigrid\]'"):
        make_environment("MiniGrid-LavaGapS5-v0", "minigrid", "minigrid")


def test_a_version_that_gymnasium_does_not_have() -> None:
    missing = "CliffWalking-v0" if "CliffWalking-v1" in gym.registry else "CliffWalking-v1"
    with pytest.raises(TaskError, match=missing):
        make_task(missing).open_env()
