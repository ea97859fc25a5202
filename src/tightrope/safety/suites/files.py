"""Suites as portable files: JSON, nothing that could run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tightrope.errors import FormatError
from tightrope.files import (
    DAMAGE,
    Migrations,
    hash_from_text,
    migrated,
    parse_json,
    read_content,
    require_fields,
    write_json,
)
from tightrope.files.limits import JSON_FILE, SUITE_ACTIONS
from tightrope.safety.suites.suite import SuiteReference, TestCase, TestSuite
from tightrope.trace import Action, ActionTrace, content_id
from tightrope.tracefiles import action_from_json, trace_from_json

FORMAT = "tightrope/suite"
PROOF = ("depth", "action", "steps")
"""What a proof of doom says; older files do not say within how many steps, which proves nothing about an episode."""


def _second(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 1 left what is marked as doomed out of the id."""
    suite = _suite(data)
    _require_id(data, content_id(*suite.first_id_parts))
    return {**data, "id": suite.id}


MIGRATIONS: Migrations = {1: _second}
VERSION = max(MIGRATIONS) + 1


def save_suite(suite: TestSuite, path: str | Path) -> Path:
    """Write the suite to one file; the old one stays until the new one is whole.

    Args:
        suite: What to write.
        path: Where to write it; ``NAME.suite.json`` by convention.
    """
    path = Path(path)
    write_json(path, suite_to_json(suite))
    return path


def load_suite(path: str | Path) -> TestSuite:
    """Read a suite that ``save_suite`` wrote, here or elsewhere.

    Args:
        path: The file; nothing in it can run.
    """
    content = read_content(Path(path), JSON_FILE)
    try:
        return suite_from_json(parse_json(content, "the suite"))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def suite_to_json(suite: TestSuite) -> dict[str, Any]:
    """Plain values; prefixes are stored once, as their reference."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": suite.id,
        "kind": suite.kind,
        "parameters": dict(suite.parameters),
        "task": suite.task,
        "seed": suite.reference.seed,
        "reference": list(suite.reference.actions),
        "reseeds": [list(pair) for pair in suite.reference.reseeds],
        # Hexadecimal, because readers other than Python round integers above 2⁵³.
        "checksums": [f"{checksum:x}" for checksum in suite.checksums],
        "depths": list(suite.depths),
        "doomed": [list(proof) for proof in suite.doomed],
        "cases": [_case_to_json(case) for case in suite.cases],
        **({"others": [_way_to_json(way) for way in suite.others]} if suite.others else {}),
        **({"by_failing": True} if suite.by_failing else {}),
        **({"left_out_states": suite.left_out_states} if suite.left_out_states else {}),
    }


def suite_from_json(data: Any) -> TestSuite:
    """The suite that ``suite_to_json`` described; raises FormatError for anything else."""
    try:
        data = migrated("the suite", data, FORMAT, MIGRATIONS)
        suite = _suite(data)
        require_fields(suite, believed=(TestCase,))
    except DAMAGE as error:
        raise FormatError(f"the suite is damaged ({type(error).__name__}: {error}); write it again") from error
    _require_id(data, suite.id)
    return suite


def _require_id(data: Mapping[str, Any], identifier: str) -> None:
    if identifier != data.get("id"):
        raise FormatError(f"the suite is damaged: its content has the id {identifier}, but it says {data.get('id')}")


def _suite(data: Mapping[str, Any]) -> TestSuite:
    reference = _trace(data["task"], data)
    others = tuple(_way(data["task"], way) for way in data.get("others", ()))
    references = [reference, *(way.actions for way in others)]
    _require_proportion(data, references)
    parameters = dict(data["parameters"])
    if "actions" in parameters:
        parameters["actions"] = tuple(action_from_json(action) for action in parameters["actions"])
    return TestSuite(
        kind=data["kind"],
        parameters=parameters,
        reference=reference,
        checksums=tuple(hash_from_text(checksum) for checksum in data["checksums"]),
        depths=tuple(map(int, data["depths"])),
        doomed=tuple(_proof(*proof) for proof in data["doomed"] if len(proof) == len(PROOF)),
        cases=tuple(_case(references, data["depths"], *case) for case in data["cases"]),
        others=others,
        by_failing=data.get("by_failing", False) is True,
        left_out_states=int(data.get("left_out_states", 0)),
    )


def _way_to_json(way: SuiteReference) -> dict[str, Any]:
    return {
        "seed": way.actions.seed,
        "reference": list(way.actions.actions),
        "reseeds": [list(pair) for pair in way.actions.reseeds],
        "checksums": [f"{checksum:x}" for checksum in way.checksums],
        # Left out where there are none, so that older readers know the rest.
        **({"doomed": [list(proof) for proof in way.doomed]} if way.doomed else {}),
        **({"by_failing": True} if way.by_failing else {}),
    }


def _way(task: str, data: Mapping[str, Any]) -> SuiteReference:
    return SuiteReference(
        actions=_trace(task, data),
        checksums=tuple(hash_from_text(checksum) for checksum in data["checksums"]),
        doomed=tuple(_proof(*proof) for proof in data.get("doomed", ())),
        by_failing=data.get("by_failing", False) is True,
    )


def _trace(task: str, data: Mapping[str, Any]) -> ActionTrace:
    return trace_from_json(
        {"task": task, "seed": data["seed"], "actions": data["reference"], "reseeds": data["reseeds"]}
    )


def _proof(depth: int, action: Any, fuse: int) -> tuple[int, Action, int]:
    return int(depth), action_from_json(action), int(fuse)


def _require_proportion(data: Mapping[str, Any], references: list[ActionTrace]) -> None:
    """A case of a dozen characters stands for a prefix of any length; together they must not fill the memory."""
    reseeds = max(len(reference.reseeds) for reference in references)
    actions = sum(int(kept) + len(added) + reseeds for _, kept, added, *_ in data["cases"])
    if actions > SUITE_ACTIONS:
        raise ValueError(f"its cases have {actions:,} actions together; at most {SUITE_ACTIONS:,} are read")


def _case_to_json(case: TestCase) -> list[Any]:
    """The number of the reference is written where there is more than one, so that older readers know the rest."""
    return [case.boundary, case.kept, list(case.added), *([case.reference] if case.reference else [])]


def _case(
    references: list[ActionTrace], depths: list[int], boundary: int, kept: int, added: list[Any], number: int = 0
) -> TestCase:
    boundary, kept = int(boundary), int(kept)
    # Python would count from the end.
    if boundary < 0 or number < 0:
        raise ValueError(f"a case at the boundary state {boundary} of reference {number}, which cannot be")
    prefix = references[number].prefix(kept).then(action_from_json(action) for action in added)
    depth = int(depths[boundary]) if depths else None
    return TestCase(prefix=prefix, boundary=boundary, depth=depth, kept=kept, reference=int(number))
