"""How many lanes pay: measured on the agent itself."""

from __future__ import annotations

from copy import copy
from time import perf_counter
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.seeding import generator
from tightrope.tasks.task import Transition

BATCHES = (1, 4, 16, 64, 256)
SMALLEST_GAIN = 0.9
"""A larger batch must bring the time per observation down to this share, or the smaller one is kept."""


def seconds_per_observation(agent: Agent, shown: Transition) -> dict[int, float]:
    """How long the agent takes per observation in batches of growing size, up to where growing no longer helps."""
    seconds: dict[int, float] = {}
    last = float("inf")
    for size in BATCHES:
        try:
            seconds[size] = min(_time_one(agent, shown, size) for _ in range(2)) / size
        except Exception:
            # Whoever asks it next meets the same error, with a rollout to blame.
            return seconds or {1: 0.0}
        if seconds[size] > SMALLEST_GAIN * last:
            break
        last = seconds[size]
    return seconds


def best_lane_count(seconds: dict[int, float], switching: float) -> int:
    """The batch with the least cost per step, when each step of several lanes costs ``switching`` seconds more."""
    return min(seconds, key=lambda size: seconds[size] + (switching if size > 1 else 0.0))


def _time_one(agent: Agent, shown: Transition, size: int) -> float:
    # Copies, because an agent may notice that it is asked the same thing twice.
    observations: list[Any] = [copy(shown.observation) for _ in range(size)]
    masks = [shown.info.get("action_mask")] * size
    generators = [generator("batching", place) for place in range(size)]
    started = perf_counter()
    agent.act(observations, [None] * size, generators, masks)
    return perf_counter() - started
