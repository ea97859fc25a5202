"""What was seen along a trace: its observations, named, step by step. Runs where the environments are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.guards.calls import calls_out
from tightrope.seeding import stable_hash
from tightrope.simulation import Simulator, open_simulator, play
from tightrope.tasks.observations import own_copy, shown_mask
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

MOST_NUMBERS = 64
"""An observation of more numbers is a picture."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """A trace to be looked at from a moment on."""

    trace: ActionTrace
    first: int
    observed_from: int
    """From where on observations are kept as the agent is shown them; earlier than ``first`` for one that remembers."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """A situation of a trace as it was seen."""

    depth: int
    action: Action | None
    """What was played there; None at the end."""
    reward: float | None
    """What that brought; None at the end."""
    values: dict[str, float] = field(default_factory=dict)
    """The observation as named numbers, where it is few of them."""
    observation: Any = field(default=None, repr=False)
    mask: Any = field(default=None, repr=False)


def watch(task: Task, work: tuple[Watch, ...]) -> list[list[Sight]]:
    """What was seen along each trace."""
    with closing(open_simulator(task)) as simulator:
        return [_seen(simulator, each) for each in work]


def keys_along(task: Task, traces: tuple[ActionTrace, ...]) -> list[list[int]]:
    """The hashed state keys of each trace, from reset on."""
    with closing(open_simulator(task)) as simulator:
        return [[stable_hash(simulator.key()) for _ in play(simulator, trace)] for trace in traces]


def _seen(simulator: Simulator, work: Watch) -> list[Sight]:
    sights: list[dict[str, Any]] = []
    for moment in play(simulator, work.trace):
        if sights:
            sights[-1]["reward"] = moment.reward
        if moment.depth >= min(work.first, work.observed_from):
            sights.append(_sight(simulator, moment.upcoming, moment.depth >= work.first))
    return [Sight(**sight) for sight in sights]


def _sight(simulator: Simulator, upcoming: Action | None, named: bool) -> dict[str, Any]:
    return {
        "depth": simulator.depth,
        "action": upcoming,
        "reward": None,
        "values": named_values(simulator) if named else {},
        # Drawn now where it is drawn only when looked at: it travels, and the environment goes on.
        "observation": own_copy(simulator.observation),
        "mask": own_copy(shown_mask(simulator.info)),
    }


@calls_out("task {task.label}", position="position()")
def named_values(simulator: Simulator) -> dict[str, float]:
    """The observation as named numbers; of a picture, where on the map it was taken."""
    task = simulator.task
    found = dict(_numbers(task.observation_space, simulator.observation, "observation"))
    if not found and task.position is not None:
        x, y = simulator.look("position")
        return dict(zip(task.position_names, (float(x), float(y)), strict=True))
    names = tuple(task.observation_names or ())
    return dict(zip(names, found.values(), strict=True)) if len(names) == len(found) else found


def _numbers(space: gym.Space[Any], observation: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(space, gym.spaces.Dict):
        for key, part in space.spaces.items():
            yield from _numbers(part, observation[key], str(key))
    elif isinstance(space, gym.spaces.Tuple):
        for index, part in enumerate(space.spaces):
            yield from _numbers(part, observation[index], f"{name}[{index}]")
    elif isinstance(space, gym.spaces.Discrete):
        yield name, float(observation)
    elif isinstance(space, gym.spaces.Box | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary):
        flat = np.asarray(observation).ravel()
        if flat.size <= MOST_NUMBERS:
            yield from ((f"{name}[{index}]" if flat.size > 1 else name, float(each)) for index, each in enumerate(flat))
