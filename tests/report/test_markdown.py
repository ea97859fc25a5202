from __future__ import annotations

from dataclasses import replace

from tests.report.synthetic import empty_run, full_results, grid_run, several_results
from tightrope.report import Results
from tightrope.report.wording import THIN
from tightrope.report.writers.markdown import markdown_summary


def test_verdicts_gates_and_table() -> None:
    text = markdown_summary(full_results()).replace(THIN, " ")
    assert "- **2-moves** failed in 14 % (4.8–25 %) of the tests on these 39 cases." in text
    assert "- ❌ failed: interval(1) fail frequency &lt; 30 %, right-complex (high end 56 %)" in text
    assert "| random(40) (control) |" in text
    assert "`tightrope replay run interval(1)-96--1`" in text


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
