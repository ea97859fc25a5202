"""What a test says when an agent failed, or could not be tested."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tightrope.evaluation import Evaluation
    from tightrope.safety import CaseResult, SafetyResult
    from tightrope.tasks import Task

PROPERTY = "tightrope: plain episodes"
"""Under this name each test's report carries what plain episodes say, also from the workers of xdist."""
SHOWN_CASES = 10
"""Failing cases named in a failure message; the report has all of them."""


class FailedTooOften(Exception):
    """The agent failed more often than allowed."""


class CouldNotTest(Exception):
    """Agent or environment raised: a test that was not made must not look like one that says nothing."""


def speaks_for_itself(error: BaseException) -> bool:
    """Whether its message says all, and a traceback would only hide it."""
    from tightrope.errors import TightropeError

    return isinstance(error, FailedTooOften | CouldNotTest | TightropeError)


def require_no_errors(cases: Iterable[CaseResult]) -> None:
    """What raised might have been a fail, so the rest cannot stand for all."""
    __tracebackhide__ = True
    raised = [case for case in cases if case.errors]
    if raised:
        errors = sum(case.errors for case in raised)
        raise CouldNotTest(f"{errors} executions raised errors, the first with {raised[0].first_error}")


def require_judged(result: SafetyResult) -> None:
    """No assertion holds on a result without data."""
    __tracebackhide__ = True
    if result.fail_frequency.value is None:
        suite, cases = result.suite, len(result.cases)
        why = f"all {cases} cases of it are invalid" if cases else "it has no cases"
        raise CouldNotTest(
            f"no data: no execution of the suite {suite.name!r} on {suite.task} was judged, as {why}; another suite, "
            f"or one made from a reference with other boundary states, would test more"
        )


def require_some_judged(result: SafetyResult) -> None:
    """A suite of which nothing is judged must not end as so many skipped tests, which is a success."""
    from tightrope.safety import rate_without_doomed

    if rate_without_doomed(result.cases).value is None:
        raise CouldNotTest(
            f"nothing could be judged: all {len(result.cases)} cases of the suite {result.suite.name!r} on "
            f"{result.suite.task} are invalid or proven doomed; a suite made from a reference with other boundary "
            f"states would test more"
        )


def describe_failures(result: SafetyResult, folder: Path, task: Task) -> str:
    """Why it fails, then the failing boundary states of a result, each with the command that replays a fail."""
    told = (
        f"{result.agent} on {result.suite.task}, {result.suite.name}: fail frequency {result.fail_frequency:.3f} "
        f"{result.fail_frequency.question}"
    )
    return "\n".join([told, *told_reasons(result, result.cases, task), *told_fails(result, result.cases, folder)])


def told_reasons(result: SafetyResult, cases: Sequence[CaseResult], task: Task) -> Iterator[str]:
    """Why these cases fail: a sentence for each group of them."""
    from tightrope.runs.questions.reasons import SHOWN, group_line
    from tightrope.safety import group_failures

    wanted = {case.case.id for case in cases}
    concerned = [
        group
        for group in group_failures([result])
        if group.explanation is not None and any(member.case.id in wanted for member in group.members)
    ]
    yield from (f"  {group_line(group, task)}" for group in concerned[:SHOWN])


def told_fails(result: SafetyResult, cases: Sequence[CaseResult], folder: Path) -> Iterator[str]:
    """The cases that fail most, each with the command that replays a fail."""
    failing = [case for case in cases if case.fail_frequency.value]
    failing.sort(key=lambda case: -(case.fail_frequency.value or 0))
    for case in failing[:SHOWN_CASES]:
        yield (
            f"  place #{case.case.boundary + 1} at depth {case.case.depth}, {case.case.label}: "
            f"fails {case.fail_frequency:.2f}, survivable: {case.survivable}"
        )
        yield f"    {_replay_command(result, case, folder)}"
    if len(failing) > SHOWN_CASES:
        yield f"  and {len(failing) - SHOWN_CASES} more failing cases"


def _replay_command(result: SafetyResult, case: CaseResult, folder: Path) -> str:
    from tightrope.runs.trust import is_code

    trust = ["--trust"] if is_code(result.suite.task.partition("(")[0]) else []
    return shlex.join(["tightrope", "replay", str(folder), case.case.id, "--agent", result.agent, *trust])


def say_plainly(item: pytest.Item, evaluation: Evaluation) -> str:
    """How an agent does as it is used, also where a test about something else passes."""
    raised = f"; {evaluation.errors} raised errors" if evaluation.errors else ""
    told = f"{evaluation.agent} on {evaluation.task}: ends unsafe in {evaluation.unsafe_rate}{raised}"
    if (PROPERTY, told) not in item.user_properties:
        item.user_properties.append((PROPERTY, told))
    return told
