from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.synthetic import empty_run, grid_run, several_results
from tightrope.report import Results
from tightrope.report.writers.spreadsheets import write_spreadsheets


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_file_per_kind_of_row(tmp_path: Path) -> None:
    paths = write_spreadsheets(several_results(), tmp_path)
    assert [path.name for path in paths] == [
        "suites.csv", "boundary.csv", "cases.csv", "performance.csv", "generations.csv", "costs.csv",
    ]  # fmt: skip
    assert len(rows_of(tmp_path / "suites.csv")) == 12 + 2 + 1
    assert len(rows_of(tmp_path / "generations.csv")) == 50


def test_an_estimate_is_six_columns_and_nothing_is_empty(tmp_path: Path) -> None:
    write_spreadsheets(Results(title="t", runs=(grid_run(),)), tmp_path)
    rows = rows_of(tmp_path / "boundary.csv")
    assert [row["place"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[0]["fail_frequency_question"] == "on these cases"
    assert rows[-1]["fail_frequency"] == rows[-1]["fail_frequency_low"] == ""
    assert rows[-1]["fail_frequency_n"] == "0"
    assert (
        float(rows[0]["fail_frequency_low"])
        <= float(rows[0]["fail_frequency"])
        <= float(rows[0]["fail_frequency_high"])
    )


def test_nothing_makes_files_that_say_so(tmp_path: Path) -> None:
    write_spreadsheets(Results(title="t", runs=(empty_run(),)), tmp_path)
    assert (tmp_path / "cases.csv").read_text().strip() == "no data"


@pytest.mark.parametrize("name", ["=cmd|'/C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "＝1", '=1","x\n=2'])
def test_a_name_from_a_file_is_no_formula(name: str, tmp_path: Path) -> None:
    run = grid_run()
    result = next(iter(next(iter(run.safety.values())).values()))
    safety = {name: {name: replace(result, agent=name)}}
    write_spreadsheets(Results(title="t", runs=(replace(run, name=name, safety=safety),)), tmp_path)
    for row in rows_of(tmp_path / "cases.csv"):
        assert row["run"] == row["agent"] == row["suite"] == f"'{name}"
    depths = {row["depth"] for row in rows_of(tmp_path / "boundary.csv")}
    assert all(depth.isdigit() for depth in depths), "numbers stay numbers"
