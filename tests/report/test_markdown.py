from __future__ import annotations

from dataclasses import replace

from tests.report.synthetic import empty_run, full_results, grid_run, several_results
from tightrope.report import Results
from tightrope.report.verdict import verdicts
from tightrope.report.wording import THIN
from tightrope.report.writers.markdown import markdown_summary


def test_verdicts_gates_and_table() -> None:
    text = markdown_summary(full_results())
    assert text.splitlines()[2].startswith("**Failed**: right-complex fails in 42")
    assert f"- **2-moves** {verdicts(full_results().runs[0])[0].sentence}." in text
    assert "- ❌ failed: interval:1 fail frequency, right-complex (56 % is above the allowed 30 %)" in text
    assert "| random (control) |" in text
    worst = max(full_results().runs[0].safety["interval:1"]["2-moves"].failing_cases, key=lambda case: case.fails)
    told = [line for line in text.splitlines() if worst.case.id in line]
    assert told[0].startswith(f"- place #{worst.case.boundary + 1}, failed in {worst.fails} of 10 executions, ")
    assert THIN in text


def test_percents_of_gates_read_as_everywhere_in_the_file() -> None:
    """Sentences that are made for the terminal have no space before the sign."""
    run = full_results().runs[0]
    gates = tuple(replace(gate, detail="in all it fails in 75% (66–82%)") for gate in run.gates)
    text = markdown_summary(Results(title="t", runs=(replace(run, gates=gates),)))
    assert f"in all it fails in 75{THIN}% (66–82{THIN}%)" in text


def test_several_runs_have_headings() -> None:
    text = markdown_summary(several_results())
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## 1-1 dense", "## FrozenLake", "## CartPole", "## nothing",
    ]  # fmt: skip


def test_an_unfinished_run_says_so() -> None:
    text = markdown_summary(Results(title="t", runs=(empty_run(),)))
    assert "not finished (interrupted during safety)" in text
    assert "no data" in text


def test_names_do_not_become_markup() -> None:
    run = replace(grid_run(), agents=(replace(grid_run().agents[0], name="a|b*<c>"),))
    text = markdown_summary(Results(title="# x\n# y", runs=(run,)))
    assert "a\\|b\\*&lt;c>" in text
    assert "\n# y" not in text
