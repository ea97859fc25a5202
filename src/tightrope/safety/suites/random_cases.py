"""The control that begins after random actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tightrope.safety.suites.suite import SuiteReference, TestCase, TestSuite
from tightrope.seeding import generator
from tightrope.settings import Natural, require
from tightrope.tasks.spaces import plain_action
from tightrope.tasks.task import Task
from tightrope.trace import Action, ActionTrace

RANDOM_LENGTHS = range(1, 41)
"""Prefix lengths of random cases when there is no suite to take them from."""


def random_suite(
    task: Task, n: int, seed: int = 0, *, like: TestSuite | None = None, actions: Sequence[Action] | None = None
) -> TestSuite:
    """The control: cases of random actions.

    Each case stands for itself, as no boundary state joins them.

    Args:
        task: The task to be solved.
        n: How many cases.
        seed: Determines everything random.
        like: The suite whose prefix lengths the cases get; None: lengths are drawn from 1 … 40.
        actions: What to draw from; default: the task's search actions.
    """
    require("n, the cases of a random suite,", n, Natural)
    choices = task.search_actions if actions is None else tuple(plain_action(action) for action in actions)
    lengths = [len(case.prefix) for case in like.cases] if like is not None and like.cases else None
    rng = generator("random suite", seed, task.label)
    start = ActionTrace(task.label, task.seed if like is None else like.reference.seed)
    # From the resets of the other suite's cases, or a comparison would be one of resets as well.
    resets = [start.seed] if like is None or not like.cases else [case.prefix.seed for case in like.cases]
    starts = [start, *(replace(start, seed=reset) for reset in dict.fromkeys(resets) if reset != start.seed)]
    numbers = {each.seed: place for place, each in enumerate(starts)}
    cases = []
    for number in range(n):
        length = int(rng.choice(RANDOM_LENGTHS)) if lengths is None else lengths[number % len(lengths)]
        reference = numbers[resets[number % len(resets)]]
        prefix = starts[reference].then(choices[index] for index in rng.integers(len(choices), size=length))
        cases.append(TestCase(prefix=prefix, boundary=number, depth=None, kept=0, reference=reference))
    return TestSuite(
        kind="random",
        parameters={"n": n, "seed": seed},
        reference=start,
        depths=(),
        cases=tuple(cases),
        others=tuple(SuiteReference(actions=each) for each in starts[1:]),
    )
