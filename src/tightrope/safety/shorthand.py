"""Suites by their short names: ``simple``, ``interval:1``, ``coverage:2``, ``random:40``."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym

from tightrope.errors import UnknownName, UsageError
from tightrope.reference import Reference
from tightrope.safety.suites import TestSuite, action_coverage_suite, interval_suite, random_suite, simple_suite
from tightrope.tasks.task import Task
from tightrope.trace import Action

KINDS = ("simple", "interval", "coverage", "random")


def make_suite(
    spec: str,
    reference: Reference,
    actions: Sequence[Action] | None = None,
    task: Task | None = None,
    seed: int = 0,
) -> TestSuite:
    """The suite that a short name stands for.

    Args:
        spec: ``simple``, ``interval:1``, ``coverage:2``, ``random:40``.
        reference: The way through the task and its boundary states.
        actions: For coverage and random; default: those of the task.
        task: What is to be solved; random needs it, and coverage unless it is given actions.
        seed: All randomness of a random suite follows from it.
    """
    kind, number = parse_spec(spec)
    if kind == "simple":
        return simple_suite(reference)
    if kind == "interval":
        return interval_suite(reference, number)
    if task is None and (kind == "random" or actions is None):
        raise UsageError(f"the suite {spec!r} needs the task{'' if kind == 'random' else ' or the actions'}")
    if kind == "random":
        assert task is not None
        return random_suite(task, number, seed, like=simple_suite(reference), actions=actions)
    if actions is None:
        assert task is not None
        actions = possible_actions(task) or task.search_actions
    return action_coverage_suite(reference, number, actions)


def parse_spec(spec: str) -> tuple[str, int]:
    """Kind and number of a suite's short name."""
    kind, colon, number = spec.strip().partition(":")
    if kind not in KINDS:
        raise UnknownName("suite", kind, KINDS, "Write simple, interval:1, coverage:2 or random:40.")
    if kind == "simple":
        if colon:
            raise UsageError(f"the simple suite takes no number, so {spec!r} must be 'simple'")
        return kind, 0
    try:
        value = int(number)
    except ValueError:
        raise UsageError(f"the suite {spec!r} needs a whole number after the colon, as in '{kind}:2'") from None
    least = 1 if kind == "coverage" else 0
    if value < least:
        raise UsageError(f"the number of the suite {spec!r} must be {least} or more, as in '{kind}:2'")
    return kind, value


def possible_actions(task: Task) -> tuple[Action, ...] | None:
    """Every action the environment takes, or None where they cannot be listed."""
    space = task.action_space
    if isinstance(space, gym.spaces.Discrete):
        return tuple(range(int(space.start), int(space.start + space.n)))
    return None
