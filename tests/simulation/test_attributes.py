"""Saving attributes: what is copied, what is kept by reference, what is shared stays shared."""

from __future__ import annotations

import enum
import gc
import random
from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers

from tests.simulation.broken import Line, line_task
from tightrope.simulation import check_task
from tightrope.simulation.snapshots import AttributesSnapshotter
from tightrope.simulation.snapshots.layers import environment_layers
from tightrope.simulation.snapshots.randomness import environment_generators, reseed_environment
from tightrope.testing import SnapshotterContract, corridor_task


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Body:
    """An object with a generator and a method that are shared with its environment."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.rng = env.np_random
        self.parts: list[Any] = [self]
        self.on_step = env.bump


class Crowd(Line):
    """Attributes of many kinds."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        result = super().reset(seed=seed)
        self.bumps = 0
        self.body = Body(self)
        self.same_list = self.body.parts
        self.dice = random.Random(seed)
        self.legacy = np.random.RandomState(seed)
        self.recent: deque[float] = deque(maxlen=3)
        self.colour = Colour.RED
        self.choose = max
        self.current = self.bump
        self.table = {"a": {1, 2}, (1, 2): np.zeros(2)}
        self.objects = np.array([None, "x"], dtype=object)
        return result

    def bump(self) -> None:
        self.bumps += 1

    def reward(self, move: float) -> float:
        self.body.on_step()
        self.current()
        self.table["a"].add(self.bumps)
        self.colour = Colour.BLUE if self.bumps % 2 else Colour.RED
        self.recent.append(float(self.body.rng.random()))
        return sum(self.recent) + self.dice.random() + float(self.legacy.rand()) + len(self.table["a"])


def test_objects_generators_methods_and_containers_are_put_back() -> None:
    verdict = check_task(line_task(Crowd))
    assert (verdict.method, verdict.deterministic, verdict.transferable) == ("attributes", False, True)


def crowd() -> tuple[Crowd, AttributesSnapshotter]:
    env = Crowd()
    env.reset(seed=0)
    return env, AttributesSnapshotter(env)


def test_what_was_shared_is_shared_again() -> None:
    env, snapshotter = crowd()
    payload = snapshotter.save()
    env.step(1)
    snapshotter.load(payload)
    assert env.same_list is env.body.parts
    assert env.body.parts[0] is env.body
    assert env.body.env is env
    assert env.body.rng is env.np_random
    assert env.colour is Colour.RED
    assert env.bumps == 0


def test_putting_back_leaves_nothing_to_the_garbage_collector() -> None:
    """A hundred thousand rollouts load as many snapshots; each left a ring of eight kilobytes."""
    env = Line()
    env.reset(seed=0)
    snapshotter = AttributesSnapshotter(env)
    payload = snapshotter.save()
    snapshotter.load(payload)
    gc.collect()
    gc.disable()
    try:
        snapshotter.load(payload)
        snapshotter.save()
        left = gc.collect()
    finally:
        gc.enable()
    assert left == 0


def test_attributes_that_came_later_go_again_and_live_ones_stay() -> None:
    env, snapshotter = crowd()
    payload = snapshotter.save()
    space = env.action_space
    env.younger = 1  # type: ignore[attr-defined]
    env.other_space = gym.spaces.Discrete(3)  # type: ignore[attr-defined]
    snapshotter.load(payload)
    assert not hasattr(env, "younger")
    assert env.other_space.n == 3  # type: ignore[attr-defined]
    assert env.action_space is space


def test_static_tables_are_left_alone() -> None:
    class WithTable(Line):
        static_attributes = ("huge",)

        def __init__(self) -> None:
            super().__init__()
            self.huge = {number: [number] for number in range(1000)}

    env = WithTable()
    env.reset(seed=0)
    snapshotter, table = AttributesSnapshotter(env), env.huge
    payload = snapshotter.save()
    assert len(payload.values.pickled) < 1000
    snapshotter.load(payload)
    assert env.huge is table


def test_the_layers_include_environments_kept_aside() -> None:
    class Partner(gym.Wrapper[Any, Any, Any, Any]):
        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.partner = Line()

    inner = Line()
    env = Partner(wrappers.TimeLimit(inner, 10))
    layers = environment_layers(env)
    assert layers[0] is env
    assert any(layer is inner for layer in layers)
    assert any(layer is env.partner for layer in layers)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: wrappers.TimeLimit(env, 20),
        lambda env: wrappers.FrameStackObservation(env, 4),
        lambda env: wrappers.NormalizeObservation(env),
        lambda env: wrappers.NormalizeReward(env),
        lambda env: wrappers.RecordEpisodeStatistics(env),
        lambda env: wrappers.StickyAction(env, 0.3),
        lambda env: wrappers.TransformReward(env, lambda reward: 2 * reward),
        lambda env: wrappers.FrameStackObservation(
            wrappers.NormalizeReward(wrappers.NormalizeObservation(wrappers.RecordEpisodeStatistics(env))), 3
        ),
    ],
)
def test_wrappers_are_saved(wrap: Any) -> None:
    task = line_task(lambda: wrap(gym.make("CartPole-v1")), unsafe=lambda transition: bool(transition.terminated))
    verdict = check_task(task)
    assert (verdict.method, verdict.transferable) == ("attributes", True), verdict.rejected


def test_generators_are_found_once_and_set_in_place() -> None:
    env, _ = crowd()
    generators = environment_generators(env)
    assert {type(generator) for generator in generators} == {np.random.Generator, np.random.RandomState, random.Random}
    assert len(generators) == 3
    reseed_environment(env, 5)
    first = (env.body.rng.random(), env.dice.random(), env.legacy.rand())
    reseed_environment(env, 5)
    assert (env.np_random.random(), env.dice.random(), env.legacy.rand()) == first
    reseed_environment(env, 6)
    assert (env.np_random.random(), env.dice.random(), env.legacy.rand()) != first


class TestAttributesOnATable(SnapshotterContract):
    task = corridor_task(slip=0.2)
    snapshotter = AttributesSnapshotter


class TestAttributesOnACrowd(SnapshotterContract):
    task = line_task(Crowd)
    snapshotter = AttributesSnapshotter
