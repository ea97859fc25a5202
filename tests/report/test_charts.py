from __future__ import annotations

from tests.report.synthetic import control, empty_run, fuzzing, grid_run, mario_like_run
from tightrope.report.charts.chart import Chart
from tightrope.report.charts.fuzz_charts import fuzz_charts
from tightrope.report.charts.performance_charts import robust_performance
from tightrope.report.charts.safety_charts import (
    overview_table,
    safety_against_reward,
    safety_by_boundary,
    safety_by_suite,
)


def all_charts() -> list[Chart]:
    run = mario_like_run()
    return [
        safety_by_suite(run),
        safety_by_boundary(run),
        safety_against_reward((run,)),
        *robust_performance(run),
        *fuzz_charts(run.fuzzing),
    ]


def test_no_measured_point_without_n_and_interval() -> None:
    for chart in all_charts():
        for series in (series for view in chart.views for series in view["series"]):
            for point in series["points"]:
                assert point["v"] is not None
                if not series.get("hollow"):
                    assert point["n"] is not None
                    assert "lo" in point or chart.id in ("fitness", "coverage", "returns")


def test_every_chart_has_a_table() -> None:
    for chart in all_charts():
        assert chart.table.rows
        assert all(len(row) == len(chart.table.header) for row in chart.table.rows)


def test_what_was_not_measured_is_not_drawn_but_told() -> None:
    chart = safety_by_boundary(grid_run())
    drawn = [point["x"] for point in chart.views[0]["series"][0]["points"]]
    assert drawn == [1, 2, 3, 4]
    assert chart.table.rows[-1][3] == "no data"


def test_published_values_stand_beside_ours() -> None:
    run = mario_like_run()
    names = {series["name"] for series in safety_by_suite(run).views[0]["series"]}
    assert {"basic", "basic, paper"} <= names
    assert "simple (paper)" in [view["label"] for view in safety_by_boundary(run).views]
    robust = [series["name"] for series in robust_performance(run)[0].views[0]["series"]]
    assert robust == ["fuzz traces", "2-moves", "2-moves, paper", "fuzz traces, paper"]
    assert "2-moves, paper" in [series["name"] for series in safety_against_reward((run,)).views[0]["series"]]


def test_controls_are_marked_and_not_correlated() -> None:
    run = mario_like_run()
    assert safety_by_suite(run).views[0]["rows"][-1] == "random(40) · control"
    words = [point["t"] for series in safety_against_reward((run,)).views[0]["series"] for point in series["points"]]
    assert not any("random" in word for word in words)


def test_measures_nobody_took_have_no_view() -> None:
    chart = robust_performance(mario_like_run())[0]
    assert [view["label"] for view in chart.views] == [
        "mean return",
        "interquartile mean",
        "goals reached",
        "difference",
    ]


def test_fuzzing_stands_beside_its_control() -> None:
    coverage = next(chart for chart in fuzz_charts(fuzzing()) if chart.id == "coverage")
    assert [series["name"] for series in coverage.views[0]["series"]] == ["fuzzing", "random traces (control)"]


def test_empty_runs_make_empty_charts() -> None:
    run = empty_run()
    assert safety_by_suite(run).empty
    assert safety_by_boundary(run).empty
    assert robust_performance(run) == fuzz_charts(run.fuzzing) == ()


def test_the_overview_has_a_row_for_each_agent_of_each_run() -> None:
    table = overview_table((mario_like_run(), grid_run(), empty_run()))
    assert [row[:2] for row in table.rows][-2:] == [("FrozenLake", "ppo"), ("nothing", "random")]
    assert set(table.rows[-1][2:]) == {"no data"}


def test_a_control_has_no_boundary_states() -> None:
    assert control("basic").boundary == ()
