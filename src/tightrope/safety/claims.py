"""Claims are tested by what the executions show: a proof that somebody survives is no proof.

All proofs of doom in a suite rest on the same grounds: that the task is deterministic, that situations with one name
are one, that the agent has no other actions. One that fails takes the others with it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tightrope.execution import Episode
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.safety.findings import Finding, FindingKind
from tightrope.trace import Action

Executions = Mapping[str, Sequence[Episode]]
"""Episodes by case id."""


def tested_claims(
    survival: Mapping[str, Survival], executions: Executions, length: int
) -> tuple[dict[str, Survival], list[Finding]]:
    """What is still claimed when ``length`` steps are watched, and what was found."""
    claimed = {case: known.within(length) for case, known in survival.items()}
    refuted = [
        case
        for case, known in claimed.items()
        if known.survivable is Survivability.NO
        and any(_outlived(each, length if known.steps is None else known.steps) for each in executions.get(case, ()))
    ]
    if not refuted:
        return claimed, []
    proofs = sum(known.survivable is Survivability.NO for known in claimed.values())
    text = (
        f"{len(refuted)} of {proofs} cases that were proven doomed were survived (first: {refuted[0]}). The task is "
        f"less deterministic, or its state key or identity less exact, than proofs take for granted; none of them "
        f"counts"
    )
    finding = Finding(kind=FindingKind.REFUTED_PROOF, text=text, cases=tuple(refuted))
    return _without_proofs(claimed, "refuted: somebody survived a case proven doomed"), [finding]


def claims_for_actions(
    survival: Mapping[str, Survival], executions: Executions, actions: Collection[Action] | None
) -> tuple[dict[str, Survival], list[Finding]]:
    """What is still claimed of an agent that was said to have these actions only."""
    proofs = any(known.survivable is Survivability.NO for known in survival.values())
    if actions is None or not proofs:
        return dict(survival), []
    allowed = set(actions)
    others = {
        action: case for case, episodes in executions.items() for each in episodes for action in each.actions
        if action not in allowed
    }  # fmt: skip
    if not others:
        return dict(survival), []
    text = (
        f"the agent plays actions that it was said not to have ({', '.join(map(str, list(others)[:5]))}), so what was "
        f"proven for the others proves nothing about it; say actions=… with all it can do"
    )
    finding = Finding(kind=FindingKind.OTHER_ACTIONS, text=text, cases=tuple(dict.fromkeys(others.values())))
    return _without_proofs(survival, "proven for fewer actions than the agent has"), [finding]


def where_it_led(survival: Mapping[str, Survival], executions: Executions) -> list[Finding]:
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
    return [Finding(kind=FindingKind.ELSEWHERE, text=text)]


def _outlived(episode: Episode, fuse: int) -> bool:
    """Whether an episode went on after the step within which harm was proven, or ended well."""
    if not episode.reached_handover:
        return False
    if episode.outcome is Outcome.UNSAFE:
        return len(episode.actions) > fuse
    return episode.outcome.terminal or len(episode.actions) >= fuse


def _without_proofs(survival: Mapping[str, Survival], why: str) -> dict[str, Survival]:
    return {
        case: known.withdrawn(why) if known.survivable is Survivability.NO else known
        for case, known in survival.items()
    }
