"""Exact answers for tabular worlds, computed by definition rather than by search."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from hypothesis import strategies as st

from tightrope.simulation import Conformance, check_task, conformance_of
from tightrope.tasks import Task
from tightrope.testing import corridor_task, deterministic_table, tabular_task

Table = Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class World:
    """A deterministic tabular world: ``table[state][action]`` is the successor."""

    table: Table
    goals: frozenset[int]
    unsafe: frozenset[int]

    def task(self, **fields) -> Task:
        task = tabular_task(deterministic_table(self.table), self.goals, self.unsafe, **fields)
        # All these worlds are saved in the same way; examining each would take most of the tests' time.
        conformance_of(task, tabular_conformance())
        return task


@cache
def tabular_conformance() -> Conformance:
    return check_task(corridor_task())


@st.composite
def worlds(draw, max_states: int = 12, max_actions: int = 3) -> World:
    """Random worlds whose start is neither goal nor unsafe."""
    size = draw(st.integers(2, max_states))
    actions = draw(st.integers(1, max_actions))
    kinds = draw(st.lists(st.sampled_from("....ug"), min_size=size, max_size=size))
    goals = frozenset(state for state, kind in enumerate(kinds) if kind == "g" and state)
    unsafe = frozenset(state for state, kind in enumerate(kinds) if kind == "u" and state)
    row = st.lists(st.integers(0, size - 1), min_size=actions, max_size=actions)
    table = {state: draw(row) for state in range(size) if state not in goals | unsafe}
    return World(table, goals, unsafe)


def doomed_states(world: World) -> frozenset[int]:
    """States from which every play meets an unsafe state: the least fixpoint."""
    doomed = set(world.unsafe)
    while True:
        more = {state for state, row in world.table.items() if state not in doomed and doomed.issuperset(row)}
        if not more:
            return frozenset(doomed)
        doomed |= more


def doomed_within(world: World, steps: int) -> frozenset[int]:
    """States from which every play meets an unsafe state within so many steps."""
    doomed = set(world.unsafe)
    for _ in range(steps):
        doomed |= {state for state, row in world.table.items() if doomed.issuperset(row)}
    return frozenset(doomed)


@dataclass
class Recursive:
    """Algorithm 1 read directly: recursion, a list of visited states, a set of dead ends (the paper says explored)."""

    world: World
    visited: list[int] = field(default_factory=lambda: [0])
    played: list[int] = field(default_factory=list)
    dead_ends: set[int] = field(default_factory=set)
    sampled: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    success: bool = False

    def run(self) -> Recursive:
        self.search(0)
        return self

    def search(self, state: int) -> None:
        if state in self.world.unsafe:
            self.dead_ends.add(state)
            return
        if state in self.world.goals or self.success:
            self.success = True
            return
        for action, successor in enumerate(self.world.table[state]):
            self.sampled.setdefault(state, []).append((action, successor))
            if successor not in self.visited:
                self.played.append(action)
                self.visited.append(successor)
                self.search(successor)
            if self.success:
                return
        self.dead_ends.add(state)

    @property
    def reference(self) -> tuple[list[int], list[int]]:
        """States and actions of the reference trace."""
        states, actions = [0], []
        for action, state in zip(self.played, self.visited[1:], strict=True):
            if state not in self.dead_ends:
                states.append(state)
                actions.append(action)
        return states, actions

    @property
    def boundary(self) -> dict[int, tuple[int, ...]]:
        """Depth of each boundary state, and the actions that led to dead ends."""
        states, _ = self.reference
        found = {
            depth: tuple(action for action, successor in self.sampled.get(state, []) if successor in self.dead_ends)
            for depth, state in enumerate(states)
        }
        return {depth: actions for depth, actions in found.items() if actions}


def true_boundary(world: World, keys: Collection[int]) -> set[int]:
    """Depths of the states on a path that have a doomed successor."""
    doomed = doomed_states(world)
    return {depth for depth, state in enumerate(keys) if any(s in doomed for s in world.table.get(state, ()))}
