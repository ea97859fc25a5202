"""Toy worlds whose answers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym

from tightrope.tasks.task import Task, Transition

Chances = Sequence[tuple[float, int]]
"""Successors of one action: (probability, state)."""


class TabularWorld(gym.Env[Any, Any]):
    """A finite Markov decision process. ``table[state][action]`` lists the successors with their probabilities.

    Every step costs 1, reaching a goal earns 10, an unsafe state costs 10 more.

    Args:
        table: The successors of each action in each state that is no end.
        goals: The states that are reached when all is well.
        unsafe: The states that must not be reached.
        start: The state after reset.
    """

    def __init__(
        self,
        table: Mapping[int, Sequence[Chances]],
        goals: Collection[int],
        unsafe: Collection[int],
        start: int = 0,
    ) -> None:
        actions = max(len(row) for row in table.values())
        self.table, self.goals, self.unsafe, self.start = table, frozenset(goals), frozenset(unsafe), start
        self.state = start
        states = {start, *table, *self.goals, *self.unsafe}
        self.observation_space = gym.spaces.Discrete(max(states) + 1)
        self.action_space = gym.spaces.Discrete(actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Back to the start state."""
        super().reset(seed=seed)
        self.state = self.start
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move to a successor drawn from the table."""
        chances = self.table[self.state][action]
        if len(chances) == 1:
            self.state = chances[0][1]
        else:
            draw, total = self.np_random.random(), 0.0
            for probability, successor in chances:
                total += probability
                self.state = successor
                if draw < total:
                    break
        reward = -1.0 + 10.0 * (self.state in self.goals) - 10.0 * (self.state in self.unsafe)
        over = self.state in self.goals or self.state in self.unsafe
        return self.state, reward, over, False, {}

    def save_state(self) -> tuple[int, Any]:
        """The state and where the random generator stands; the table, however big, never changes."""
        return self.state, None if self._np_random is None else self._np_random.bit_generator.state

    def load_state(self, saved: tuple[int, Any]) -> None:
        """Back to where ``save_state`` was called."""
        self.state, generator = saved
        if generator is not None:
            self.np_random.bit_generator.state = generator


def in_states(states: frozenset[int], transition: Transition) -> bool:
    """Whether the observation is one of the states."""
    return transition.observation in states


def tabular_task(
    table: Mapping[int, Sequence[Chances]],
    goals: Collection[int],
    unsafe: Collection[int],
    start: int = 0,
    *,
    name: str = "tabular",
    **fields: Any,
) -> Task:
    """A task on a tabular world.

    Args:
        table: The successors of each action in each state that is no end.
        goals: The states that are reached when all is well.
        unsafe: The states that must not be reached.
        start: The state after reset.
        name: What the task is called.
        **fields: Further fields of the ``Task``.
    """
    return Task(
        name=name,
        make_env=partial(TabularWorld, table, goals, unsafe, start),
        goal=partial(in_states, frozenset(goals)),
        unsafe=partial(in_states, frozenset(unsafe)),
        **fields,
    )


def deterministic_table(successors: Mapping[int, Sequence[int]]) -> dict[int, list[Chances]]:
    """A table in which every action has one successor.

    Args:
        successors: For each state the successor of each action.
    """
    return {state: [((1.0, successor),) for successor in row] for state, row in successors.items()}


WALK, JUMP = 0, 1


def corridor_task(
    length: int = 10,
    holes: Collection[int] = (3, 6),
    slip: float = 0.0,
    *,
    name: str = "corridor",
    **fields: Any,
) -> Task:
    """A corridor of cells 0 … length; the last is the goal.

    WALK moves one cell, JUMP two; landing on a hole is unsafe. With probability ``slip`` a jump falls one cell short.
    Holes must not be neighbours. Standing before hole h (cell h-1) only JUMP is right; at h-2 only WALK.

    Args:
        length: The number of the last cell.
        holes: The cells that are unsafe.
        slip: How likely a jump is to end one cell early.
        name: What the task is called.
        **fields: Further fields of the ``Task``.
    """
    goal, unsafe = length, frozenset(holes)

    def capped(cell: int) -> int:
        return min(cell, goal)

    table: dict[int, list[Chances]] = {}
    for cell in range(length):
        jump: Chances = ((1.0, capped(cell + 2)),)
        if slip > 0:
            jump = ((1.0 - slip, capped(cell + 2)), (slip, capped(cell + 1)))
        table[cell] = [((1.0, capped(cell + 1)),), jump]
    return tabular_task(table, {goal}, unsafe, name=name, **fields)


def paper_example() -> Task:
    """The worked example of the paper's first figure: states s0 … s10, actions a = 0 and b = 1.

    Depth-first search enters s1 … s10 in order by the actions a,a,b,a,b,b,a,a,b,b; s4, s5 and s9 are unsafe, s2, s3 and
    s8 are left, and the boundary states are s1 and s7. At s2, a stands still, so s2 is no proof; s8 is doomed.
    """
    successors = {0: [1, 1], 1: [2, 6], 2: [2, 3], 3: [4, 5], 6: [7, 7], 7: [8, 10], 8: [5, 9]}
    return tabular_task(deterministic_table(successors), {10}, {4, 5, 9}, name="paper-example")
