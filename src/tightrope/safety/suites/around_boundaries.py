"""The suites of the paper: cases at the boundary states of a reference, and around them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tightrope.errors import UsageError
from tightrope.reference import Reference
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.tasks.spaces import plain_action
from tightrope.trace import Action

MOST_CASES = 1_000_000
"""More cases than this are a mistake in k rather than a wish: at a millisecond a step they take days."""


def simple_suite(reference: Reference | Sequence[Reference]) -> TestSuite:
    """One case per boundary state: the reference up to it.

    Args:
        reference: The way through the task and its boundary states, or several of them.
    """
    if not isinstance(reference, Reference):
        return _on_each(reference, simple_suite)
    cases = [TestCase.on(reference, number, depth) for number, depth in enumerate(reference.depths)]
    return TestSuite.on(reference, "simple", {}, cases)


def interval_suite(reference: Reference | Sequence[Reference], size: int) -> TestSuite:
    """For each boundary state the reference up to it and up to some steps before and after, where there are any.

    Args:
        reference: The way through the task and its boundary states, or several of them.
        size: How many steps before and after each boundary state.
    """
    if not isinstance(reference, Reference):
        return _on_each(reference, lambda one: interval_suite(one, size))
    if size < 0:
        raise UsageError(f"an interval suite's size must be 0 or more, not {size}")
    cases = [
        TestCase.on(reference, number, depth + offset)
        for number, depth in enumerate(reference.depths)
        for offset in range(-size, size + 1)
        if 0 <= depth + offset <= len(reference)
    ]
    return TestSuite.on(reference, "interval", {"size": size}, cases)


def action_coverage_suite(reference: Reference | Sequence[Reference], k: int, actions: Sequence[Action]) -> TestSuite:
    """For each boundary state the reference up to k steps before it, then every combination of k actions.

    A boundary state at a depth below k gives no cases.

    Args:
        reference: The way through the task and its boundary states, or several of them.
        k: How many steps before the boundary state the reference is left.
        actions: Those of the tested agent.
    """
    if not isinstance(reference, Reference):
        return _on_each(reference, lambda one: action_coverage_suite(one, k, actions))
    choices = tuple(plain_action(action) for action in actions)
    _check_coverage(reference, k, choices)
    cases = [
        TestCase.on(reference, number, depth - k, combination)
        for number, depth in enumerate(reference.depths)
        if depth >= k
        for combination in itertools.product(choices, repeat=k)
    ]
    return TestSuite.on(reference, "coverage", {"k": k, "actions": choices}, cases)


def _on_each(references: Sequence[Reference], make: Callable[[Reference], TestSuite]) -> TestSuite:
    """One suite over several references."""
    if not references:
        raise UsageError("a suite needs a reference; find_references found none, so give it a larger budget or agents")
    if len({reference.actions.task for reference in references}) > 1:
        raise UsageError("a suite is on one task, and these references are of several")
    return TestSuite.joined([make(reference) for reference in references])


def _check_coverage(reference: Reference, k: int, actions: tuple[Action, ...]) -> None:
    if k < 1:
        raise UsageError(f"action coverage needs k = 1 or more, not {k}; simple_suite is what k = 0 would be")
    if not actions or len(set(actions)) != len(actions):
        raise UsageError(f"action coverage needs the agent's actions, each once, not {list(actions)!r}")
    number = len(actions) ** k * sum(depth >= k for depth in reference.depths)
    if number > MOST_CASES:
        raise UsageError(
            f"{len(actions)} actions, k = {k} and {len(reference.depths)} boundary states make {number:,} cases, more "
            f"than {MOST_CASES:,}; take a smaller k or fewer actions"
        )
