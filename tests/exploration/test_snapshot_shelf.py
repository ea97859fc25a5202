"""A limit of memory for the archive: it costs time, and changes nothing that is found."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tightrope.exploration.snapshot_shelf import WEIGHED_EVERY, SnapshotShelf
from tightrope.simulation import open_simulator
from tightrope.testing import WALK, corridor_task

PICTURE_BYTES = 100_000


class Pictures(gym.Wrapper):
    """Shows a large array beside the place in the corridor, as an emulator's memory would be."""

    def step(self, action):
        observation, *rest = self.env.step(action)
        self.picture = np.full(PICTURE_BYTES, observation % 256, np.uint8)
        return observation, *rest


def standing_in_a_long_corridor():
    plain = corridor_task(2000, ())
    task = plain.with_options(make_env=lambda: Pictures(plain.make_env()))
    simulator = open_simulator(task)
    simulator.reset()
    return simulator


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("limit", [0, 10_000])
def test_a_limit_changes_no_result(slip, limit):
    task = corridor_task(60, range(4, 60, 6), slip=slip)

    def found(**options):
        with tr.Engine(task, **options) as engine:
            return tr.search(task, "archive", seed=3, budget=tr.Budget(steps=50_000), probe=False, engine=engine)

    free, limited = found(), found(memory_limit=limit)
    assert limited.reference.actions == free.reference.actions
    assert limited.stats.replayed_steps > free.stats.replayed_steps == 0
    assert replace(limited.stats, seconds=0.0, replayed_steps=0) == replace(free.stats, seconds=0.0)


def test_snapshots_stay_within_the_limit():
    simulator = standing_in_a_long_corridor()
    shelf = SnapshotShelf(simulator, limit=50 * PICTURE_BYTES)
    for _ in range(4 * WEIGHED_EVERY):
        shelf.save()
        simulator.step(WALK)
    assert 30 <= len(shelf) < 50


def test_what_was_not_used_for_longest_goes_first_and_is_replayed_from_the_nearest_left():
    simulator = standing_in_a_long_corridor()
    shelf = SnapshotShelf(simulator, limit=10 * PICTURE_BYTES + PICTURE_BYTES // 2)
    ways = []
    for number in range(30):
        ways.append(shelf.save())
        if number >= 5:
            shelf.fetch(ways[5])
            shelf.fetch(ways[number])
        simulator.step(WALK)
    assert simulator.counters.replayed_steps == 0
    shelf.fetch(ways[15])
    assert simulator.counters.replayed_steps == 10
    assert (simulator.depth, simulator.observation) == (15, 15)
    shelf.fetch(ways[15])
    assert simulator.counters.replayed_steps == 10, "what was wanted is kept again"
    shelf.fetch(ways[3])
    assert simulator.counters.replayed_steps == 13
    assert simulator.observation == 3
