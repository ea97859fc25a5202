"""Regression suites: situations that are kept because an agent failed there, so that no later one fails there again."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.errors import UsageError
from tightrope.safety.suites.replay import replay_trace
from tightrope.safety.suites.suite import SuiteReference, TestCase, TestSuite
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

KEPT = "kept"
NO_SAMPLE = "kept because an agent failed there: no sample of situations, so nothing follows for others"


def kept_suite(task: Task, situations: Sequence[ActionTrace], earlier: TestSuite | None = None) -> TestSuite:
    """A suite of single situations, each once, after those of an earlier one.

    Args:
        task: Where they are; each is played once, so that a changed environment is noticed later.
        situations: The ways to them, from reset.
        earlier: A kept suite of the same task that stays.
    """
    ways = [] if earlier is None else _ways_of(earlier, task)
    known = {way.actions.id for way in ways}
    for trace in situations:
        if trace.id not in known:
            known.add(trace.id)
            ways.append(SuiteReference(actions=trace, checksums=replay_trace(task, trace).keys))
    if not ways:
        raise UsageError("there is no situation to keep: no failure is known that could have been avoided")
    first, *others = ways
    return TestSuite(
        kind=KEPT,
        parameters={},
        reference=first.actions,
        checksums=first.checksums,
        depths=tuple(len(way.actions) for way in ways),
        cases=tuple(_case(number, way) for number, way in enumerate(ways)),
        others=tuple(others),
    )


def _case(number: int, way: SuiteReference) -> TestCase:
    depth = len(way.actions)
    return TestCase(prefix=way.actions, boundary=number, depth=depth, kept=depth, reference=number)


def _ways_of(suite: TestSuite, task: Task) -> list[SuiteReference]:
    if suite.kind != KEPT:
        raise UsageError(f"kept situations are added to a suite of kept ones, not to a {suite.kind} suite")
    if suite.task != task.label:
        raise UsageError(f"kept situations are of one task, and the suite is of {suite.task}, not of {task.label}")
    return list(suite.ways)
