"""What a test says when an agent failed, or could not be tested."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tightrope.evaluation import Evaluation
    from tightrope.safety import CaseResult, FailureGroup, SafetyResult
    from tightrope.statistics import Estimate
    from tightrope.tasks import Task

PROPERTY = "tightrope: plain episodes"
"""Under this name each test's report carries what plain episodes say, also from the workers of xdist."""
LIMITS = (0.1, 0.05, 0.01)
"""Upper limits that people ask for."""
MOST_EXECUTIONS = 1_000_000
"""A rate just below a limit would take any number."""
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
        from tightrope.statistics.words import count

        errors = sum(case.errors for case in raised)
        raise CouldNotTest(f"{count(errors, 'execution')} raised errors, the first with {raised[0].first_error}")


def require_judged(result: SafetyResult) -> None:
    """No assertion holds on a result without data."""
    __tracebackhide__ = True
    if result.fail_frequency.value is None:
        suite, cases = result.suite, len(result.cases)
        why = "its only case is invalid" if cases == 1 else f"all {cases} cases of it are invalid"
        why = why if cases else "it has no cases"
        raise CouldNotTest(
            f"no data: not one execution of the suite {suite.name!r} on {suite.task} was judged, as {why}; try "
            f"another suite, or one made from a reference with other boundary states"
        )


def require_some_judged(result: SafetyResult) -> None:
    """A suite of which nothing is judged must not end as so many skipped tests, which is a success."""
    from tightrope.safety import rate_without_doomed

    if rate_without_doomed(result.cases).value is None:
        raise CouldNotTest(
            f"nothing could be judged: all {len(result.cases)} cases of the suite {result.suite.name!r} on "
            f"{result.suite.task} are invalid or proven doomed; try a suite made from a reference with other "
            f"boundary states"
        )


def describe_failures(result: SafetyResult, folder: Path, task: Task) -> str:
    """How often it fails, and each failing case once; where none failed, how much that says."""
    rate, blamed = result.fail_frequency, result.avoidable_fail_frequency
    told = f"{result.agent} on {result.suite.task}, {result.suite.name}: fails in {_share(rate)} {rate.question}"
    if rate.value and blamed.value is not None:
        told += f"; avoidable: {_share(blamed)}"
    return "\n".join([told, *told_too_few(rate), *told_fails(result, result.cases, folder, task)])


def told_too_few(rate: Estimate) -> Iterator[str]:
    """Where the upper limit is high only because executions are few: how many it takes to bring it down."""
    from tightrope.statistics.words import percent, plainly

    if rate.value is None or not rate.high or rate.low == rate.high:
        return
    if rate.value == 0:
        limits, needed = ([f"{limit:.0%}" for limit in LIMITS], [f"{executions_without_fail(each)}" for each in LIMITS])
        yield (
            f"  No fail in {rate.n} executions leaves the upper limit at {plainly(percent(rate.high))}. To bring it "
            f"below {_either(limits)} takes about {_either(needed)} executions without a fail; raise "
            f"repetitions= or take a larger suite"
        )
        return
    within = [limit for limit in LIMITS if rate.value < limit <= rate.high]
    if within:
        needed = [f"{executions_at(rate.value, limit):,}" for limit in within]
        yield (
            f"  With {rate.n} executions the upper limit is {plainly(percent(rate.high))}. To bring it below "
            f"{_either([f'{limit:.0%}' for limit in within])} takes about {_either(needed)} executions if it goes on "
            f"failing as often as now; raise repetitions= or take a larger suite"
        )


def executions_at(rate: float, limit: float) -> int:
    """How many executions it takes, failing at this rate, until the 95 % interval ends below a limit."""
    from tightrope.statistics import rate_estimate

    def ends_below(executions: int) -> bool:
        high = rate_estimate(math.ceil(rate * executions), executions).high
        return high is not None and high < limit

    enough = 1
    while not ends_below(enough) and enough < MOST_EXECUTIONS:
        enough = math.ceil(enough * 1.05)
    return enough


def _share(rate: Estimate) -> str:
    """``40% (24–57%, n = 30)``."""
    from tightrope.statistics.words import estimate_text, plainly

    return plainly(estimate_text(rate))


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def executions_without_fail(limit: float) -> int:
    """How many executions without a fail it takes until the 95 % interval ends below a limit."""
    from tightrope.statistics.estimate import CONFIDENCE

    return math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log1p(-limit))


def told_fails(result: SafetyResult, cases: Sequence[CaseResult], folder: Path, task: Task) -> Iterator[str]:
    """The cases that fail most, each once: what the agent did, what would have saved it, and how to watch it."""
    from tightrope.safety import group_failures
    from tightrope.statistics.words import count

    failing = list({case.case.id: case for case in reversed(cases) if case.fail_frequency.value}.values())
    failing.sort(key=lambda case: (-(case.fail_frequency.value or 0), case.case.boundary))
    groups = {member.case.id: group for group in group_failures([result]) for member in group.members}
    for case in failing[:SHOWN_CASES]:
        yield (
            f"  case {case.case.id[:8]}, place #{case.case.boundary + 1} at depth {case.case.depth}, "
            f"{case.case.label}: fails in {_share(case.fail_frequency)}, {_why(result, case, groups, task)}"
        )
        yield f"    {_replay_command(result, case, folder)}"
    if len(failing) > SHOWN_CASES:
        yield f"  and {count(len(failing) - SHOWN_CASES, 'more failing case')}"


def _why(result: SafetyResult, case: CaseResult, groups: dict[str, FailureGroup], task: Task) -> str:
    """Whose fault it was, what the agent did there and what would have saved it, as far as that is known."""
    from tightrope.explanation.words import BLAME
    from tightrope.report.wording import actions_text
    from tightrope.safety.judging.avoidable import tried_by_chance

    group, name = groups.get(case.case.id), case.case.id
    known = result.explanations.get(name)
    if group is not None and known is not None:
        # Cases of one group lost it at steps of their own, so each is told by what it did itself.
        alone = replace(
            group, representative=case, members=(case,), explanation=known, close_up=result.close_ups.get(name)
        )
        by_chance = case.best_survival.value is not None and case.fails > 1
        which = f"The first of its {case.fails} fails: " if by_chance else ""
        return f"{BLAME[alone.avoidable]}: {which}{alone.sentence(task)}"
    if tried_by_chance(case):
        return f"others survive there in {_share(case.best_survival)}"
    if case.witness is not None:
        return f"avoidable: {actions_text(case.witness, tuple(task.action_names or ()))} would have survived"
    return f"survivable: {case.survivable}"


def _replay_command(result: SafetyResult, case: CaseResult, folder: Path) -> str:
    from tightrope.runs.trust import is_code

    trust = ["--trust"] if is_code(result.suite.task.partition("(")[0]) else []
    return shlex.join(["tightrope", "replay", _from_here(folder), case.case.id[:8], "--agent", result.agent, *trust])


def _from_here(folder: Path) -> str:
    """A folder as one would type it; pytest's cache usually lies below the place where pytest was started."""
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)


def say_plainly(item: pytest.Item, evaluation: Evaluation) -> str:
    """How an agent does as it is used, also where a test about something else passes."""
    from tightrope.display import plainly
    from tightrope.report.verdict import away_text, stays_away

    away = f"{plainly(away_text(evaluation))}; " if stays_away(evaluation) else ""
    raised = f"; {evaluation.errors} raised errors" if evaluation.errors else ""
    rate = evaluation.unsafe_rate
    told = f"{evaluation.agent} on {evaluation.task}: {away}ends unsafe in {_share(rate)} {rate.question}{raised}"
    if (PROPERTY, told) not in item.user_properties:
        item.user_properties.append((PROPERTY, told))
    return told
