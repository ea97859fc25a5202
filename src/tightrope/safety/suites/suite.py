"""Test suites: situations around the boundary states, each an action trace that can be replayed by anyone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from tightrope.display import Shown
from tightrope.reference import BoundaryState, Reference, Survivability
from tightrope.trace import Action, ActionTrace, content_id


@dataclass(frozen=True, kw_only=True)
class TestCase(Shown):
    """One situation in which the agent takes over."""

    _shown = ("id", "label", "prefix", "reference")

    __test__: ClassVar[bool] = False

    prefix: ActionTrace
    boundary: int
    """Number of the boundary state it belongs to, from 0 on; random cases belong to none and are numbered."""
    depth: int | None
    """Depth of that boundary state on the reference; None for random cases."""
    kept: int
    """How many actions of the prefix are the reference's; the rest was added by the suite."""
    reference: int = 0
    """Number of the reference it was made from: cases of one hang together, and references are what varies in general.
    A suite has one unless it says otherwise."""

    @classmethod
    def on(cls, reference: Reference, number: int, length: int, added: Sequence[Action] = ()) -> TestCase:
        """A case near a boundary state of a reference.

        Args:
            reference: The way that the case begins on.
            number: Which of its boundary states the case belongs to, from 0 on.
            length: How many of its actions lead to the case.
            added: What is played after these.
        """
        prefix = reference.actions.prefix(length).then(added)
        return cls(prefix=prefix, boundary=number, depth=reference.depths[number], kept=length)

    @property
    def id(self) -> str:
        """Identifier derived from the prefix alone: the same situation in two suites is the same case."""
        return self.prefix.id

    @property
    def place(self) -> int | None:
        """The number that its boundary state is called by everywhere, from 1 on; None for a random case."""
        return None if self.depth is None else self.boundary + 1

    @property
    def added(self) -> tuple[Action, ...]:
        """The actions after the part taken from the reference."""
        return self.prefix.actions[self.kept :]

    @property
    def label(self) -> str:
        """What tells it from its neighbours: the offset from the boundary state ("+1") or the actions added ("0 1")."""
        if self.depth is None:
            return f"{len(self.prefix)} random action{'' if len(self.prefix) == 1 else 's'}"
        return " ".join(map(str, self.added)) if self.added else f"{self.kept - self.depth:+d}"

    def __repr__(self) -> str:
        return f"TestCase({self.id}, {len(self.prefix)} actions, {self.label!r})"


@dataclass(frozen=True, kw_only=True)
class SuiteReference:
    """One of the references of a suite: its actions, and where they led when the suite was made."""

    actions: ActionTrace
    checksums: tuple[int, ...] = field(default=(), repr=False)
    """Hashes of the state keys along it."""
    doomed: tuple[tuple[int, Action, int], ...] = field(default=(), repr=False)
    """Steps off it that were proven to lead to doom, as a suite has them of its first reference."""
    by_failing: bool = False
    """Whether it is a run in which an agent failed, or nearly, and is here for that."""


@dataclass(frozen=True, kw_only=True)
class TestSuite(Shown):
    """Cases with their task, reference and parameters."""

    _shown = ("name", "task", "cases", "depths")

    __test__: ClassVar[bool] = False

    kind: str
    """What its short name begins with, such as ``simple``."""
    parameters: Mapping[str, Any]
    """Those of the kind; the first is the number of its short name."""
    reference: ActionTrace
    """The reference action trace; empty for random suites."""
    checksums: tuple[int, ...] = field(default=(), repr=False)
    """Hashes of the state keys along the reference, by which a changed environment is noticed."""
    depths: tuple[int, ...]
    """Depths of the boundary states on the reference."""
    doomed: tuple[tuple[int, Action, int], ...] = field(default=(), repr=False)
    """(depth, action, steps): steps off the reference that step 1 proved to lead to doom within so many steps, the
    action included, for the actions it searched with. They say where to look: what counts is proven again."""
    cases: tuple[TestCase, ...] = field(repr=False)
    others: tuple[SuiteReference, ...] = field(default=(), repr=False)
    """Further references; a case whose ``reference`` is 1 or more is made from one of them."""
    by_failing: bool = False
    """Whether the first reference is a run in which an agent failed, or nearly, and is here for that."""

    left_out_states: int = 0
    """Boundary states of the same references that are not tested, where there are too many for that: those that are
    tested are then a sample of them."""

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def task(self) -> str:
        """Label of the task."""
        return self.reference.task

    @property
    def name(self) -> str:
        """The short name that ``make_suite`` understands: the kind, and after a colon its first parameter."""
        number = next(iter(self.parameters.values()), None)
        return self.kind if number is None else f"{self.kind}:{number}"

    @cached_property
    def id(self) -> str:
        """Identifier derived from the content alone: all of it that can change a result."""
        # Left out where there are none, so that a suite keeps the id it has always had.
        marks: list[tuple[object, ...]] = [self.doomed] if self.doomed else []
        if any(way.doomed for way in self.others):
            marks = [way.doomed for way in self.ways]
        if self.chosen:
            marks = [*marks, ("by failing", *sorted(self.chosen))]
        return content_id(*self.first_id_parts, *marks)

    @property
    def first_id_parts(self) -> tuple[object, ...]:
        """What the id of files of version 1 is made of, which left out what is marked as doomed."""
        cases: list[tuple[object, ...]] = [(case.boundary, case.kept, case.id) for case in self.cases]
        numbers = [case.reference for case in self.cases]
        if any(numbers) or self.others:
            # Left out where there is one reference, so that a suite keeps the id it has always had.
            cases += [tuple(numbers), *((way.actions.id, way.checksums) for way in self.others)]
        return self.kind, dict(self.parameters), self.reference.id, self.checksums, self.depths, cases

    @property
    def ways(self) -> tuple[SuiteReference, ...]:
        """All references, by the numbers that cases call them."""
        first = SuiteReference(
            actions=self.reference, checksums=self.checksums, doomed=self.doomed, by_failing=self.by_failing
        )
        return (first, *self.others)

    @property
    def chosen(self) -> frozenset[int]:
        """Numbers of the references that are here because an agent failed on them, or nearly: no sample of that."""
        return frozenset(number for number, way in enumerate(self.ways) if way.by_failing)

    @property
    def longest_way(self) -> int:
        """The most actions of a reference."""
        return max(len(way.actions) for way in self.ways)

    @property
    def by_case(self) -> bool:
        """Whether no reference joins its cases, so that each of them is a sample of its own."""
        return not self.reference.actions and not self.depths

    def way_of(self, case: TestCase) -> SuiteReference:
        """The reference that a case is made from; an empty one where its number is that of none."""
        nothing = SuiteReference(actions=self.reference.prefix(0), checksums=self.checksums[:1])
        return self.ways[case.reference] if case.reference < len(self.ways) else nothing

    @property
    def boundaries(self) -> tuple[int, ...]:
        """Numbers of the boundary states: all of the reference, or one for each case that stands for itself."""
        return tuple(range(len(self.depths))) if self.depths else tuple(case.boundary for case in self.cases)

    @property
    def without_cases(self) -> tuple[int, ...]:
        """Numbers of the boundary states that gave no case (k larger than their depth)."""
        used = {case.boundary for case in self.cases}
        return tuple(number for number in self.boundaries if number not in used)

    @classmethod
    def on(cls, reference: Reference, kind: str, parameters: Mapping[str, Any], cases: Sequence[TestCase]) -> TestSuite:
        """A suite of cases around the boundary states of a reference.

        Args:
            reference: The way that the cases begin on.
            kind: The name of the kind of suite.
            parameters: What else it was made with, by name.
            cases: Its cases, as from ``TestCase.on``.
        """
        return cls(
            kind=kind,
            parameters=parameters,
            reference=reference.actions,
            checksums=reference.checksums,
            depths=reference.depths,
            doomed=tuple(proof for state in reference.boundary_states for proof in _doomed(state)),
            by_failing=reference.chosen,
            cases=tuple(cases),
        )

    @classmethod
    def joined(cls, suites: Sequence[TestSuite]) -> TestSuite:
        """Suites of one kind on different references as one; their boundary states are numbered one after another."""
        first, *rest = suites
        if not rest:
            return first
        cases, depths, others = list(first.cases), list(first.depths), list(first.others)
        left_out = sum(suite.left_out_states for suite in suites)
        for suite in rest:
            moved, number = len(depths), len(others) + 1
            cases += [
                replace(case, boundary=case.boundary + moved, reference=case.reference + number) for case in suite.cases
            ]
            depths += suite.depths
            others += suite.ways
        return replace(first, cases=tuple(cases), depths=tuple(depths), others=tuple(others), left_out_states=left_out)

    def __repr__(self) -> str:
        return f"TestSuite({self.name!r}, {self.task!r}, {len(self)} cases at {len(self.boundaries)} boundary states)"


def _doomed(state: BoundaryState) -> list[tuple[int, Action, int]]:
    searched = {action: state.fuse for action in state.actions if state.proven}
    probed = {each.action: each.fuse for each in state.successors if each.survivable is Survivability.NO}
    return [(state.depth, action, fuse) for action, fuse in (searched | probed).items() if fuse is not None]
