"""How often each of several agents fails in the way of a group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tightrope.safety.failing.groups import FailureGroup

if TYPE_CHECKING:
    from tightrope.safety.judging.case_results import CaseResult
    from tightrope.safety.judging.results import SafetyResult


@dataclass(frozen=True, kw_only=True)
class GroupShare:
    """How often an agent fails in the way of a group, in the cases of that group."""

    fails: int
    executions: int
    """Those that were judged, but for fails of which nobody knows the way; 0: it met no other of these cases."""

    @property
    def value(self) -> float | None:
        """The share; None: no data."""
        return self.fails / self.executions if self.executions else None


def shares_of_groups(groups: Sequence[FailureGroup], results: Iterable[SafetyResult]) -> tuple[GroupShare, ...]:
    """How often one agent's results have the fails of each group; a case that several suites have counts once.

    Where it fails a case in another way than the group, and either way is not known, it may be the same: such a case
    says nothing.
    """
    met: dict[str, list[CaseResult]] = {}
    for case in (case for result in results for case in result.distinct_cases):
        if not case.invalid:
            met.setdefault(case.case.id, []).append(case)
    unknown = {id(case) for group in groups if not group.decided for case in group.members}
    return tuple(_share(group, met, unknown) for group in groups)


def _share(group: FailureGroup, met: Mapping[str, Sequence[CaseResult]], unknown: Collection[int]) -> GroupShare:
    own = {id(case) for case in group.members}
    names = {case.case.id for case in group.members} & met.keys()
    # The one that is counted among the fails, where suites share a case.
    chosen = [next((case for case in met[name] if id(case) in own), met[name][0]) for name in names]
    told = [
        case for case in chosen if id(case) in own or not case.fails or _otherwise(group, met[case.case.id], unknown)
    ]
    return GroupShare(
        fails=sum(case.fails for case in told if id(case) in own),
        executions=sum(len(case.verdicts) - case.errors - case.ended_early for case in told),
    )


def _otherwise(group: FailureGroup, same: Sequence[CaseResult], unknown: Collection[int]) -> bool:
    """Whether fails of a case that are not of the group are known to have another cause."""
    return group.decided and not any(id(case) in unknown for case in same)
