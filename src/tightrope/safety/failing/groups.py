"""Failures with the same cause are one finding: the same blame point and the same decision there."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tightrope.display import Shown
from tightrope.explanation import CloseUp, Explanation, words
from tightrope.explanation.words import BLAME, MISSING
from tightrope.reference import Survivability
from tightrope.safety.failing.nearness import NEAR, Nearness, spans_of
from tightrope.safety.judging.avoidable import shown_part, tried_by_chance
from tightrope.tasks.task import Task
from tightrope.trace import Action

if TYPE_CHECKING:
    from tightrope.safety.judging.case_results import CaseResult
    from tightrope.safety.judging.results import SafetyResult

ON_THE_WHOLE = (0.1, 0.2, 0.4)
"""What counts as near, tried in turn, where blame points lie all over a space: then nearly every one is alone, and
hundreds of findings are none. So far may the numbers differ on the whole (root of the mean square)."""
HANDFUL = 8
"""Groups that nobody needs to be put together any further."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FailureGroup(Shown):
    """Fails with one cause."""

    _shown = ("representative", "why", "share", "agents", "avoidable")
    _shares = ("share",)

    representative: CaseResult
    """The one with the shortest way from reset to harm."""
    explanation: Explanation | None = field(repr=False)
    """Why that one failed; None where it was not explained."""
    members: tuple[CaseResult, ...] = field(repr=False)
    share: float
    """Of all fails, how many are these."""
    agents: tuple[str, ...]
    """Who fails so."""
    close_up: CloseUp | None = field(default=None, repr=False)
    """What the agent saw and wanted in that one, where somebody looked."""
    among: int = 1
    """So many cases were looked at to find these."""
    excused: bool = False
    """Whether every suite that these are of reads an avoidable fail frequency of 0: it fails no more often than the
    best player known, so nothing is called avoidable, whatever single decisions seem to have cost."""

    @property
    def why(self) -> str:
        """Why they failed, with actions by their numbers; ``sentence`` names them."""
        return MISSING if self.explanation is None else words.sentence(self.explanation)

    @property
    def decided(self) -> bool:
        """Whether a cause is known; those of which nothing was decided are together, and may have several."""
        return self.explanation is not None and (self.explanation.depth, self.explanation.cause) != (None, None)

    @property
    def avoidable(self) -> bool | None:
        """Whether the moment it was lost lies after hand-over; None: not decided.

        Where a way out from hand-over is known, that moment need not be. Where chance decides and no decision stands
        out, failing more often than somebody did is still its fault."""
        found = self._avoidable
        return None if found and self.excused else found

    @property
    def _avoidable(self) -> bool | None:
        fault = None if self.explanation is None else self.explanation.agents_fault
        if fault is None and all(map(_way_out_known, self.members)):
            return True
        if self.explanation is None:
            return None
        if fault is None and self.explanation.drop is not None and self.explanation.cause is None:
            return True if any(map(self._blamed, self.members)) else None
        return fault

    def _blamed(self, case: CaseResult) -> bool:
        return tried_by_chance(case) and shown_part(case, self.among) > 0

    @property
    def fails(self) -> int:
        """Executions that failed so."""
        return sum(case.fails for case in self.members)

    def _cell(self, name: str, value: object) -> str:
        # "None" would be taken for: no part of it.
        return BLAME[self.avoidable] if name == "avoidable" else super()._cell(name, value)

    def sentence(self, task: Task) -> str:
        """Why they failed, in words; of the representative."""
        if self.explanation is None:
            return MISSING
        wanted = "" if self.close_up is None else self.close_up.sentence(task)
        return f"{self.explanation.sentence(task)}. {wanted}".removesuffix(". ")


@dataclass
class _Member:
    agent: str
    case: CaseResult
    explanation: Explanation | None
    close_up: CloseUp | None

    @property
    def known(self) -> int:
        """How much is known of why it failed."""
        return (self.explanation is not None) + (self.close_up is not None)

    @property
    def cause(self) -> Hashable:
        """What it shares with others where no single decision is to blame: the cause, and what was measured of it; or
        that nothing was decided, of which one sentence says all."""
        why = self.explanation
        if why is None:
            return None
        if why.cause is None:
            return None if why.depth is not None else (why.proven, why.agents_fault, _way_out_known(self.case))
        return why.cause, repr(why.given_away), repr(why.behind)

    @property
    def decided(self) -> bool:
        """Whether the moment it was lost is known."""
        return self.explanation is not None and self.explanation.depth is not None

    @property
    def place(self) -> tuple[float, ...] | None:
        """What was seen where it was lost, where that is a few real numbers."""
        return self.explanation.observation if self.explanation is not None and self.cause is None else None


def group_failures(results: Iterable[SafetyResult]) -> tuple[FailureGroup, ...]:
    """The fails of several results by their cause: those explained first, of these the avoidable and most frequent.

    A case that an agent was put into by several suites counts once.
    """
    results = tuple(results)
    members = _members(results)
    groups = _sorted_by_cause(members)
    among = len({case.case.id for result in results for case in result.cases if tried_by_chance(case)})
    total = sum(member.case.fails for member in members)
    blamed = _blamed_cases(results)
    found = [_group(group, total, among, blamed) for group in groups]
    return tuple(sorted(found, key=_rank))


def rest_of_groups(groups: Sequence[FailureGroup], told: int) -> str:
    """What is said after the first groups: how many more there are, and of how many nobody asked why; or nothing."""
    more, unasked = len(groups) - told, sum(group.explanation is None for group in groups)
    if more < 1:
        return ""
    if unasked in (0, len(groups)):
        return f"… and {more} more"
    which = "not" if unasked >= more else f"{unasked} of them not"
    return f"… and {more} more, {which} explained: the steps for that (explain_steps) were spent"


def groups_by_agent(
    results: Mapping[str, Mapping[str, SafetyResult]], leave_out: Collection[str] = ()
) -> dict[str, tuple[FailureGroup, ...]]:
    """Of suite → agent → result: by agent the groups of its fails in all suites but some (controls).

    Agents that do not fail are left out.
    """
    rows = [row for suite, row in results.items() if suite not in leave_out]
    agents = dict.fromkeys(agent for row in rows for agent in row)
    found = {agent: group_failures(row[agent] for row in rows if agent in row) for agent in agents}
    return {agent: groups for agent, groups in found.items() if groups}


def _sorted_by_cause(members: Sequence[_Member]) -> list[list[_Member]]:
    """What is near is one. Where most are alone then, what is less near is one as well, until there are a handful."""
    spans = spans_of([member.explanation for member in members])
    groups = _sorted_by_nearness(members, Nearness(spans, NEAR))
    if 2 * sum(len(group) == 1 for group in _placed(groups)) <= len(_placed(groups)):
        return groups
    for share in ON_THE_WHOLE:
        if len(_placed(groups)) <= HANDFUL:
            break
        groups = _sorted_by_nearness(members, Nearness(spans, share, on_the_whole=True))
    return groups


def _placed(groups: Sequence[list[_Member]]) -> list[list[_Member]]:
    return [group for group in groups if group[0].place is not None]


def _sorted_by_nearness(members: Sequence[_Member], nearness: Nearness) -> list[list[_Member]]:
    groups: list[list[_Member]] = []
    of_case: dict[str, list[_Member]] = {}
    of_cause: dict[Hashable, list[_Member]] = {}
    for member in members:
        same: list[_Member] | None
        if member.cause is not None:
            same = of_cause.get(member.cause)
        elif member.decided:
            same = next((group for group in groups if _belongs(member, group, nearness)), None)
        else:
            # It belongs to its case alone, and looking that up spares thousands of fails the way through all groups.
            same = of_case.get(member.case.case.id)
        if same is None:
            same = []
            groups.append(same)
        same.append(member)
        of_case.setdefault(member.case.case.id, same)
        if member.cause is not None:
            of_cause.setdefault(member.cause, same)
    return groups


def _members(results: Iterable[SafetyResult]) -> list[_Member]:
    found: dict[tuple[str, str], _Member] = {}
    for result in results:
        for case in result.distinct_cases:
            name = case.case.id
            member = _Member(result.agent, case, result.explanations.get(name), result.close_ups.get(name))
            if case.fails and member.known >= found.get((result.agent, name), member).known:
                found[result.agent, name] = member
    return list(found.values())


def _rank(group: FailureGroup) -> tuple[bool, bool, float]:
    return group.explanation is None, group.avoidable is not True, -group.share


def _way_out_known(case: CaseResult) -> bool:
    """Whether an escape from hand-over was replayed; where chance decides, one lucky run is none."""
    best = case.survival.best
    return case.survivable is Survivability.YES and (best is None or best.low == best.high)


def _blamed_cases(results: Iterable[SafetyResult]) -> set[tuple[str, str]]:
    """Agent and case, of each suite that is not all bad luck."""
    return {
        (result.agent, case.case.id)
        for result in results
        if result.avoidable_fail_frequency.value != 0
        for case in result.cases
    }


def _group(members: Sequence[_Member], total: int, among: int, blamed: Collection[tuple[str, str]]) -> FailureGroup:
    first = min(members, key=lambda member: (len(member.case.failing_episodes[0].trace), -member.known))
    return FailureGroup(
        representative=first.case,
        explanation=first.explanation,
        members=tuple(member.case for member in members),
        share=sum(member.case.fails for member in members) / total,
        agents=tuple(dict.fromkeys(member.agent for member in members)),
        close_up=first.close_up,
        among=among,
        excused=all((member.agent, member.case.case.id) not in blamed for member in members),
    )


def _belongs(member: _Member, group: Sequence[_Member], nearness: Nearness) -> bool:
    """Whether a fail has the cause of a group: the place of one of them, or one near that of the first.

    Only of the first, or groups would grow into each other from neighbour to neighbour.
    """
    return any(_same(member, other) for other in group) or _same(member, group[0], nearness)


def _same(one: _Member, other: _Member, nearness: Nearness | None = None) -> bool:
    """Whether two fails have one cause; what was not decided stands for itself, but for the case it happened in."""
    a, b = one.explanation, other.explanation
    if one.cause != other.cause:
        return False
    if a is None or b is None or a.depth is None or b.depth is None:
        return one.case.case.id == other.case.case.id
    # No two decisions of real numbers are the same: near each other in what was seen, they are one.
    alike = a.action == b.action or (nearness is not None and _continuous(a.action) and _continuous(b.action))
    same = a.key == b.key if nearness is None else nearness.near(a, b)
    return alike and a.agents_fault is b.agents_fault and same


def _continuous(action: Action | None) -> bool:
    parts = action if isinstance(action, tuple) else (action,)
    return all(isinstance(part, float) for part in parts)
