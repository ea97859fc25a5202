"""How much a suite has left to show: kinds of failure that no execution met."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import zip_longest
from typing import TYPE_CHECKING

from tightrope.outcome import Verdict
from tightrope.statistics import Unseen, nothing_unseen, unseen_kinds

if TYPE_CHECKING:
    from tightrope.safety.judging.results import SafetyResult

JUDGED = frozenset({Verdict.PASS, Verdict.FAIL})


def remaining_kinds(result: SafetyResult) -> Unseen:
    """What remains unseen on the cases of a suite; a kind of failure is a failure group.

    The fails of one case are of one kind: its first failing execution is the one that is explained. Of which nothing
    was decided, each case may be a kind of its own.
    """
    kinds: dict[str, Hashable] = {
        case.case.id: number if group.decided else case.case.id
        for number, group in enumerate(result.failure_groups)
        for case in group.members
    }
    judged = [case for case in result.distinct_cases if JUDGED & case.counts.keys()]
    if result.stopped_early:
        return unseen_kinds([])
    if judged and all(case.deterministic for case in judged):
        return nothing_unseen(len(judged), len(set(kinds.values())), why="deterministic: each case repeats itself")
    shown = [
        [kinds[case.case.id] if verdict is Verdict.FAIL else None for verdict in case.verdicts if verdict in JUDGED]
        for case in judged
    ]
    rounds = zip_longest(*shown, fillvalue=_NOT_EXECUTED)
    return unseen_kinds([kind for kind in turn if kind is not _NOT_EXECUTED] for turn in rounds)


_NOT_EXECUTED = object()
