from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.synthetic import broken_run, full_results, grid_run, several_results, strip_run
from tightrope.errors import FormatError, UsageError
from tightrope.report import (
    AgentInfo,
    CaseResult,
    Results,
    RunResults,
    SuiteResult,
    TaskInfo,
    combine,
    load_results,
    results_from_json,
    results_to_json,
    save_results,
)
from tightrope.statistics import Estimate
from tightrope.trace import ActionTrace

numbers = st.floats(allow_nan=False, allow_infinity=False)
actions = st.recursive(
    st.integers(-9, 9) | numbers, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4
)
estimates = st.builds(Estimate, numbers, numbers, numbers, st.integers(1, 99), st.text(max_size=5)) | st.just(
    Estimate.of_nothing()
)


def test_everything_a_report_shows_survives_the_file(tmp_path: Path) -> None:
    results = several_results()
    save_results(results, tmp_path / "results.json")
    assert load_results(tmp_path / "results.json") == results


def test_a_broken_line_survives_the_file(tmp_path: Path) -> None:
    results = Results(title="broken", runs=(broken_run(),))
    save_results(results, tmp_path / "results.json")
    assert load_results(tmp_path / "results.json") == results


@given(st.lists(actions, max_size=4).map(tuple), estimates, st.text(max_size=8))
def test_any_action_and_estimate_survives(played: tuple[object, ...], estimate: Estimate, name: str) -> None:
    fall = ActionTrace("task", 3, played, ((0, 7),))  # type: ignore[arg-type]
    case = CaseResult(id="c", depth=None, handover=0, failing_trace=fall, witness=fall.actions, fail_frequency=estimate)
    suite = SuiteResult(suite="s", agent=name, fail_frequency=estimate, cases=(case,))
    run = RunResults(name=name, task=TaskInfo(label="task"), agents=(AgentInfo(name=name),), suites=(suite,))
    results = Results(title=name, runs=(run,))
    assert results_from_json(json.loads(json.dumps(results_to_json(results)))) == results


def test_a_newer_version_is_refused() -> None:
    data = results_to_json(full_results()) | {"version": 3}
    with pytest.raises(FormatError, match=r"version 3 .* Update tightrope"):
        results_from_json(data)


def test_a_file_of_the_first_version_is_read() -> None:
    failing = ActionTrace("task", 3, (1, 2))
    case = CaseResult(id="c", depth=None, handover=0, failing_trace=failing)
    suite = SuiteResult(suite="s", agent="a", fail_frequency=Estimate.of_nothing(), cases=(case,))
    run = RunResults(name="r", task=TaskInfo(label="task"), agents=(AgentInfo(name="a"),), suites=(suite,))
    text = json.dumps(results_to_json(Results(title="t", runs=(run,))) | {"version": 1})
    again = results_from_json(json.loads(text.replace('"failing_trace"', '"fall"')))
    assert again.runs[0].suites[0].cases[0].failing_trace == failing


def test_another_file_is_refused() -> None:
    with pytest.raises(FormatError, match="tightrope/results"):
        results_from_json({"format": "tightrope/suite"})


def test_damage_is_named() -> None:
    data = results_to_json(full_results())
    data["runs"][0]["agents"] = "none"
    with pytest.raises(FormatError, match=r"damaged at runs\.0\.agents"):
        results_from_json(data)


def test_text_that_is_not_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("<html>")
    with pytest.raises(FormatError, match="not a JSON file"):
        load_results(tmp_path / "results.json")


def test_combined_reports_have_distinct_run_names() -> None:
    one = Results(title="one", runs=(grid_run("run"), strip_run("run")))
    both = combine([one, Results(title="two", runs=(grid_run("run"),))])
    assert [run.name for run in both.runs] == ["run", "run (2)", "run (3)"]
    assert both.title == "one and two"
    assert both.correlation.value is None


def test_nothing_cannot_be_combined() -> None:
    with pytest.raises(UsageError, match="at least one"):
        combine([])
