"""Repetitions as they are ordered from the engine, here or in another process."""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.agents.agent import Agent
from tightrope.risk.guides import Guide
from tightrope.risk.roulette import Roulette, learned_roulette
from tightrope.risk.splitting import Repetition, split
from tightrope.risk.swarm import Swarm
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


@dataclass(frozen=True)
class Trial:
    """What a small repetition tells about those to come."""

    steps: int
    each: float
    """Steps for each episode of a repetition: those that come close to harm may be far longer than plain ones."""
    roulette: Roulette | None


def repetition(task: Task, order: Order) -> Repetition:
    """One repetition."""
    swarm = Swarm(task, order.agent, order.guide, length=order.length, roulette=order.roulette)
    try:
        return split(swarm, order.size, order.seed, order.most_steps)
    finally:
        swarm.close()


def trial(task: Task, order: Order) -> Trial:
    """A repetition without roulette, from which is learned which episodes may be let go, and what that spares."""
    swarm = Swarm(task, order.agent, order.guide, length=order.length, courses=True)
    try:
        done = split(swarm, order.size, order.seed, order.most_steps)
        courses = swarm.courses or []
    finally:
        swarm.close()
    roulette = learned_roulette(done.levels, courses)
    spared = 0.0 if roulette is None else roulette.spared(courses)
    if spared < WORTHWHILE * done.steps:
        return Trial(done.steps, done.steps / done.size, None)
    return Trial(done.steps, (done.steps - spared) / done.size, roulette)
