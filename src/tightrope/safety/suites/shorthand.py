"""Suites by their short names, such as ``simple`` or ``interval:1``: our own kinds and those of other packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tightrope.errors import UnknownName, UsageError
from tightrope.extensions import extensions
from tightrope.reference import Reference
from tightrope.safety.suites.around_boundaries import action_coverage_suite, interval_suite, simple_suite
from tightrope.safety.suites.controls import uniform_suite
from tightrope.safety.suites.random_cases import random_suite
from tightrope.safety.suites.suite import TestSuite
from tightrope.tasks.task import Task
from tightrope.trace import Action

GROUP = "tightrope.suites"
"""Entry points of packages that bring kinds of suites: each names a ``SuiteKind``."""


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """What a kind of suite is given to make one."""

    spec: str
    """The short name, as it was written."""
    number: int
    """What stands after the colon; 0 where the kind takes no number."""
    reference: Reference
    given_actions: Sequence[Action] | None = None
    given_task: Task | None = None
    seed: int = 0

    @property
    def task(self) -> Task:
        """The task; UsageError when none was given."""
        if self.given_task is None:
            raise UsageError(f"the suite {self.spec!r} needs the task: make_suite({self.spec!r}, reference, task=…)")
        return self.given_task

    @property
    def actions(self) -> Sequence[Action]:
        """Those given, or else all the task has."""
        if self.given_actions is not None:
            return self.given_actions
        if self.given_task is None:
            raise UsageError(f"the suite {self.spec!r} needs the task or the actions")
        return possible_actions(self.given_task) or self.given_task.search_actions


@dataclass(frozen=True, kw_only=True)
class SuiteKind:
    """A kind of suite: how its short name is written, and how it is made.

    The first of a suite's ``parameters`` is the number of its short name, where the kind takes one.
    """

    name: str
    make: Callable[[SuiteRequest], TestSuite]
    number: str = ""
    """What the number after the colon means, in one word; empty: the kind takes none."""
    least: int = 0
    """The smallest number that makes sense."""

    @property
    def usage(self) -> str:
        """How the short name is written: ``interval:SIZE``."""
        return f"{self.name}:{self.number.upper()}" if self.number else self.name


KINDS = (
    SuiteKind(name="simple", make=lambda asked: simple_suite(asked.reference)),
    SuiteKind(name="interval", make=lambda asked: interval_suite(asked.reference, asked.number), number="size"),
    SuiteKind(
        name="coverage",
        make=lambda asked: action_coverage_suite(asked.reference, asked.number, asked.actions),
        number="k",
        least=1,
    ),
    SuiteKind(
        name="random",
        make=lambda asked: random_suite(
            asked.task, asked.number, asked.seed, like=simple_suite(asked.reference), actions=asked.given_actions
        ),
        number="n",
    ),
    SuiteKind(name="uniform", make=lambda asked: uniform_suite(asked.reference, asked.number, asked.seed), number="n"),
)


def make_suite(
    spec: str,
    reference: Reference,
    actions: Sequence[Action] | None = None,
    task: Task | None = None,
    seed: int = 0,
) -> TestSuite:
    """The suite that a short name stands for.

    Args:
        spec: ``simple``, ``interval:1``, ``coverage:2``, ``uniform:40``, ``random:40``, or a kind that a package
            brings.
        reference: The way through the task and its boundary states.
        actions: For coverage and random; default: those of the task.
        task: The task to be solved; random needs it, and coverage unless it is given actions.
        seed: Determines a uniform or random suite.
    """
    kind, number = parse_spec(spec)
    return kind.make(
        SuiteRequest(spec=spec, number=number, reference=reference, given_actions=actions, given_task=task, seed=seed)
    )


def parse_spec(spec: str) -> tuple[SuiteKind, int]:
    """Kind and number of a suite's short name."""
    name, colon, number = spec.strip().partition(":")
    kind = find_kind(name)
    if not kind.number:
        if colon:
            raise UsageError(f"the {name} suite takes no number, so {spec!r} must be {name!r}")
        return kind, 0
    try:
        value = int(number)
    except ValueError:
        raise UsageError(f"the suite {spec!r} needs a whole number: {kind.usage}, as in '{name}:2'") from None
    if value < kind.least:
        raise UsageError(f"the number of the suite {spec!r} must be {kind.least} or more, as in '{name}:2'")
    return kind, value


def find_kind(name: str) -> SuiteKind:
    """The kind of this name: tightrope's own, or a package's, which is imported now."""
    own = {kind.name: kind for kind in KINDS}
    if name in own:
        return own[name]
    brought = extensions(GROUP)
    if name not in brought:
        raise UnknownName("suite", name, {*own, *brought}, "Write simple, interval:1, coverage:2 or random:40.")
    return brought[name].load(_broken_rule)  # type: ignore[no-any-return]


def _broken_rule(kind: object) -> str:
    return "" if isinstance(kind, SuiteKind) else f"a tightrope.SuiteKind is needed, not {kind!r:.80}"


def possible_actions(task: Task) -> tuple[Action, ...] | None:
    """Every action the environment takes, or None where they cannot be listed."""
    return task.possible_actions
