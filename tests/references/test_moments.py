"""Moments where the choice matters, against random worlds in which everything is known: whoever says that an agent
fails after an action there must be right, and somebody must be able to survive from there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightrope as tr
from tightrope.references.gathering import Gathering
from tightrope.testing.worlds import deterministic_table, tabular_task

LOST, GOAL = 10_000, 20_000
Table = dict[int, list[int]]


def random_world(rng: np.random.Generator) -> Table:
    """Cells that only lead onwards, an eighth of all steps into harm."""
    length, actions = int(rng.integers(12, 30)), int(rng.integers(2, 5))

    def step(cell: int) -> int:
        if cell >= length - 3:
            return GOAL if rng.random() < 0.5 else LOST
        return LOST if rng.random() < 0.12 else min(length - 1, cell + int(rng.integers(1, 4)))

    return {cell: [step(cell) for _ in range(actions)] for cell in range(length)}


def survivable(table: Table) -> dict[int, bool]:
    known = {GOAL: True, LOST: False}
    for cell in sorted(table, reverse=True):
        known[cell] = any(known[after] for after in table[cell])
    return known


def mostly_right(rng: np.random.Generator, table: Table, known: dict[int, bool]) -> dict[int, int]:
    """An agent that takes a step that can be survived, where there is one, 17 times of 20."""
    policy = {}
    for cell, successors in table.items():
        right = [action for action, after in enumerate(successors) if known[after]] or [0]
        policy[cell] = int(rng.choice(right)) if rng.random() < 0.85 else int(rng.integers(len(successors)))
    return policy


def ends_well(table: Table, policy: dict[int, int], cell: int) -> bool:
    while cell in table:
        cell = table[cell][policy[cell]]
    return cell == GOAL


def _check(world: int, *, replayed: bool) -> Counter[str]:
    """The kinds of boundary states that are found in one world, each of them checked."""
    rng = np.random.default_rng(world)
    table = random_world(rng)
    known = survivable(table)
    policy = mostly_right(rng, table, known)
    task = tabular_task(deterministic_table(table), {GOAL}, {LOST}, name=f"world {world}")
    if replayed:
        make: Any = task.make_env
        task = replace(task, make_env=lambda: tr.renewed_env(make))
    agent = tr.load_agent(lambda cell: policy[int(cell)], task, name="mostly right")
    found = Counter[str]()
    for reference in tr.find_references(task, 8, [agent], tr.Budget(steps=2_500), seed=world):
        for state in reference.boundary_states:
            cell = 0
            for action in reference.actions.actions[: state.depth]:
                cell = table[cell][int(str(action))]
            assert known[cell], "nobody can be told to have chosen wrongly where all is lost"
            for action in state.actions:
                assert not ends_well(table, policy, table[cell][int(str(action))])
            kind = "near miss" if reference.near_miss else "taken over" if reference.taken_over else "failing"
            found[kind] += 1
    return found


@pytest.mark.parametrize("replayed", [False, True])
def test_after_each_of_them_the_agent_fails_and_somebody_survives_from_there(
    replayed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In worlds so small probing finds all there is, and nothing else would be asked.
    monkeypatch.setattr(
        Gathering, "_probed", lambda self, found, budget: [replace(each, boundary_states=()) for each in found]
    )
    found = sum((_check(world, replayed=replayed) for world in range(10)), Counter[str]())
    assert min(found["near miss"], found["taken over"], found["failing"]) >= 2, found
