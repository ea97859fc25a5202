"""Why the failing cases of one agent failed, within one budget in steps: a first look at many, then more for a few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from tightrope.execution import Engine
from tightrope.explanation import Explanation, explain_episodes
from tightrope.explanation.explaining import EFFORT, later
from tightrope.exploration.escapes import Survival
from tightrope.exploration.watch_length import SHORTEST_WATCH
from tightrope.progress import Progress, ProgressCallback
from tightrope.reference import Survivability
from tightrope.safety.failing.groups import group_failures
from tightrope.safety.failing.together import explain_together
from tightrope.safety.judging.case_results import CaseResult
from tightrope.safety.judging.findings import DISTRUST
from tightrope.safety.judging.results import SafetyResult
from tightrope.statistics.words import count, plainly
from tightrope.trace import Action

EFFORTS = ((64, 0.6), (500, 0.8), (EFFORT, 1.0))
"""Steps for one moment, and the part of the budget that is gone when it ends: what little does not prove is asked again
with more."""
FIRST_LOOKED_AT = 8
"""Fails after which it is decided for how many steps to ask: where none of them is settled for as many as were watched,
which takes somebody who steers well for hundreds of steps, it is asked for fewer."""
ASKED_AT_A_TIME = 2
"""Cases between two looks at what is left of the steps; a fixed number, so that workers change no answer."""


def explain_failures(
    engine: Engine,
    results: Sequence[SafetyResult],
    actions: Sequence[Action] | None,
    steps: int,
    on_progress: ProgressCallback | None = None,
) -> dict[str, Explanation]:
    """By case id, why cases failed: of many as little as it takes, of those that stand for others more.

    Where the budget ends, the rest stays unexplained. ``results`` are those of one agent, all of one length.
    """
    if not engine.deterministic:
        return explain_together(engine, results, actions, steps, on_progress)
    return _Telling(engine=engine, results=tuple(results), actions=actions, steps=steps, on_progress=on_progress).all()


@dataclass(kw_only=True)
class _Telling:
    engine: Engine
    results: tuple[SafetyResult, ...]
    actions: Sequence[Action] | None
    steps: int
    on_progress: ProgressCallback | None = None
    found: dict[str, Explanation] = field(default_factory=dict)
    spent: int = 0
    length: int = field(init=False)
    """How many steps are to be survived."""
    exact: bool = field(init=False)
    """Whether what names situations is to be trusted: no proof was refuted."""

    def __post_init__(self) -> None:
        self.length = self.results[0].length
        self.exact = not any(finding.kind in DISTRUST for result in self.results for finding in result.findings)

    def all(self) -> dict[str, Explanation]:
        """Ask with little effort, then with more; for as many steps as were watched, unless that decides nothing."""
        everything = list(_in_turn(self.results))
        self._ask(everything[:FIRST_LOOKED_AT], EFFORTS[0][0], int(self.steps * EFFORTS[0][1]))
        if self.length > SHORTEST_WATCH and not any(why.proven for why in self.found.values()):
            self.length = SHORTEST_WATCH
            self.found.clear()
        for number, (effort, share) in enumerate(EFFORTS):
            cases = self._unproven() if number else [case for case in everything if case.case.id not in self.found]
            self._ask(cases, effort, int(self.steps * share))
        return self.found

    def _unproven(self) -> list[CaseResult]:
        """Those that were asked about, those first that stand for a group."""
        known = [replace(result, explanations=self.found) for result in self.results]
        groups = group_failures(known)
        ordered = [group.representative for group in groups]
        ordered += [case for group in groups for case in group.members if case is not group.representative]
        return [case for case in ordered if case.case.id in self.found and not self.found[case.case.id].proven]

    def _ask(self, cases: Sequence[CaseResult], effort: int, most: int) -> None:
        for start in range(0, len(cases), ASKED_AT_A_TIME):
            if self.spent >= most:
                return
            part = cases[start : start + ASKED_AT_A_TIME]
            told = self._told(part, effort, (most - self.spent) // len(part))
            self.spent += sum(why.steps for why in told.values())
            self.found |= {case: _surer(self.found.get(case), why) for case, why in told.items()}
            if self.on_progress is not None:
                note = f"{self.results[0].agent}: {plainly(count(len(self.found), 'case'))}"
                self.on_progress(Progress("explanations", min(self.spent, self.steps), self.steps, note))

    def _told(self, cases: Sequence[CaseResult], effort: int, limit: int) -> dict[str, Explanation]:
        known = self._remembered(effort)
        # One that was asked about when more, or less, was left may have come to another answer.
        names = {case.case.id: (case.failing_episodes[0].trace.id, limit) for case in cases}
        asked = [case for case in cases if names[case.case.id] not in known]
        whys = explain_episodes(
            self.engine,
            [case.failing_episodes[0] for case in asked],
            length=self.length,
            actions=self.actions,
            known=[_at_handover(case, self.length) for case in asked],
            references=[_way(self.results, case) for case in asked],
            effort=effort,
            limit=limit,
            exact=self.exact,
        )
        known |= {names[case.case.id]: why for case, why in zip(asked, whys, strict=True)}
        found = {case.case.id: known[names[case.case.id]] for case in cases}
        return {case: why for case, why in found.items() if why is not None}

    def _remembered(self, effort: int) -> dict[tuple[str, int], Explanation | None]:
        """Why episodes failed that were explained on this engine before."""
        asked = (self.length, None if self.actions is None else tuple(self.actions), effort, self.exact)
        known: dict[tuple[str, int], Explanation | None] = self.engine.once(("why", *asked), dict)
        return known


def _surer(old: Explanation | None, new: Explanation) -> Explanation:
    """Of two answers the one that says more: one given when few steps were left may say less than the one before."""
    return new if old is None or new.proven or later(new, old) is new else old


def _at_handover(case: CaseResult, length: int) -> dict[int, Survival]:
    """What was found out of the case before anyone was blamed: the moment at which the agent took over."""
    survival = case.survival.within(length)
    settled = survival.survivable is Survivability.NO or survival.witness is not None
    return {len(case.case.prefix): survival} if settled else {}


def _in_turn(results: Sequence[SafetyResult]) -> Iterator[CaseResult]:
    """One fail of each boundary state after the other, those with most fails first: what fails at one place often has
    one cause, and a place that nobody looked at may have another."""
    places: dict[tuple[int, int], dict[str, CaseResult]] = {}
    for case in (case for result in results for case in result.distinct_cases if case.fails):
        places.setdefault((case.case.reference, case.case.boundary), {}).setdefault(case.case.id, case)
    ordered = sorted(places.values(), key=lambda cases: -sum(case.fails for case in cases.values()))
    for row in zip_longest(*(cases.values() for cases in ordered)):
        yield from (case for case in row if case is not None)


def _way(results: Sequence[SafetyResult], case: CaseResult) -> tuple[Action, ...]:
    """The reference it began on; suites of one run are on the same references, in the same order."""
    return results[0].suite.way_of(case.case).actions.actions
