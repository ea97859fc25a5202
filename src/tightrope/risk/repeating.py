"""Repetitions as they are ordered from the engine, here or in another process."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.agents.agent import Agent
from tightrope.risk.guides import Guide
from tightrope.risk.roulette import Roulette, learned_roulette
from tightrope.risk.splitting import Repetition, split
from tightrope.risk.swarm import Spent, Swarm
from tightrope.tasks.task import Task

WORTHWHILE = 1 / 3
"""Share of the steps that roulette must spare: its weights raise the variance of repetitions by about half."""


@dataclass(frozen=True)
class Order:
    """One repetition to be run."""

    agent: Agent
    guide: Guide
    length: int | None
    size: int
    seed: int
    most_steps: float
    roulette: Roulette | None = None
    learn: bool = False
    """Whether to find out which episodes may be let go in those to come."""


@dataclass(frozen=True)
class Done:
    """An order that was carried out, and what it tells about those to come."""

    steps: int
    found: Repetition | None
    """None: stopped, because its steps were spent. Half a repetition would be no fair sample."""
    each: float
    """Steps for each episode of the next one: those that come close to harm may be far longer than plain ones."""
    roulette: Roulette | None
    """For the next one."""


def repetition(task: Task, order: Order) -> Done:
    """One repetition."""
    swarm = Swarm(
        task,
        order.agent,
        order.guide,
        length=order.length,
        roulette=order.roulette,
        courses=order.learn,
        most_steps=order.most_steps,
    )
    try:
        found = split(swarm, order.size, order.seed)
    except Spent:
        return Done(swarm.steps, None, swarm.steps / order.size, order.roulette)
    finally:
        swarm.close()
    courses = swarm.courses or []
    roulette = learned_roulette(found.levels, courses) if courses else None
    spared = 0.0 if roulette is None else roulette.spared(courses)
    if spared < WORTHWHILE * found.steps:
        return Done(found.steps, found, found.steps / found.size, order.roulette)
    return Done(found.steps, found, (found.steps - spared) / found.size, roulette)
