"""The results as CSV, one file per kind of row. An estimate is six columns; nothing measured is empty, never 0."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tightrope.report.charts.fuzz_charts import generation_rows
from tightrope.report.films.filming import film_name
from tightrope.report.measures import MEASURES, STATE_MEASURES
from tightrope.report.results import Results, RunResults
from tightrope.report.writers.resultfile import POINT_MEASURES, case_values
from tightrope.statistics.estimate import Estimate

TableRow = dict[str, Any]
NO_COLUMNS = ("witness", "failing_trace")
"""Of a case: lists of actions, which results.json has."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a text begins that a spreadsheet program takes for a formula, which may call others (OWASP, CSV injection)."""


def write_spreadsheets(results: Results, folder: Path, films: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Write suites.csv, boundary.csv, cases.csv, performance.csv, generations.csv and costs.csv."""
    sheets: dict[str, list[TableRow]] = {
        name: [{"run": run.name, **row} for run in results.runs for row in rows(run)] for name, rows in SHEETS.items()
    }
    for row in sheets["cases"]:
        row["video"] = (films or {}).get(row["video"])
    written = []
    for name, rows in sheets.items():
        path = folder / f"{name}.csv"
        _write(path, rows)
        written.append(path)
    return tuple(written)


def _write(path: Path, rows: list[TableRow]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else ["no data"])
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Texts are texts, also those that come from files of others: a quote before them makes sure."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _estimates(estimates: Mapping[str, Estimate]) -> TableRow:
    """Value, limits, n, method and the question it answers."""
    row: TableRow = {}
    for name, estimate in estimates.items():
        parts = estimate.to_json()
        row[name] = parts.pop("value")
        row.update({f"{name}_{part}": value for part, value in parts.items()})
    return row


def _suites(run: RunResults) -> Iterable[TableRow]:
    for suite in run.suites:
        yield {
            "suite": suite.name,
            "agent": suite.agent,
            "control": suite.control,
            **_estimates({measure.name: measure.of(suite.result) for measure in MEASURES}),
            "invalid": suite.result.invalid_cases,
            "doomed": suite.doomed,
            "repetitions": suite.repetitions,
            "length": suite.result.length,
            "cases": len(suite.cases),
        }


def _places(run: RunResults) -> Iterable[TableRow]:
    for suite in run.suites:
        for state in suite.states:
            own = [case for case in suite.cases if case.place == state.number + 1]
            yield {
                "suite": suite.name,
                "agent": suite.agent,
                "place": state.number + 1,
                "depth": state.depth,
                **_estimates({measure.name: measure.of(state) for measure in STATE_MEASURES}),
                "cases": len(own),
                "invalid": sum(case.result.invalid for case in own),
                "doomed": sum(case.doomed for case in own),
            }


def _cases(run: RunResults) -> Iterable[TableRow]:
    for suite in run.suites:
        for case in suite.cases:
            result, row = case.result, case_values(case)
            plain = {name: value for name, value in row.items() if name not in NO_COLUMNS}
            measured = {"fail_frequency": result.fail_frequency, "mean_return": result.mean_return}
            head = {"suite": suite.name, "agent": suite.agent}
            yield head | plain | _estimates(measured) | {"video": film_name(case)}


def _performance(run: RunResults) -> Iterable[TableRow]:
    for agent, result in run.performance.items():
        for point in result.points:
            estimates = {name: getattr(point, name) for name in POINT_MEASURES}
            yield {"agent_name": agent, "prefix_length": point.prefix_length, **_estimates(estimates)}


def _generations(run: RunResults) -> Iterable[TableRow]:
    return () if run.fuzzing is None else generation_rows(run.fuzzing)


def _costs(run: RunResults) -> Iterable[TableRow]:
    return (asdict(cost) for cost in run.costs)


SHEETS = {
    "suites": _suites,
    "boundary": _places,
    "cases": _cases,
    "performance": _performance,
    "generations": _generations,
    "costs": _costs,
}
"""File name → the rows of a run."""
