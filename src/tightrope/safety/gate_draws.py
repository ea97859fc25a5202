"""Which executions a gate needs next. Nothing here runs anything: it is asked for work and told what came of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tightrope.outcome import Verdict
from tightrope.safety.suites.suite import TestCase, TestSuite
from tightrope.seeding import generator
from tightrope.statistics import SequentialGate

FIRST_BATCH, LARGEST_BATCH = 8, 64
"""Executions between two looks. Many gates are decided by the first eight; later, half as many as there were waste
little and keep the engine busy."""

DrawnPlace = tuple[int, int]
"""A boundary state: its reference and its number."""


@dataclass
class _Slot:
    """One draw of the batch: it counts in its turn, whenever its execution is finished."""

    place: DrawnPlace
    case: TestCase
    verdict: Verdict | None = None


class Drawing:
    """Draws cases so that each execution fails with the suite's own fail frequency, whatever came of the others.

    A boundary state is drawn, then one of its cases, each as likely as the next: that is how a suite is averaged. An
    execution that ends before hand-over is repeated; a case of which ``patience`` did, and none did not, is invalid and
    drawn no more, and its boundary state gets another of its cases. Draws count in the order in which they were drawn:
    if those that are finished sooner counted sooner, cases that are quickly decided would count too much.
    """

    def __init__(
        self, suite: TestSuite, gate: SequentialGate, *, without: Collection[str], patience: int, most: int, seed: int
    ) -> None:
        self.gate, self.patience, self.most = gate, patience, most
        self.executions = 0
        self._rng = generator("gate", seed, suite.id)
        self._places: dict[DrawnPlace, list[TestCase]] = defaultdict(list)
        for case in suite.cases:
            if case.id not in without:
                self._places[case.reference, case.boundary].append(case)
        self._used, self._reached, self._invalid = Counter[str](), Counter[str](), set[str]()
        self._batch: list[_Slot] = []
        self._asked: list[_Slot] = []

    def ask(self) -> list[tuple[TestCase, int]]:
        """The executions to make now, each a case and the number of its repetition; none when the gate is done with."""
        if self.gate.decision is not None or self.executions >= self.most or not self._places:
            return []
        if not self._batch:
            size = min(max(FIRST_BATCH, self.executions // 2), LARGEST_BATCH, self.most - self.executions)
            self._batch = [self._drawn() for _ in range(size)]
        self._asked = [slot for slot in self._batch if slot.verdict is None][: self.most - self.executions]
        work = []
        for slot in self._asked:
            work.append((slot.case, self._used[slot.case.id]))
            self._used[slot.case.id] += 1
        return work

    def tell(self, verdicts: Sequence[Verdict]) -> None:
        """What came of the executions asked for, in their order."""
        self.executions += len(verdicts)
        for slot, verdict in zip(self._asked, verdicts, strict=True):
            if verdict is not Verdict.INVALID:
                slot.verdict = verdict
                self._reached[slot.case.id] += 1
        for slot in self._asked:
            if not self._reached[slot.case.id] and self._used[slot.case.id] >= self.patience:
                self._leave_out(slot.case)
        self._batch = [self._valid(slot) for slot in self._batch] if self._places else []
        self._count()

    def _count(self) -> None:
        """Tell the gate of the draws up to the first that is not finished."""
        while self._batch and self._batch[0].verdict is not None and self.gate.decision is None:
            verdict = self._batch.pop(0).verdict
            self.gate.update(None if verdict is Verdict.ERROR else verdict is Verdict.FAIL)

    def _drawn(self, place: DrawnPlace | None = None) -> _Slot:
        if place not in self._places:
            places = list(self._places)
            place = places[self._rng.integers(len(places))]
        assert place is not None
        cases = self._places[place]
        return _Slot(place, cases[self._rng.integers(len(cases))])

    def _valid(self, slot: _Slot) -> _Slot:
        """The draw, or another of its boundary state where its case turned out to be invalid."""
        finished = slot.verdict is not None
        return slot if finished or slot.case.id not in self._invalid else self._drawn(slot.place)

    def _leave_out(self, invalid: TestCase) -> None:
        """A case can belong to two boundary states; one without any case left is no more drawn."""
        self._invalid.add(invalid.id)
        for place in list(self._places):
            self._places[place] = [case for case in self._places[place] if case.id != invalid.id]
            if not self._places[place]:
                del self._places[place]
