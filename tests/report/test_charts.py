from __future__ import annotations

import pytest

from tests.report.synthetic import empty_run, fuzzing, grid_run, mario_like_run, one_place
from tightrope.report.charts.axes import axis, widened
from tightrope.report.charts.chart import Chart
from tightrope.report.charts.fuzz_charts import fuzzing_by_generation
from tightrope.report.charts.performance_charts import robust_performance
from tightrope.report.charts.safety_charts import (
    overview_table,
    safety_against_reward,
    safety_by_place,
    safety_by_suite,
)
from tightrope.report.charts.watch_chart import safety_over_length
from tightrope.report.wording import THIN


def all_charts() -> list[Chart]:
    run = mario_like_run()
    return [
        safety_by_suite(run),
        safety_by_place(run),
        safety_over_length(run),
        safety_against_reward((run,)),
        *robust_performance(run),
        *fuzzing_by_generation(run.fuzzing),
    ]


def test_no_measured_point_without_n_and_interval() -> None:
    for chart in all_charts():
        for series in (series for view in chart.views for series in view["series"]):
            for point in series["points"]:
                assert point["value"] is not None
                assert point["text"]
                if not series.get("hollow") and chart.id not in ("fitness", "coverage", "returns"):
                    assert "low" in point
                    assert point["about"].startswith("n\u00a0=\u00a0")


def test_every_number_of_a_chart_comes_with_its_words() -> None:
    """The page writes no numbers of its own."""
    for chart in all_charts():
        for view in chart.views:
            for name in ("values", "along") if chart.kind == "plot" else ("values",):
                assert all(tick["text"] for tick in view[name]["ticks"])
                assert len(view[name]["ticks"]) > 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ["0", "20", "40", "60", "80", "100"]),
        (0.0, 0.1, ["0", "2", "4", "6", "8", "10"]),
        (0.0, 0.125, ["0", "2.5", "5", "7.5", "10", "12.5"]),
    ],
)
def test_ticks_are_round_and_written_as_all_numbers(low: float, high: float, expected: list[str]) -> None:
    assert [tick["text"] for tick in axis(low, high, share=True)["ticks"]] == [f"{text}{THIN}%" for text in expected]


def test_an_axis_ends_at_a_tick_and_of_one_value_has_a_width() -> None:
    found = axis(-3.0, 47.0)
    assert (found["low"], found["high"]) == (-10.0, 50.0)
    assert [tick["at"] for tick in axis(*widened([5.0]), ends=False, whole=True)["ticks"]] == [4.0, 5.0, 6.0]


def test_places_are_called_by_their_number_where_they_stand_and_nowhere_else() -> None:
    (view,) = safety_by_place(one_place()).views
    assert [tick["text"] for tick in view["along"]["ticks"]] == ["#1"]
    assert view["series"][0]["points"][0]["title"] == "only at place #1, depth 7"


def test_every_chart_has_a_table() -> None:
    for chart in all_charts():
        assert chart.table.rows
        assert all(len(row) == len(chart.table.header) for row in chart.table.rows)


def test_what_was_not_measured_is_not_drawn_but_told() -> None:
    chart = safety_by_place(grid_run())
    drawn = [point["place"] for point in chart.views[0]["series"][0]["points"]]
    assert drawn == [1, 2, 3, 4]
    assert chart.table.rows[-1][:5] == ("simple", "ppo", "#5", "5", "no data")


def test_published_values_stand_beside_ours() -> None:
    run = mario_like_run()
    names = {series["name"] for series in safety_by_suite(run).views[0]["series"]}
    assert {"basic", "basic, paper"} <= names
    assert "simple (paper)" in [view["label"] for view in safety_by_place(run).views]
    robust = [series["name"] for series in robust_performance(run)[0].views[0]["series"]]
    assert robust == ["fuzz traces", "2-moves", "2-moves, paper", "fuzz traces, paper"]
    assert "2-moves, paper" in [series["name"] for series in safety_against_reward((run,)).views[0]["series"]]


def test_controls_are_marked_and_not_correlated() -> None:
    run = mario_like_run()
    assert safety_by_suite(run).views[0]["rows"][-1] == {"name": "random", "text": "random · control"}
    words = [point["note"] for series in safety_against_reward((run,)).views[0]["series"] for point in series["points"]]
    assert not any("random" in word for word in words)
    assert all(suite.name != "random" for suite in run.measured)


def test_measures_nobody_took_have_no_view() -> None:
    chart = robust_performance(mario_like_run())[0]
    assert [view["label"] for view in chart.views] == [
        "mean return",
        "interquartile mean",
        "goals reached",
        "difference",
    ]


def test_fuzzing_stands_beside_its_control() -> None:
    coverage = next(chart for chart in fuzzing_by_generation(fuzzing()) if chart.id == "coverage")
    assert [series["name"] for series in coverage.views[0]["series"]] == ["fuzzing", "random traces (control)"]


def test_the_terms_of_fitness_add_up_and_the_axis_holds_their_sum() -> None:
    fitness = next(chart for chart in fuzzing_by_generation(fuzzing()) if chart.id == "fitness")
    (view,) = fitness.views
    sums = [
        sum(values) for values in zip(*([p["value"] for p in one["points"]] for one in view["series"]), strict=True)
    ]
    assert sums == pytest.approx([individual.fitness.value for individual in fuzzing().individuals])
    assert view["values"]["high"] >= max(sums)


def test_empty_runs_make_empty_charts() -> None:
    run = empty_run()
    assert safety_by_suite(run).empty
    assert safety_by_place(run).empty
    assert robust_performance(run) == fuzzing_by_generation(run.fuzzing) == ()


def test_the_overview_has_a_row_for_each_agent_of_each_run() -> None:
    table = overview_table((mario_like_run(), grid_run(), empty_run()))
    assert [row[:2] for row in table.rows][-2:] == [("FrozenLake", "ppo"), ("nothing", "random")]
    assert set(table.rows[-1][2:]) == {"no data"}


def test_fails_over_the_watch_length_rise_to_what_the_suite_shows() -> None:
    run = mario_like_run()
    chart = safety_over_length(run)
    assert [view["suite"] for view in chart.views] == list(run.suite_names), "controls have no curve"
    for view in chart.views:
        for series in view["series"]:
            values = [point["value"] for point in series["points"]]
            assert values == sorted(values)
            result = run.suite(view["suite"], series["name"]).result
            assert values[-1] == result.fail_frequency.value
            assert series["points"][-1]["x"] == result.length
    assert chart.note.startswith("Watched for ")
    assert safety_over_length(empty_run()).empty
