"""A slippery lake whose steps take as long as those of a simulator: an hour of it is no million of episodes."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym

import tightrope as tr

SECONDS_A_STEP = 0.0002


class Slow(gym.Wrapper[Any, Any, Any, Any]):
    """Takes its time for every step."""

    def step(self, action: Any) -> Any:
        """Wait, then step."""
        time.sleep(SECONDS_A_STEP)
        return self.env.step(action)


def lake() -> tr.Task:
    """FrozenLake with slow steps."""
    known = tr.make_task("FrozenLake-v1", is_slippery=True)
    return tr.Task(
        name="slow lake",
        make_env=_slow_lake,
        goal=known.goal,
        unsafe=known.unsafe,
        state_key=known.state_key,
        max_steps=known.max_steps,
    )


def _slow_lake() -> gym.Env[Any, Any]:
    return Slow(gym.make("FrozenLake-v1", is_slippery=True))
