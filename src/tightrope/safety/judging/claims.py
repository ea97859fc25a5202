"""Claims are tested by what the executions show: a proof that somebody survives is no proof.

All proofs of doom in a suite rest on the same grounds: that the task is deterministic, that situations with one name
are one, that the agent has no other actions. One that fails takes the others with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tightrope.execution import Episode
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.safety.judging.findings import SafetyFinding, SafetyFindingKind
from tightrope.trace import Action

Executions = Mapping[str, Sequence[Episode]]
"""Episodes by case id."""


@dataclass(frozen=True, kw_only=True)
class SuiteSurvival:
    """What is claimed about the cases of a suite, whoever plays."""

    by_case: Mapping[str, Survival] = field(default_factory=dict)
    """By case id."""
    findings: tuple[SafetyFinding, ...] = ()
    """What came out on the way that lowers trust."""
    actions: tuple[Action, ...] | None = None
    """What an agent was taken to be able to do, where that could be listed: proofs hold for no other."""
    executions: int | None = None
    """How often each case must be executed to tell what was avoidable; None: nothing asks for more than usual."""

    def doomed(self, length: int) -> set[str]:
        """The cases that are claimed to be lost within so many steps, by id."""
        return {case for case, known in self.by_case.items() if known.within(length).survivable is Survivability.NO}

    def tested(self, executions: Executions, length: int) -> SuiteSurvival:
        """What is left of the claims when an agent was watched for ``length`` steps, and what that showed."""
        claimed = {case: known.within(length) for case, known in self.by_case.items()}
        doomed = [case for case, known in claimed.items() if known.survivable is Survivability.NO]
        found = self._other_actions(executions, doomed) or _refuted(claimed, executions, doomed, length)
        if found:
            claimed |= {case: claimed[case].withdrawn(f"withdrawn: {found[0].text}") for case in doomed}
        findings = [*self.findings, *found, *_elsewhere(claimed, executions)]
        return SuiteSurvival(
            by_case=claimed, findings=tuple(dict.fromkeys(findings)), actions=self.actions, executions=self.executions
        )

    def _other_actions(self, executions: Executions, doomed: Sequence[str]) -> list[SafetyFinding]:
        """What was proven for an agent that has these actions only proves nothing about one that plays others."""
        if self.actions is None or not doomed:
            return []
        allowed, others = set(self.actions), dict[Action, str]()
        for case, episodes in executions.items():
            others |= {action: case for each in episodes for action in each.actions if action not in allowed}
        if not others:
            return []
        text = (
            f"the agent plays actions that it was taken not to have ({', '.join(map(str, list(others)[:5]))}), and "
            f"what was proven for the others proves nothing about it; say actions=… with all it can do"
        )
        return [
            SafetyFinding(kind=SafetyFindingKind.OTHER_ACTIONS, text=text, cases=tuple(dict.fromkeys(others.values())))
        ]


def _refuted(
    claimed: Mapping[str, Survival], executions: Executions, doomed: Sequence[str], length: int
) -> list[SafetyFinding]:
    """A proof that somebody survives is no proof."""
    survived = [
        case
        for case in doomed
        if any(_outlived(each, _fuse(claimed[case], length)) for each in executions.get(case, ()))
    ]
    if not survived:
        return []
    text = (
        f"{len(survived)} of {len(doomed)} cases that were proven doomed were survived (first: {survived[0]}). The "
        f"task is less deterministic, or its state key or identity less exact, than proofs take for granted"
    )
    return [SafetyFinding(kind=SafetyFindingKind.REFUTED_PROOF, text=text, cases=tuple(survived))]


def _elsewhere(survival: Mapping[str, Survival], executions: Executions) -> list[SafetyFinding]:
    """How often the agent took over in the very situation of its case, where the prefix was left to chance."""
    met = [
        each.checksum == known.checksum
        for case, known in survival.items()
        for each in executions.get(case, ())
        if known.checksum is not None and each.reached_handover and not each.rollout.fixed_prefix
    ]
    if not met or all(met):
        return []
    text = (
        f"the prefixes were played with fresh randomness: in {sum(met)} of {len(met)} executions the agent took over "
        f"in the situation of its case, in the others somewhere else"
    )
    return [SafetyFinding(kind=SafetyFindingKind.ELSEWHERE, text=text)]


def _fuse(known: Survival, length: int) -> int:
    return length if known.steps is None else known.steps


def _outlived(episode: Episode, fuse: int) -> bool:
    """Whether an episode went on after the step within which harm was proven, or ended well."""
    if not episode.reached_handover:
        return False
    if episode.outcome is Outcome.UNSAFE:
        return len(episode.actions) > fuse
    return episode.outcome.terminal or len(episode.actions) >= fuse
