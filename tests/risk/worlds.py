"""Worlds whose chance of failing is known exactly."""

from __future__ import annotations

import numpy as np

from tightrope.tasks.task import Task
from tightrope.testing import tabular_task


def ladder(rungs: int, up: float, limit: int) -> Task:
    """Each step leads up with probability ``up``, else down to rung 0 at the lowest; the last rung is unsafe."""
    table = {rung: [((up, rung + 1), (1 - up, max(rung - 1, 0)))] * 2 for rung in range(rungs)}
    return tabular_task(table, goals={rungs + 1}, unsafe={rungs}, name=f"ladder-{rungs}-{up}", max_steps=limit)


def slope(rungs: int, up: float, limit: int) -> Task:
    """A ladder on which the other action leads up as often as this one leads down: what to fear can be learned."""
    table = {
        rung: [((chance, rung + 1), (1 - chance, max(rung - 1, 0))) for chance in (up, 1 - up)] for rung in range(rungs)
    }
    return tabular_task(table, goals={rungs + 1}, unsafe={rungs}, name=f"slope-{rungs}-{up}", max_steps=limit)


def ladder_truth(rungs: int, up: float, limit: int) -> float:
    """The probability of reaching the last rung within the limit."""
    chance = np.zeros(rungs + 1)
    chance[0] = 1.0
    for _ in range(limit):
        moved = np.zeros_like(chance)
        moved[rungs] = chance[rungs]
        for rung in range(rungs):
            moved[rung + 1] += up * chance[rung]
            moved[max(rung - 1, 0)] += (1 - up) * chance[rung]
        chance = moved
    return float(chance[rungs])


def trapped_ladder(rungs: int, up: float, limit: int, trap: float) -> tuple[Task, float]:
    """A ladder whose lowest rung gives way with probability ``trap``; and the probability of failing either way."""
    lost = rungs + 2
    table = {rung: [((up, rung + 1), (1 - up, max(rung - 1, 0)))] * 2 for rung in range(1, rungs)}
    table[0] = [((up, 1), (1 - up - trap, 0), (trap, lost))] * 2
    task = tabular_task(
        table, goals={rungs + 1}, unsafe={rungs, lost}, name=f"trapped-{rungs}-{up}-{trap}", max_steps=limit
    )
    chance = np.zeros(rungs + 3)
    chance[0] = 1.0
    for _ in range(limit):
        moved = np.zeros_like(chance)
        moved[[rungs, lost]] = chance[[rungs, lost]]
        for rung in range(rungs):
            for probability, after in table[rung][0]:
                moved[after] += probability * chance[rung]
        chance = moved
    return task, float(chance[rungs] + chance[lost])


def height(transition) -> float:
    """How far up: a good danger function."""
    return float(transition.observation)


def gambler(rungs: int, up: float) -> Task:
    """Begins on rung 1; rung 0 is the goal, the last rung unsafe, and no time limit matters."""
    table = {rung: [((up, rung + 1), (1 - up, rung - 1))] * 2 for rung in range(1, rungs)}
    return tabular_task(table, goals={0}, unsafe={rungs}, start=1, name=f"gambler-{rungs}-{up}")


def gambler_truth(rungs: int, up: float) -> float:
    """The gambler's ruin."""
    ratio = (1 - up) / up
    return (ratio - 1) / (ratio**rungs - 1)
