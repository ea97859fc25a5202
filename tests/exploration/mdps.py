"""Random worlds of chance, and the best that anyone can do in them, by value iteration over the true model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.exploration.oracles import tabular_conformance
from tightrope.simulation import conformance_of
from tightrope.tasks import Task
from tightrope.testing import tabular_task

Chances = Sequence[tuple[float, int]]


@dataclass(frozen=True)
class Mdp:
    """``table[state][action]`` lists (probability, successor)."""

    table: Mapping[int, Sequence[Chances]]
    goals: frozenset[int]
    unsafe: frozenset[int]

    def task(self, **fields: object) -> Task:
        task = tabular_task(self.table, self.goals, self.unsafe, name="mdp", **fields)
        # All these worlds are saved in the same way; examining each would take most of the tests' time.
        conformance_of(task, replace(tabular_conformance(), deterministic=False))
        return task


def random_mdp(seed: int, states: int = 12, actions: int = 3) -> Mdp:
    """Each action has two or three successors; one state is the goal, two are unsafe."""
    rng = np.random.default_rng(seed)
    goal, unsafe = states - 1, (states - 2, states - 3)
    table = {}
    for state in range(states - 3):
        rows = []
        for _ in range(actions):
            successors = rng.choice(states, size=int(rng.integers(2, 4)), replace=False)
            weights = rng.dirichlet(np.ones(len(successors)))
            rows.append(tuple((float(p), int(s)) for p, s in zip(weights, successors, strict=True)))
        table[state] = tuple(rows)
    return Mdp(table, frozenset({goal}), frozenset(unsafe))


def ice(task: Task) -> Mdp:
    """The model behind a frozen lake; its states are the cells, row by row."""
    lake: Any = task.make_env().unwrapped
    cells = "".join(letter.decode() for letter in lake.desc.flatten())
    table = {
        cell: [[(p, t) for p, t, _, _ in lake.P[cell][action]] for action in range(4)]
        for cell in range(len(cells))
        if cells[cell] in "SF"
    }
    holes = frozenset(cell for cell, kind in enumerate(cells) if kind == "H")
    return Mdp(table, frozenset({len(cells) - 1}), holes)


def best_survival(
    table: Mapping[int, Sequence[Chances]], goals: Collection[int], unsafe: Collection[int], length: int
) -> tuple[dict[int, float], list[dict[int, int]]]:
    """By state the greatest probability to survive so many steps; and what to play with 1, 2, … of them to go."""
    ends = dict.fromkeys(goals, 1.0) | dict.fromkeys(unsafe, 0.0)
    values = dict.fromkeys(table, 1.0) | ends
    policy: list[dict[int, int]] = []
    for _ in range(length):
        worth = {s: [sum(p * values[t] for p, t in chances) for chances in row] for s, row in table.items()}
        policy.append({state: int(np.argmax(row)) for state, row in worth.items()})
        values = {state: max(row) for state, row in worth.items()} | ends
    return values, policy
