"""What a suite says is doomed is proven again where the suite is run.

A suite comes from a file that may be anybody's, and a case that is doomed counts at no gate. So its marks only say
where a proof is worth looking for, and how long it will be: each that matters is searched from there, with more work
than a single case would get, and what is not proven again is as good as not marked.
"""

from __future__ import annotations

from tightrope.execution import Engine
from tightrope.exploration.escapes import EscapeTask, find_escapes
from tightrope.reference import Survivability
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.trace import Action

STEPS_PER_PROOF = 20_000
"""Environment steps spent on one mark: what a whole probing gets. Nearly all proofs take a few hundred, and one serves
every case behind it."""

StepOff = tuple[int, int, Action]
"""A step off a reference: the number of the reference, the depth it is taken at, and the action."""


def step_off(suite: TestSuite, case: TestCase) -> StepOff | None:
    """The step by which a case leaves its reference; None: it does not."""
    left, actions, way = case.kept, case.prefix.actions, suite.way_of(case).actions
    if left > len(way) or case.prefix.prefix(left) != way.prefix(left):
        return None
    while left < len(actions) and actions[left : left + 1] == way.actions[left : left + 1]:
        left += 1
    return None if left == len(actions) else (case.reference, left, actions[left])


def proven_again(engine: Engine, suite: TestSuite, actions: tuple[Action, ...], *, exact: bool) -> dict[StepOff, int]:
    """The marked steps that lead to doom whatever of these actions is played, and within how many steps.

    ``exact``: whether what names situations is to be trusted.
    """
    marked: dict[StepOff, int] = {
        (number, depth, action): steps
        for number, way in enumerate(suite.ways)
        for depth, action, steps in way.doomed
        if 0 <= depth < len(way.actions)
    }
    met = dict.fromkeys(step_off(suite, case) for case in suite.cases)
    # One that does harm at once leaves nobody to be asked: the prefix ends there.
    wanted = [step for step in met if step is not None and marked.get(step, 1) > 1]
    work = [_task(suite, step, marked[step], actions, exact) for step in wanted]
    proven: dict[StepOff, int] = {}
    for step, found in zip(wanted, engine.map(find_escapes, work), strict=True):
        (answer,) = found.answers
        if answer.survivable is Survivability.NO and answer.steps is not None and not found.refutation:
            proven[step] = answer.steps + 1
    return proven


def _task(suite: TestSuite, step: StepOff, marked: int, actions: tuple[Action, ...], exact: bool) -> EscapeTask:
    number, depth, action = step
    way = suite.ways[number].actions
    return EscapeTask(
        prefixes=(way.prefix(depth).then([action]),),
        reference=way.actions,
        actions=actions,
        deterministic=True,
        provable=True,
        # Within the steps that the mark names, the one off the reference included.
        length=marked - 1,
        steps_per_case=STEPS_PER_PROOF,
        exact=exact,
    )
