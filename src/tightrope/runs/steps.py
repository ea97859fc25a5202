"""The files of the steps: what a step found, what it was made with and what it cost."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tightrope.files import read_json_file
from tightrope.runs.folder import RunFolder, write_json
from tightrope.runs.store import RememberingEngine

STEP_FORMAT = "tightrope/step"
STEP_VERSION = 1


def once(
    folder: RunFolder,
    name: str,
    settings: str,
    work: Callable[[], Mapping[str, Any]],
    engine: RememberingEngine | None = None,
    made_with: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """The content of a step's file, made now if it is not there, was made with other settings or had errors.

    ``made_with`` names plainly what the settings' hash hides: whoever reads the file later must be able to tell
    whose result it is.
    """
    path = folder.path / name
    if path.exists():
        known = read_json_file(path, kind=STEP_FORMAT, version=STEP_VERSION)
        if known["settings"] == settings and _agrees(known, made_with) and not _raised(known["content"]):
            return dict(known["content"])
    started = time.monotonic()
    before = {} if engine is None else engine.counters.as_dict()
    content = dict(work())
    step = {
        "format": STEP_FORMAT,
        "version": STEP_VERSION,
        "settings": settings,
        "made_with": {what: value for what, value in (made_with or {}).items() if value is not None},
        "seconds": round(time.monotonic() - started, 3),
        "counters": {} if engine is None else _spent_since(before, engine.counters.as_dict()),
        "content": content,
    }
    write_json(path, step)
    # JSON turns tuples into lists; what is returned now must be what a resumed run will read.
    return dict(json.loads(json.dumps(content)))


def step_files(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """The files of the steps that are finished, by their path in the folder."""
    return {
        path.relative_to(folder.path).as_posix(): read_json_file(path, kind=STEP_FORMAT, version=STEP_VERSION)
        for path in sorted(folder.path.glob("[1-4]-*/**/*.json"))
        if not path.name.endswith(".suite.json") and path.name != "reference.json"
    }


def file_name(name: str) -> str:
    """A name as part of a path: letters, digits, dots and dashes."""
    return "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name)


def costs(steps: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the finished steps took, and all of them together."""
    totals: Counter[str] = Counter()
    for step in steps.values():
        totals.update(step["counters"])
    return {
        "durations": {name: step["seconds"] for name, step in steps.items()},
        "counters": {name: round(total, 3) for name, total in totals.items()},
    }


def _spent_since(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The counters that grew, by how much; a mean is not a count."""
    return {name: after[name] - before[name] for name in before if name != "mean_batch"}


def _agrees(known: Mapping[str, Any], made_with: Mapping[str, str | None] | None) -> bool:
    told = known.get("made_with", {})
    return all(value is None or told.get(what, value) == value for what, value in (made_with or {}).items())


def _raised(content: Mapping[str, Any]) -> bool:
    """Whether executions behind a result raised. An error is no result: the next run tries those executions again."""
    judged = any("error" in case["verdicts"] for case in content.get("cases", {}).values())
    return judged or any(test["errors"] for point in content.get("points", ()) for test in point["tests"])
