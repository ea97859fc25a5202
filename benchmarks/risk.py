"""Item 11: whether the intervals of ``estimate_failure`` hold what is true, and what they cost.

Truth is exact where a world is a table: the chance to be unsafe after so many steps follows from its transitions.
Elsewhere it is the share of plain episodes, whose own interval stands in the note: a limit that lies inside of that is
neither right nor wrong, and is counted by the share itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any

import numpy as np
from benchmarks.measuring import AGENTS, Figure

import tightrope as tr
from tightrope.agents.agent import Agent
from tightrope.statistics import Estimate, rate_estimate
from tightrope.testing import tabular_task

GALLERY = AGENTS.parent / "gallery"
BALANCE = np.array([0.1, 0.5, 3.0, 1.0])
"""A linear policy that holds the pole; noise alone brings it down."""
COVERED, TIMES, FACTOR = 0.93, 500.0, 4.0
REPEATED, QUICKLY = 60, 2
"""Estimates of a world; those of dear worlds are fewer."""
COUNTED_QUICKLY = 200
"""Plain episodes that stand for the truth where only the benchmark itself is tried out."""


@dataclass(frozen=True, kw_only=True)
class World:
    """A task, an agent and how it is watched; and what is true there."""

    name: str
    task: tr.Task
    agent: Agent
    length: int | None
    steps: int
    danger: Callable[[Any], float] | None = None
    truth: float | None = None
    """None: to be counted."""
    episodes: int = 0
    """To count with."""
    repeated: int = REPEATED

    def estimate(self, seed: int) -> tr.FailureEstimate:
        """One estimate."""
        budget = tr.Budget(steps=self.steps)
        return tr.estimate_failure(self.task, self.agent, self.danger, self.length, budget, seed)


def figures(*, quick: bool, long: bool = False) -> Iterator[Figure]:
    """Coverage world by world, the factor between the limits, and the steps saved at one in a million."""
    for world in (ladder(), slope(), frozen_lake(), cart_pole(0.3, 100, 40_000, 12), lunar_lander(), mario()):
        yield from coverage(world if long else _small(world) if quick else _short(world))
    for world, repeated in ((gambler(), 40), (ladder(11, 0.2, 40, 60_000), 150)):
        yield from factor(world, repeated if long else QUICKLY if quick else min(repeated // 2, 30))
    yield from saving(slope(11, 0.2, 200_000), 3 if long else 1)
    yield from saving(cart_pole(0.05, 200, 800_000), 5 if long else 1)


def _small(world: World) -> World:
    return replace(world, repeated=QUICKLY, episodes=min(world.episodes, COUNTED_QUICKLY))


def _short(world: World) -> World:
    """Enough to notice intervals that no longer hold; too few to tell 0.93 from 0.97."""
    return replace(world, repeated=max(3, world.repeated // 3), episodes=world.episodes // 4)


def coverage(world: World) -> Iterator[Figure]:
    """How many intervals hold the truth."""
    truth, how = known(world)
    found = [world.estimate(seed) for seed in range(world.repeated)]
    held = sum(_holds(each.probability, truth) for each in found)
    share = rate_estimate(held, len(found))
    split = [each for each in found if each.method == "splitting"]
    yield Figure(
        item=11,
        name=f"intervals that hold the truth: {world.name}",
        value=held / len(found),
        unit="",
        aim=f"≥ {COVERED}",
        met=held / len(found) >= COVERED,
        note=f"{held} of {len(found)} ({share.low:.2f} to {share.high:.2f}); {len(split)} by splitting, "
        f"{sum(bool(each.notes) for each in split)} of these widened, the others counted plainly; "
        f"{np.mean([each.cost for each in found]):,.0f} steps each; truth {how}",
        low=share.low,
        high=share.high,
    )


def factor(world: World, repeated: int) -> Iterator[Figure]:
    """Between the limits, with a danger function."""
    found = [world.estimate(seed).probability for seed in range(repeated)]
    factors = sorted(each.high / each.low if each.low and each.high else np.inf for each in found)
    # Between these of the sorted ones the true median lies in 95 of 100 samples.
    reach = 0.98 * repeated**0.5
    low, high = factors[max(0, floor(repeated / 2 - reach))], factors[min(repeated - 1, ceil(repeated / 2 + reach))]
    held = sum(_holds(each, world.truth or 0.0) for each in found)
    yield Figure(
        item=11,
        name=f"upper over lower limit, {world.steps:,} steps and a danger function: {world.name}",
        value=float(np.median(factors)),
        unit="×",
        aim=f"≤ {FACTOR:g} ×",
        met=float(np.median(factors)) <= FACTOR,
        note=f"median of {repeated}; {sum(each <= FACTOR for each in factors)} of them within, the greatest "
        f"{max(factors):.3g}, {sum(map(np.isinf, factors))} widened; {held} hold the truth",
        low=low,
        high=high if np.isfinite(high) else None,
    )


def saving(world: World, repeated: int) -> Iterator[Figure]:
    """Steps of plain episodes for the same width over the steps spent, learning included."""
    found = [world.estimate(seed) for seed in range(repeated)]
    # One that was widened has saved nothing.
    savings = [0.0 if each.notes else each.saving or 0.0 for each in found]
    yield Figure(
        item=11,
        name=f"times fewer steps than plain episodes for the same width, guide learned: {world.name}",
        value=float(np.median(savings)),
        unit="×",
        aim=f"≥ {TIMES:g} ×",
        met=float(np.median(savings)) >= TIMES,
        note="; ".join(f"{each.probability_text()}, {each.cost:,} steps" for each in found),
        low=min(savings),
        high=max(savings),
    )


def known(world: World) -> tuple[float, str]:
    """The truth, and how it was got."""
    if world.truth is not None:
        return world.truth, f"{world.truth:.3g}, exact"
    plain = tr.evaluate(world.task, world.agent, world.episodes, seed=10**6, length=world.length).unsafe_rate
    assert plain.value is not None
    return plain.value, f"{plain.value:.3g} ({plain.low:.2g} to {plain.high:.2g}), {world.episodes:,} plain episodes"


def _holds(found: Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def ladder(rungs: int = 6, up: float = 0.25, limit: int = 30, steps: int = 20_000) -> World:
    """Up with some probability, else down; the last rung is unsafe."""
    table = {rung: [((up, rung + 1), (1 - up, max(rung - 1, 0)))] * 2 for rung in range(rungs)}
    task = tabular_task(table, goals={rungs + 1}, unsafe={rungs}, name=f"ladder-{rungs}-{up}", max_steps=limit)
    truth = _top_reached(rungs, up, limit)
    return World(
        name=f"a ladder of {rungs} rungs, {truth:.2g}",
        task=task,
        agent=_still(task),
        length=None,
        steps=steps,
        danger=_height,
        truth=truth,
    )


def slope(rungs: int = 8, up: float = 0.2, steps: int = 40_000, limit: int = 40) -> World:
    """A ladder on which the other action leads up as often as this one leads down: what to fear can be learned."""
    table = {
        rung: [((chance, rung + 1), (1 - chance, max(rung - 1, 0))) for chance in (up, 1 - up)] for rung in range(rungs)
    }
    task = tabular_task(table, goals={rungs + 1}, unsafe={rungs}, name=f"slope-{rungs}-{up}", max_steps=limit)
    truth = _top_reached(rungs, up, limit)
    name = f"a slope of {rungs} rungs, {truth:.2g}, guide learned"
    return World(name=name, task=task, agent=_still(task), length=None, steps=steps, truth=truth, repeated=20)


def gambler(rungs: int = 12, up: float = 0.24, steps: int = 60_000) -> World:
    """Begins on rung 1; rung 0 is the goal, the last one unsafe."""
    table = {rung: [((up, rung + 1), (1 - up, rung - 1))] * 2 for rung in range(1, rungs)}
    task = tabular_task(table, goals={0}, unsafe={rungs}, start=1, name=f"gambler-{rungs}-{up}")
    ratio = (1 - up) / up
    truth = (ratio - 1) / (ratio**rungs - 1)
    return World(
        name=f"gambler's ruin, {truth:.2g}",
        task=task,
        agent=_still(task),
        length=None,
        steps=steps,
        danger=_height,
        truth=truth,
    )


def _top_reached(rungs: int, up: float, limit: int) -> float:
    moves = np.zeros((rungs + 1, rungs + 1))
    for rung in range(rungs):
        moves[rung, rung + 1] += up
        moves[rung, max(rung - 1, 0)] += 1 - up
    moves[rungs, rungs] = 1.0
    return float(np.linalg.matrix_power(moves, limit)[0, rungs])


def _still(task: tr.Task) -> Agent:
    return tr.load_agent(lambda observation: 0, task, name="still")


def _height(transition: Any) -> float:
    return float(transition.observation)


def frozen_lake(length: int = 8, steps: int = 8_000) -> World:
    """Slippery; watched for a few steps, in which fails are rare."""
    task = tr.make_task("FrozenLake-v1")
    agent = tr.load_agent(GALLERY / "frozenlake-late.onnx", task)
    moves = task.make_env().unwrapped.P
    chance = np.zeros(len(moves))
    chance[0] = 1.0
    for _ in range(length):
        chance = _moved(chance, moves, agent)
    holes = [state for state in moves if all(entry[0][3] for entry in moves[state].values()) and state != 15]
    truth = float(chance[holes].sum())
    return World(name=f"FrozenLake, {length} steps", task=task, agent=agent, length=length, steps=steps, truth=truth)


def _moved(chance: Any, moves: Any, agent: Agent) -> Any:
    found = np.zeros_like(chance)
    for state in np.flatnonzero(chance):
        action = agent.act([int(state)], [None], [None], [None]).actions[0]
        for probability, after, *_ in moves[int(state)][int(action)]:
            found[after] += chance[state] * probability
    return found


def cart_pole(epsilon: float, length: int, steps: int, repeated: int = REPEATED) -> World:
    """The linear policy with random actions now and then."""
    task = tr.make_task("CartPole-v1")

    def balance(observation: Any, generator: np.random.Generator) -> int:
        if generator.random() < epsilon:
            return int(generator.integers(2))
        return int(observation @ BALANCE > 0)

    agent = tr.load_agent(balance, task, name="balance")
    name = f"CartPole, {epsilon:g} noise, {length} steps"
    return World(name=name, task=task, agent=agent, length=length, steps=steps, episodes=6_000, repeated=repeated)


def lunar_lander(length: int = 120, steps: int = 60_000) -> World:
    """The early agent with noise, watched for the first steps."""
    task = tr.make_task("LunarLander-v3")
    agent = tr.load_agent(GALLERY / "lunarlander-early.onnx", task, epsilon=0.1)
    name = f"LunarLander, early agent, 0.1 noise, {length} steps"
    return World(name=name, task=task, agent=agent, length=length, steps=steps, episodes=10_000, repeated=30)


def mario(length: int = 60, steps: int = 3_000) -> World:
    """The late agent with noise, watched for the first steps: an emulator, so few of each."""
    task = tr.make_task("mario", level="1-1", actions="2-moves")
    agent = tr.load_agent(AGENTS / "1-1-dense-2-moves-late.onnx", task, epsilon=0.1)
    name = f"Mario 1-1, late agent, 0.1 noise, {length} steps"
    return World(name=name, task=task, agent=agent, length=length, steps=steps, episodes=200, repeated=3)
