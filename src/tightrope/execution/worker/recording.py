"""What is written down about situations on the way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from operator import add
from typing import Any, NamedTuple

from tightrope.execution.rollout import Rollout
from tightrope.seeding import stable_hash
from tightrope.simulation.simulator import Simulator
from tightrope.tasks.spaces import plain_action
from tightrope.tasks.task import Task
from tightrope.trace import Action


class Wanted(NamedTuple):
    """Which details of every situation a rollout asks for."""

    keys: bool
    positions: bool

    @classmethod
    def by(cls, rollout: Rollout, task: Task) -> Wanted:
        """What this rollout asks for and this task can tell."""
        return cls(rollout.record_keys, rollout.record_positions and task.position is not None)


NOTHING = Wanted(keys=False, positions=False)


def key_hash(simulator: Simulator) -> int:
    """The state key here, as 64 bits that are the same in every process."""
    return stable_hash(simulator.key())


def position_of(simulator: Simulator) -> tuple[float, float]:
    """Where this situation lies on the task's map."""
    position: tuple[float, float] = simulator.look("position")
    return position


def plain_actions(actions: Sequence[Any]) -> tuple[Action, ...]:
    """What an agent answered as plain numbers and tuples; the usual cases are told from others without a loop."""
    kinds = set(map(type, actions))
    if kinds <= {int} or (kinds == {tuple} and set(map(type, chain.from_iterable(actions))) <= {int, float}):
        return tuple(actions)
    return tuple(map(plain_action, actions))


def running_sum(rewards: Any) -> float:
    """The sum from left to right; ``sum`` compensates rounding in newer Pythons, and results must not tell those."""
    return reduce(add, rewards, 0.0)
