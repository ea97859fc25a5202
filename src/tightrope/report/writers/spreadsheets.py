"""The results as CSV, one file per kind of row. An estimate is six columns; nothing measured is empty, never 0."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from tightrope.report.results import CaseResult, GenerationSummary, PerformancePoint, Results, StepCost
from tightrope.statistics.estimate import Estimate

Row = dict[str, Any]
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a text begins that a spreadsheet program takes for a formula, which may call others (OWASP, CSV injection)."""


def write_spreadsheets(results: Results, folder: Path) -> tuple[Path, ...]:
    """Write suites.csv, boundary.csv, cases.csv, performance.csv, generations.csv and costs.csv."""
    sheets: Mapping[str, Iterable[Row]] = {
        "suites": _suites(results),
        "boundary": _boundary(results),
        "cases": _cases(results),
        "performance": _performance(results),
        "generations": _generations(results),
        "costs": _costs(results),
    }
    written = []
    for name, rows in sheets.items():
        path = folder / f"{name}.csv"
        _write(path, list(rows))
        written.append(path)
    return tuple(written)


def _write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else ["no data"])
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Texts are texts, also those that come from files of others: a quote before them makes sure."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _estimate(name: str, estimate: Estimate) -> Row:
    return {
        name: estimate.value,
        f"{name}_low": estimate.low,
        f"{name}_high": estimate.high,
        f"{name}_n": estimate.n,
        f"{name}_method": estimate.method,
        f"{name}_question": estimate.question,
    }


def _flat(value: Any, names: Iterable[str]) -> Row:
    row: Row = {}
    for name in names:
        part = getattr(value, name)
        row.update(_estimate(name, part) if isinstance(part, Estimate) else {name: part})
    return row


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


MEASURES = ("fail_frequency", "survivable_fail_frequency", "mean_return")
CASE_FIELDS = tuple(name for name in _names(CaseResult) if name not in ("witness", "failing_trace"))


def _suites(results: Results) -> Iterable[Row]:
    for run in results.runs:
        for suite in run.suites:
            names = (
                *("suite", "agent", "control", *MEASURES, "fail_frequency_in_general", "fails_per_1000_steps"),
                *("invalid", "doomed", "repetitions"),
            )
            yield {"run": run.name, **_flat(suite, names), "length": suite.length, "cases": len(suite.cases)}


def _boundary(results: Results) -> Iterable[Row]:
    for run in results.runs:
        for suite in run.suites:
            for state in suite.boundary:
                head = {"run": run.name, "suite": suite.suite, "agent": suite.agent}
                yield head | _flat(state, ("depth", *MEASURES, "cases", "invalid", "doomed"))


def _cases(results: Results) -> Iterable[Row]:
    for run in results.runs:
        for suite in run.suites:
            for case in suite.cases:
                yield {"run": run.name, "suite": suite.suite, "agent": suite.agent} | _flat(case, CASE_FIELDS)


def _performance(results: Results) -> Iterable[Row]:
    for run in results.runs:
        for summary in run.performance:
            for point in summary.points:
                yield {"run": run.name, "agent_name": summary.agent} | _flat(point, _names(PerformancePoint))


def _generations(results: Results) -> Iterable[Row]:
    for run in results.runs:
        for generation in run.fuzzing.generations if run.fuzzing else ():
            yield {"run": run.name} | _flat(generation, _names(GenerationSummary))


def _costs(results: Results) -> Iterable[Row]:
    for run in results.runs:
        for cost in run.costs:
            yield {"run": run.name} | _flat(cost, _names(StepCost))
