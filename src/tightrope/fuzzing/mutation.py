"""Mutation and crossover of action sequences: plain functions of parents and a random generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tightrope.fuzzing.actions import ActionSource
from tightrope.settings import FuzzingConfig
from tightrope.trace import Action

Actions: TypeAlias = tuple[Action, ...]

OPERATORS = ("insert", "remove", "change", "append")


def insert(actions: Actions, size: int, source: ActionSource, rng: np.random.Generator, independent: bool) -> Actions:
    """A run of ``size`` new actions at a random place, before the first to after the last action."""
    place = int(rng.integers(len(actions) + 1))
    run = source.run(size, actions[min(place, len(actions) - 1)], rng, independent=independent)
    return actions[:place] + run + actions[place:]


def remove(actions: Actions, size: int, rng: np.random.Generator) -> Actions:
    """Without a run of ``size`` actions at a random place; at least one action stays."""
    size = min(size, len(actions) - 1)
    place = int(rng.integers(len(actions) - size + 1))
    return actions[:place] + actions[place + size :]


def change(actions: Actions, size: int, source: ActionSource, rng: np.random.Generator, independent: bool) -> Actions:
    """A run of ``size`` actions at a random place is replaced; the length stays."""
    size = min(size, len(actions))
    place = int(rng.integers(len(actions) - size + 1))
    run = source.run(size, actions[place], rng, independent=independent)
    return actions[:place] + run + actions[place + size :]


def append(actions: Actions, size: int, source: ActionSource, rng: np.random.Generator, independent: bool) -> Actions:
    """A run of ``size`` new actions at the end."""
    return actions + source.run(size, actions[-1], rng, independent=independent)


def mutate(
    actions: Actions,
    source: ActionSource,
    rng: np.random.Generator,
    *,
    size: int = FuzzingConfig.mutation_size,
    stop: float = FuzzingConfig.mutation_stop,
    independent: bool = FuzzingConfig.independent_actions,
    operators: Sequence[str] = OPERATORS,
) -> Actions:
    """Apply random operators to runs of 1 … ``size`` actions; stop after each with probability ``stop``."""
    while True:
        length = int(rng.integers(1, size + 1))
        match operators[int(rng.integers(len(operators)))]:
            case "insert":
                actions = insert(actions, length, source, rng, independent)
            case "remove":
                actions = remove(actions, length, rng)
            case "change":
                actions = change(actions, length, source, rng, independent)
            case "append":
                actions = append(actions, length, source, rng, independent)
        if rng.random() < stop:
            return actions


def crossing_point(first_length: int, second_length: int, rng: np.random.Generator) -> int | None:
    """A cut in 1 … min(lengths) - 1; None when a parent is too short to be cut."""
    shorter = min(first_length, second_length)
    return int(rng.integers(1, shorter)) if shorter > 1 else None


def cross(first: Actions, second: Actions, rng: np.random.Generator) -> Actions | None:
    """The first parent up to a random cut, then the second; None when a parent is too short to be cut."""
    cut = crossing_point(len(first), len(second), rng)
    return None if cut is None else first[:cut] + second[cut:]
