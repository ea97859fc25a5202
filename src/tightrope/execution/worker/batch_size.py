"""How many lanes pay: measured on the agent itself."""

from __future__ import annotations

from copy import copy
from time import process_time
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.guards.calls import calls_out
from tightrope.guards.faults import require_fault
from tightrope.seeding import generator
from tightrope.tasks.task import Transition

BATCHES = (1, 4, 16, 64, 256)
FEWEST_TIMES, MOST_TIMES = 2, 12
QUICK = 2e-3
"""Seconds: an agent that has taken less may be asked again."""
WORTHWHILE = 1.01
"""A larger batch must save more than this share of a whole step: more lanes also mean more memory and colder caches.
On CartPole with an agent that costs nothing 64 lanes save 2.5 % of what 16 take."""


def seconds_per_observation(agent: Agent, shown: Transition, step: float) -> dict[int, float]:
    """How long the agent takes per observation in batches of growing size, up to where growing no longer pays."""
    seconds: dict[int, float] = {}
    last = float("inf")
    for size in BATCHES:
        try:
            seconds[size] = _least(agent, shown, size) / size
        except BaseException as error:
            require_fault(error)
            # Whoever asks it next meets the same error, with a rollout to blame.
            return seconds or {1: 0.0}
        if (seconds[size] + step) * WORTHWHILE > last + step:
            break
        last = seconds[size]
    return seconds


def best_lane_count(seconds: dict[int, float], step: float, switching: float) -> int:
    """The smallest batch that is about as good as the best, when several lanes cost ``switching`` more per step."""
    total = {size: asking + step + (switching if size > 1 else 0.0) for size, asking in seconds.items()}
    best = min(total.values())
    return min(size for size, cost in total.items() if cost <= WORTHWHILE * best)


def _least(agent: Agent, shown: Transition, size: int) -> float:
    """The least of several times: on a busy machine one or two of a quick agent's say little."""
    times: list[float] = []
    while len(times) < FEWEST_TIMES or (len(times) < MOST_TIMES and sum(times) < QUICK):
        times.append(_time_one(agent, shown, size))
    return min(times)


@calls_out("agent {agent.name!r}", act="its answer")
def _time_one(agent: Agent, shown: Transition, size: int) -> float:
    # Copies, because an agent may notice that it is asked the same thing twice.
    observations: list[Any] = [copy(shown.observation) for _ in range(size)]
    masks = [shown.info.get("action_mask")] * size
    # As the lanes do it: whoever draws nothing is given nothing to draw from, and making it would take longest.
    generators = [None if agent.deterministic else generator("batching", place) for place in range(size)]
    # Processor time: what else runs on the machine must not decide.
    started = process_time()
    agent.act(observations, [None] * size, generators, masks)
    return process_time() - started
