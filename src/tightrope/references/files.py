"""A reference as a portable file.

State keys can be any hashables, so a file holds their hashes, which is what a replay is compared with, and for boundary
states what the key looked like.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tightrope.errors import FormatError
from tightrope.files import DAMAGE, hash_from_text, plain_number, read_json_file, require_fields, write_json
from tightrope.outcome import Outcome, StopReason
from tightrope.reference import BoundaryState, Probing, Reference, Successor, Survivability
from tightrope.seeding import StoredKey, stable_hash
from tightrope.trace import Step, Trace
from tightrope.tracefiles import action_from_json, trace_from_json, trace_to_json

FORMAT, VERSION = "tightrope/reference", 1

LONGEST_KEY_TEXT = 200
"""Characters of a key's repr that are kept; keys made of whole pictures are not worth more."""


def save_reference(reference: Reference, path: str | PathLike[str]) -> None:
    """Write a reference to a JSON file.

    Args:
        reference: What to write.
        path: Where to write it.
    """
    write_json(Path(path), reference_to_json(reference))


def load_reference(path: str | PathLike[str]) -> Reference:
    """Read a reference written by `save_reference`; its keys are `StoredKey`s.

    Args:
        path: The file; nothing in it can run.
    """
    path = Path(path)
    content = read_json_file(path, kind=FORMAT, version=VERSION)
    try:
        reference = reference_from_json(content)
        require_fields(reference)
    except DAMAGE as error:
        raise FormatError(f"{path.name} is damaged: a field is missing or damaged ({error!r})") from error
    return reference


def reference_to_json(reference: Reference) -> dict[str, Any]:
    """A reference as plain values."""
    steps = reference.trace.steps
    return {
        "format": FORMAT,
        "version": VERSION,
        "method": reference.method,
        "agent": reference.agent,
        "by_failing": reference.by_failing,
        **({"near_miss": True} if reference.near_miss else {}),
        "trace": trace_to_json(reference.actions),
        "rewards": [plain_number(step.reward) for step in steps],
        "outcome": str(reference.trace.outcome),
        "keys": [f"{checksum:016x}" for checksum in reference.checksums],
        "search_actions": list(reference.search_actions),
        "boundary_states": [_boundary_to_json(state) for state in reference.boundary_states],
        "probing": None if reference.probing is None else _probing_to_json(reference.probing),
        "findings": list(reference.findings),
    }


def reference_from_json(content: Mapping[str, Any]) -> Reference:
    """A reference from plain values."""
    actions = trace_from_json(content["trace"])
    keys = [StoredKey(hash_from_text(text), f"#{text}") for text in content["keys"]]
    outcomes = [Outcome.ONGOING] * (len(actions) - 1) + [Outcome(content["outcome"])]
    rows = zip(actions.actions, content["rewards"], keys[1:], outcomes, strict=True)
    probing = content.get("probing")
    agent, by_failing = _whose(content)
    return Reference(
        trace=Trace(keys[0], tuple(Step(action, float(reward), key, outcome) for action, reward, key, outcome in rows)),
        actions=actions,
        boundary_states=tuple(_boundary_from_json(state, len(actions)) for state in content["boundary_states"]),
        method=str(content["method"]),
        agent=agent,
        by_failing=by_failing,
        near_miss=content.get("near_miss", False) is True,
        search_actions=tuple(action_from_json(action) for action in content["search_actions"]),
        probing=None if probing is None else _probing_from_json(probing),
        findings=tuple(map(str, content.get("findings", ()))),
    )


def _whose(content: Mapping[str, Any]) -> tuple[str | None, bool]:
    """Whose run it is, and whether it is here because that agent failed; before, ``method`` alone said it in words."""
    if "by_failing" in content:
        return content["agent"], content["by_failing"]
    for began, by_failing in (("failure of ", True), ("run of ", False)):
        if str(content["method"]).startswith(began):
            told = str(content["method"]).removeprefix(began)
            return re.split(r" after |, which | with \d+% random actions", told, maxsplit=1)[0], by_failing
    return None, False


def _boundary_to_json(state: BoundaryState) -> dict[str, Any]:
    text = state.key.text if isinstance(state.key, StoredKey) else repr(state.key)[:LONGEST_KEY_TEXT]
    return {
        "depth": state.depth,
        "key": {"hash": f"{stable_hash(state.key):016x}", "text": text},
        "actions": list(state.actions),
        "proven": state.proven,
        "evidence": dict(state.evidence),
        "successors": [_successor_to_json(successor) for successor in state.successors],
        "fuse": state.fuse,
    }


def _boundary_from_json(content: Mapping[str, Any], length: int) -> BoundaryState:
    depth = int(content["depth"])
    if not 0 <= depth <= length:
        raise ValueError(f"a boundary state after {depth} of {length} actions")
    return BoundaryState(
        depth=depth,
        key=StoredKey(hash_from_text(content["key"]["hash"]), str(content["key"]["text"])),
        actions=tuple(action_from_json(action) for action in content["actions"]),
        proven=bool(content["proven"]),
        evidence={str(ending): int(count) for ending, count in content["evidence"].items()},
        successors=tuple(_successor_from_json(successor) for successor in content["successors"]),
        fuse=_optional_int(content.get("fuse")),
    )


def _successor_to_json(successor: Successor) -> dict[str, Any]:
    content: dict[str, Any] = {"action": successor.action, "survivable": str(successor.survivable)}
    if successor.witness is not None:
        content |= {"witness": list(successor.witness), "ending": successor.ending, "loop": successor.loop}
    if successor.fuse is not None:
        content["fuse"] = successor.fuse
    return content


def _optional_int(value: Any) -> int | None:
    return None if value is None else int(value)


def _successor_from_json(content: Mapping[str, Any]) -> Successor:
    witness = content.get("witness")
    return Successor(
        action=action_from_json(content["action"]),
        survivable=Survivability(content["survivable"]),
        witness=None if witness is None else tuple(action_from_json(action) for action in witness),
        ending=str(content.get("ending", "")),
        loop=int(content.get("loop", 0)),
        fuse=_optional_int(content.get("fuse")),
    )


def _probing_to_json(probing: Probing) -> dict[str, Any]:
    return {
        "successors": probing.successors,
        "doomed": probing.doomed,
        "survivable": probing.survivable,
        "unknown": probing.unknown,
        "steps": probing.steps,
        "seconds": probing.seconds,
        "stop_reason": str(probing.stop_reason),
    }


def _probing_from_json(content: Mapping[str, Any]) -> Probing:
    counts = {name: int(content[name]) for name in ("successors", "doomed", "survivable", "unknown", "steps")}
    return Probing(**counts, seconds=content["seconds"], stop_reason=StopReason(content["stop_reason"]))
