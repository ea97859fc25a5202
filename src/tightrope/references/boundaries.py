"""What was found about the actions at one depth of a reference, as a boundary state."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.reference import BoundaryState, Successor, Survivability
from tightrope.references.probe_blocks import ActionFinding


def boundary_at(key: object, findings: Sequence[ActionFinding], earlier: BoundaryState | None) -> BoundaryState | None:
    """The boundary state at one depth, if it is one: proven, or reported by the search and not refuted."""
    harmful = tuple(finding.action for finding in findings if finding.harmful)
    evidence: dict[str, int] = {"unsafe": sum(finding.harms for finding in findings if finding.harmful)}
    if not harmful:
        if earlier is None:
            return None
        unsettled = {finding.action for finding in findings if finding.survivable is Survivability.UNKNOWN}
        actions = tuple(action for action in earlier.actions if action in unsettled)
        if not actions:
            return None
        evidence = {**earlier.evidence, "budget": len(actions)}
    return BoundaryState(
        depth=findings[0].depth,
        key=key,
        actions=harmful or actions,
        proven=bool(harmful),
        evidence=evidence,
        successors=tuple(_successor(finding) for finding in findings),
        fuse=_longest_fuse(findings),
    )


def _longest_fuse(findings: Sequence[ActionFinding]) -> int | None:
    """Within how many steps harm follows, whichever of the harmful actions is taken; None where one of them is open."""
    fuses = [finding.fuse for finding in findings if finding.harmful]
    known = [fuse for fuse in fuses if fuse is not None]
    return max(known) if known and len(known) == len(fuses) else None


def _successor(finding: ActionFinding) -> Successor:
    witness = finding.witness
    return Successor(
        action=finding.action,
        survivable=finding.survivable,
        witness=None if witness is None else witness.actions,
        ending="" if witness is None else witness.ending,
        loop=0 if witness is None else witness.loop,
        fuse=finding.fuse,
    )
