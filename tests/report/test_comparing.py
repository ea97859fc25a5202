"""Agents beside each other: pairs, rankings, and rows of checkpoints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.synthetic import grid_run, judged_by, lake_task, made_reference, mario_like_run, sixteen_agents
from tightrope.outcome import Outcome
from tightrope.report import AgentInfo, Results, RunResults, results_to_json
from tightrope.report.charts import section_charts
from tightrope.report.charts.comparison_charts import KINDS, agents_by_situation, agents_compared, most_telling
from tightrope.report.charts.training_charts import training_charts
from tightrope.report.comparing import agents_in_order, compared, compared_text, kind_changes, place_changes, ranking
from tightrope.report.shared_cases import on_shared_cases
from tightrope.report.training import are_checkpoints, through_training
from tightrope.report.wording import change_text, percent
from tightrope.report.writers.page import render_page
from tightrope.safety import TestCase, simple_suite
from tightrope.statistics import Estimate

OLD = {1: 0, 2: 10, 3: 5, 4: 5, 5: 0}
NEW = {1: 0, 2: 0, 3: 10, 4: 5, 5: 4}


def failing(fails: dict[int, int]):
    def judge(case: TestCase, number: int) -> Outcome:
        return Outcome.UNSAFE if number < fails[case.depth or 0] else Outcome.ONGOING

    return judge


def two_agents(**agents: dict[int, int]) -> RunResults:
    """Five places; how many of ten executions fail at each is given."""
    run = grid_run()
    suite = simple_suite(run.search.reference)
    results = {name: judged_by(suite, name, failing(fails), {}) for name, fails in agents.items()}
    infos = tuple(AgentInfo(name=name) for name in agents)
    return replace(run, agents=infos, safety={"simple": results}, controls=())


def test_what_newly_fails_stands_first_and_the_rest_is_sorted_by_change() -> None:
    run = two_agents(old=OLD, new=NEW)
    changes = place_changes(run, "simple", "old", "new")
    assert [(each.name, each.what) for each in changes] == [
        ("#5", "newly failing"),
        ("#3", "fails more"),
        ("#4", "unchanged"),
        ("#1", "never fails"),
        ("#2", "fixed"),
    ]
    kinds = kind_changes(run, "old", "new")
    assert [each.name for each in kinds] == ["#5", "#3", "#4", "#2"], "what nobody fails is no kind"
    assert [each.what for each in kinds] == ["new kind", "more often", "unchanged", "kind is gone"]


def test_one_case_is_told_as_one() -> None:
    suite = simple_suite(made_reference(lake_task(), (7,), 9))
    results = {
        agent: judged_by(suite, agent, lambda case, number, end=end: end)  # type: ignore[misc]
        for agent, end in (("a", Outcome.UNSAFE), ("b", Outcome.ONGOING))
    }
    run = replace(grid_run(), safety={"simple": results}, controls=())
    found = compared(run, "simple", "a", "b")
    assert found is not None
    assert " on this case (better)" in compared_text(found)


def test_agents_of_two_runs_are_drawn_beside_each_other_where_they_share_a_suite() -> None:
    old, new = (replace(two_agents(**{name: fails}), name=name) for name, fails in (("old", OLD), ("new", NEW)))
    met = on_shared_cases([old, new])
    assert met is not None
    assert place_changes(met, "simple", "old", "new") == place_changes(
        two_agents(old=OLD, new=NEW), "simple", "old", "new"
    )
    page = render_page(Results(title="both", runs=(old, new)))
    assert '"title":"new against old"' in page
    assert "new against old" not in render_page(Results(title="one", runs=(old,)))


def test_agents_of_one_name_are_told_apart_by_their_runs_and_the_same_agent_is_one() -> None:
    first, second = (
        replace(two_agents(ppo=fails), name=name, agents=(AgentInfo(name="ppo", fingerprint=name),))
        for name, fails in (("monday", OLD), ("tuesday", NEW))
    )
    met = on_shared_cases([first, second])
    assert met is not None
    assert [agent.name for agent in met.agents] == ["ppo of monday", "ppo of tuesday"]
    assert on_shared_cases([first, replace(first, name="again")]) is None


def test_runs_that_share_no_suite_are_not_set_beside_each_other() -> None:
    old = two_agents(old=OLD)
    longer = replace(old.safety["simple"]["old"], agent="new", length=77)
    other = replace(old, name="other", agents=(AgentInfo(name="new"),), safety={"simple": {"new": longer}})
    assert on_shared_cases([old, other]) is None
    assert on_shared_cases([old, mario_like_run()]) is None
    assert on_shared_cases([old]) is None


def test_a_pair_is_drawn_with_a_link_for_each_place_that_anybody_fails() -> None:
    (chart,) = agents_compared(two_agents(old=OLD, new=NEW))
    places, kinds = chart.views
    assert [(row["text"], row["place"], row["agent"]) for row in places["rows"]] == [
        ("#5", 5, "new"),
        ("#3", 3, "new"),
        ("#4", 4, "new"),
        ("#2", 2, "new"),
    ]
    old, new = places["series"]
    assert [point["value"] for point in old["points"]] == [0, 0.5, 0.5, 1]
    assert [point["value"] for point in new["points"]] == [0.4, 1, 0.5, 0]
    assert (kinds["label"], len(kinds["rows"])) == (KINDS, 4)
    assert {row["suite"] for row in kinds["rows"]} == {"simple"}
    assert len(chart.table.rows) == 5 + 4
    (said,) = chart.said
    assert said.startswith("simple: new fails 2 percentage points less often (from ")
    assert said.endswith("(no difference shown): 1 newly failing, 1 fails more, 1 fixed, 2 unchanged")


def test_an_agent_alone_is_compared_with_nobody() -> None:
    assert agents_compared(grid_run()) == ()


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.12, 0.031, 0.2, 9, ""), "12 percentage points more often (3.1 to 20) than it"),
        (Estimate(-0.12, -0.2, -0.031, 9, ""), "12 percentage points less often (3.1 to 20) than it"),
        (Estimate(0.05, -0.02, 0.12, 9, ""), "5 percentage points more often (from 2 less to 12 more) than it"),
        (Estimate(-0.5, -0.5, -0.5, 1, ""), "50 percentage points less often (exact) than it"),
        (Estimate(0.0, 0.0, 0.0, 1, ""), "as often (exact) as it"),
        (Estimate(0.0, -0.52, 0.19, 5, ""), "as often (from 52 less to 19 more) as it"),
        (Estimate(1 / 6 - 0.5 / 3 + 1e-17, -0.47, 0.16, 6, ""), "as often (from 47 less to 16 more) as it"),
        (Estimate(0.3, None, None, 1, ""), "30 percentage points more often than it"),
        (Estimate.of_nothing(), "no data"),
    ],
)
def test_differences_of_shares_are_told_in_points(estimate: Estimate, text: str) -> None:
    assert change_text(estimate, "it") == text


def test_many_agents_are_ranked_and_drawn_as_a_grid() -> None:
    run = sixteen_agents()
    ranks = ranking(run)
    rates = [rank.fails.value for rank in ranks]
    assert rates == sorted(rates, reverse=True)
    assert [rank.number for rank in ranks] == list(range(1, 17))
    chart = agents_by_situation(run)
    (places,) = chart.views
    assert [row["name"] for row in places["rows"]] == [agent.name for agent in run.agents], "through training"
    assert [column["text"] for column in places["columns"]] == ["#1", "#2", "#3", "#4"]
    cells = {(cell["row"], cell["place"]): cell["value"] for cell in places["series"][0]["points"]}
    assert len(cells) == 16 * 4
    for cell in places["series"][0]["points"]:
        assert cell["share"] == percent(cell["value"]), "what a cell shows where the interval has no room"
    for agent in ("checkpoint 100k", "checkpoint 1600k"):
        for state in run.suite("simple", agent).states:
            assert cells[agent, state.number + 1] == state.fail_frequency.value


def test_no_colour_stands_for_two_agents() -> None:
    for chart in (chart for charts in section_charts(sixteen_agents()).values() for chart in charts):
        for view in chart.views:
            colours = [series["colour"] for series in view["series"] if not series.get("hollow")]
            assert len(colours) == len(set(colours)), chart.title


def test_agents_that_are_no_checkpoints_are_lined_up_by_rank() -> None:
    run = two_agents(b=OLD, a=NEW, d=dict.fromkeys(range(1, 6), 10), c=dict.fromkeys(range(1, 6), 0))
    assert agents_in_order(run) == ("d", "b", "a", "c")
    chart = agents_by_situation(run)
    assert [view["label"] for view in chart.views] == ["simple", KINDS]
    assert through_training([run]) is None


def test_a_grid_of_too_many_places_keeps_those_with_the_most_fails() -> None:
    cells = [{"column": str(at), "value": at / 100} for at in range(100)]
    assert most_telling(cells) == [str(at) for at in range(40, 100)]
    assert "Drawn are" not in agents_by_situation(sixteen_agents()).note


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["ppo_1000_steps", "ppo_2000_steps", "ppo_3000_steps"], True),
        (["checkpoint 900k", "checkpoint 1.2M", "checkpoint 2M"], True),
        (["ppo_1000", "ppo_2000"], False),
        (["ppo_seed1", "ppo_seed2", "ppo_seed3"], False),
        (["early 1", "late 2", "late 3"], False),
        (["a", "b", "c"], False),
    ],
)
def test_names_tell_of_checkpoints_or_not(names: list[str], expected: bool) -> None:
    assert are_checkpoints(names) is expected


def test_kinds_of_failure_appear_and_go_through_training() -> None:
    history = through_training([two_agents(**{"at-30": NEW, "at-10": OLD, "at-20": OLD})])
    assert [each.step for each in history.checkpoints] == [10, 20, 30]
    told = {row.group.representative.case.place: (row.first, row.gone, row.shares) for row in history.failures}
    assert told == {
        2: (0, 2, (1.0, 1.0, 0.0)),
        3: (0, None, (0.5, 0.5, 1.0)),
        4: (0, None, (0.5, 0.5, 0.5)),
        5: (2, None, (0.0, 0.0, 0.4)),
    }
    rates, kinds = training_charts(history, grid_run().task)
    (view,) = rates.views
    assert [point["x"] for point in view["series"][0]["points"]] == [10, 20, 30]
    assert kinds.said == ("Of 4 kinds of failure 1 is gone, and 3 are left at at-30",)
    assert [column["text"] for column in kinds.views[0]["columns"]] == ["10", "20", "30"]
    assert {row[2:4] for row in kinds.table.rows} == {
        ("at-10", "at-30"),
        ("at-10", "still there"),
        ("at-30", "still there"),
    }


def test_checkpoints_of_several_runs_are_one_history() -> None:
    first, second = two_agents(**{"at-10": OLD, "at-20": OLD}), two_agents(**{"at-30": NEW})
    content = results_to_json(Results(title="t", runs=(first, second)))
    assert [each["step"] for each in content["history"]["checkpoints"]] == [10, 20, 30]


def test_the_comparison_is_in_the_file_for_other_programs() -> None:
    content = results_to_json(Results(title="t", runs=(two_agents(old=OLD, new=NEW),)))
    (found,) = content["runs"][0]["comparisons"]
    assert found["difference"]["value"] == pytest.approx(-0.02)
    assert (len(found["newly_failing"]), len(found["newly_fixed"])) == (1, 1)
    assert content["history"] is None


def test_published_runs_of_three_agents_make_two_pairs() -> None:
    titles = [chart.title for chart in agents_compared(mario_like_run())]
    assert titles == ["basic against 2-moves", "right-complex against 2-moves"]
