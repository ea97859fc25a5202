"""The tasks that come with tightrope get a reference with the default settings, and it replays."""

from __future__ import annotations

import gymnasium as gym
import pytest

import tightrope as tr
from tightrope.exploration.playing import replay

QUICK = (
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "CliffWalking-v1" if "CliffWalking-v1" in gym.registry else "CliffWalking-v0",
    "Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3",
    "CartPole-v1",
    "MountainCar-v0",
    "Acrobot-v1",
    "MiniGrid-LavaCrossingS9N1-v0",
    "MiniGrid-Dynamic-Obstacles-8x8-v0",
)
"""The others take the search seconds to a minute; `tightrope search NAME` shows them."""


@pytest.mark.parametrize("name", QUICK)
def test_a_reference_is_found_and_replays(name):
    if name.startswith("MiniGrid"):
        pytest.importorskip("minigrid")
    task = tr.make_task(name)
    result = tr.search(task)
    assert result.stop_reason is tr.StopReason.GOAL_FOUND
    simulator = tr.open_simulator(task)
    assert replay(simulator, result.reference.actions) == result.reference.trace
    simulator.close()


def test_cart_pole_has_narrow_places():
    reference = tr.search(tr.make_task("CartPole-v1")).reference
    assert len(reference) == 500
    assert reference.proven > 5
