"""``results.json``: the results as one portable file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from tightrope.errors import FormatError, UsageError
from tightrope.files import Migrations, migrated, parse_json, read_content, write_json
from tightrope.files.limits import JSON_FILE
from tightrope.report.results import Results
from tightrope.statistics.estimate import Estimate

FORMAT = "tightrope/results"
_adapter = TypeAdapter(Results)


def _second(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """In version 1 the failing trace of a case had another name."""
    return cast("Mapping[str, Any]", _renamed(data, "fall", "failing_trace"))


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, list):
        return [_renamed(part, old, new) for part in value]
    if isinstance(value, Mapping):
        return {new if key == old else key: _renamed(part, old, new) for key, part in value.items()}
    return value


MIGRATIONS: Migrations = {1: _second}
VERSION = max(MIGRATIONS) + 1


def results_to_json(results: Results) -> dict[str, Any]:
    """The results as JSON values, with the format's name and version."""
    return {"format": FORMAT, "version": VERSION, **finite(_adapter.dump_python(results, mode="json"))}


def finite(value: Any) -> Any:
    """JSON has no infinities: a reward that overflowed is null there, which reads "no data"."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value


def results_from_json(data: Any, source: str = "results") -> Results:
    """The results again; ``source`` names the file in errors."""
    body = {key: _frozen(value) for key, value in migrated(source, data, FORMAT, MIGRATIONS).items()}
    body = {key: value for key, value in body.items() if key not in ("format", "version")}
    try:
        return _adapter.validate_python(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise FormatError(f"{source} is damaged at {where}: {first['msg']}. Write the report again.") from error


def _frozen(value: Any) -> Any:
    """Lists as tuples at every depth: an action may be nested, and must be hashable."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(part) for key, part in value.items()}
    return value


def save_results(results: Results, path: Path) -> None:
    """Write results.json."""
    write_json(path, results_to_json(results))


def load_results(path: Path) -> Results:
    """Read results.json."""
    return results_from_json(parse_json(read_content(path, JSON_FILE), str(path)), str(path))


def combine(reports: Sequence[Results], title: str | None = None, correlation: Estimate | None = None) -> Results:
    """Several reports as one; run names are made unique."""
    if not reports:
        raise UsageError("there is nothing to combine: give at least one report")
    taken: set[str] = set()
    runs = []
    for run in (run for report in reports for run in report.runs):
        name, count = run.name, 2
        while name in taken:
            name, count = f"{run.name} ({count})", count + 1
        taken.add(name)
        runs.append(replace(run, name=name))
    return Results(
        title=title or " and ".join(dict.fromkeys(report.title for report in reports)),
        runs=tuple(runs),
        correlation=correlation or (reports[0].correlation if len(reports) == 1 else Estimate.of_nothing()),
        findings=tuple(finding for report in reports for finding in report.findings),
        tightrope_version=reports[0].tightrope_version,
    )
