from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from tests.report.synthetic import full_results
from tests.report.worlds import HOLE, BlindPond, fall_in, pond_task
from tightrope.reference import Survivability
from tightrope.report import (
    AgentInfo,
    BoundaryResult,
    BoundarySummary,
    CaseResult,
    Results,
    RunResults,
    SearchSummary,
    SuiteResult,
    TaskInfo,
    load_results,
    map_picture,
    write_report,
)
from tightrope.report.films.filming import choose_shots, film_failures
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

AGENTS = ("careless", "blind")


def pond_results(task: Task, cases: int = 4) -> Results:
    """Two agents that fall everywhere."""
    rate = Estimate(0.6, 0.3, 0.8, 10, "x")
    falls = [
        CaseResult(id=f"case{depth}", depth=depth, handover=depth, label="0", fails=6, passes=4, fail_frequency=rate,
                   survivable=Survivability.YES, replay=f"tightrope replay run case{depth}",
                   failing_trace=ActionTrace(task.label, depth, fall_in(task).actions))
        for depth in range(HOLE - cases, HOLE)
    ]  # fmt: skip
    boundary = tuple(BoundaryResult(depth=case.depth or 0, fail_frequency=rate, cases=1) for case in falls)
    suites = [
        SuiteResult(suite="simple", agent=a, fail_frequency=rate, cases=tuple(falls), boundary=boundary) for a in AGENTS
    ]
    states = tuple(BoundarySummary(depth=state.depth, proven=True, evidence={"unsafe": 1}) for state in boundary)
    path = [(float(cell), 0.0) for cell in range(HOLE)]
    run = RunResults(
        name="pond", task=TaskInfo(label=task.label), agents=tuple(AgentInfo(name=name) for name in AGENTS),
        suites=tuple(suites), map=map_picture(task, fall_in(task), path),
        search=SearchSummary(
            method="dfs", stop_reason="goal found", found=True, length=HOLE - 1, boundary_states=states
        ),
    )  # fmt: skip
    return Results(title="Pond", runs=(run,))


def films_in(results: Results) -> list[tuple[str, int | None]]:
    return [(suite.agent, case.depth) for suite in results.runs[0].suites for case in suite.cases if case.video]


def test_the_folder(tmp_path: Path) -> None:
    index = write_report(full_results(), tmp_path / "deep" / "report")
    names = {path.name for path in index.parent.iterdir()}
    assert names == {
        "index.html", "results.json", "summary.md", "junit.xml",
        "suites.csv", "boundary.csv", "cases.csv", "performance.csv", "generations.csv", "costs.csv",
    }  # fmt: skip
    assert load_results(index.parent / "results.json") == full_results()


def test_only_as_many_films_as_asked_spread_over_agents_and_boundary_states(tmp_path: Path) -> None:
    task = pond_task()
    write_report(pond_results(task), tmp_path, tasks=[task], videos=4)
    filmed = films_in(load_results(tmp_path / "results.json"))
    assert len(list((tmp_path / "videos").iterdir())) == 4
    assert [agent for agent, _ in filmed] == ["careless"] * 2 + ["blind"] * 2
    assert len({depth for agent, depth in filmed if agent == "blind"}) == 2


def test_films_are_in_the_page_itself(tmp_path: Path) -> None:
    task = pond_task()
    index = write_report(pond_results(task), tmp_path, tasks=[task], videos=1)
    assert "data:video/mp4;base64," in index.read_text()


def test_large_films_stay_beside_the_page(tmp_path: Path, monkeypatch: object) -> None:
    import tightrope.report.writers.writing as writing

    task = pond_task()
    monkeypatch.setattr(writing, "SMALL_VIDEO", 10)  # type: ignore[attr-defined]
    page = write_report(pond_results(task), tmp_path, tasks=[task], videos=1).read_text()
    assert "data:video" not in page
    assert '"videos/pond-careless-simple-case5.mp4"' in page


def test_films_are_kept_when_the_report_is_made_again_without_the_task(tmp_path: Path) -> None:
    task = pond_task()
    index = write_report(pond_results(task), tmp_path, tasks=[task], videos=2)
    before = index.read_text()
    write_report(load_results(tmp_path / "results.json"), tmp_path)
    assert index.read_text() == before


def test_rewards_that_overflowed_do_not_stop_the_report(tmp_path: Path) -> None:
    results = pond_results(pond_task())
    run = results.runs[0]
    suites = tuple(replace(suite, mean_return=Estimate(math.inf, -math.inf, math.nan, 3, "x")) for suite in run.suites)
    write_report(replace(results, runs=(replace(run, suites=suites),)), tmp_path)
    assert load_results(tmp_path / "results.json").runs[0].suites[0].mean_return.value is None


def test_no_films_when_none_are_asked_for(tmp_path: Path) -> None:
    write_report(pond_results(pond_task()), tmp_path, tasks=[pond_task()], videos=0)
    assert not (tmp_path / "videos").exists()


def test_a_task_that_cannot_be_seen_is_told() -> None:
    task = pond_task(BlindPond, draw_map=None)
    films = film_failures(pond_results(task), [task], 3)
    assert not films.content
    assert films.notes == ("Nothing can be seen of pond: it renders no pictures and draws no map.",)


def test_a_changed_environment_is_told() -> None:
    task = pond_task()
    results = pond_results(task, cases=1)
    case = replace(results.runs[0].suites[0].cases[0], failing_trace=ActionTrace(task.label, 0, (0, 1)))
    suite = replace(results.runs[0].suites[0], cases=(case,))
    films = film_failures(replace(results, runs=(replace(results.runs[0], suites=(suite,)),)), [task], 3)
    assert not films.content
    assert "no longer the one that was tested" in films.notes[0]


def test_survivable_falls_are_filmed_before_doomed_ones() -> None:
    results = pond_results(pond_task())
    run = results.runs[0]
    cases = run.suites[0].cases
    doomed = replace(run.suites[0], cases=(replace(cases[0], survivable=Survivability.NO), *cases[1:]))
    shots = list(choose_shots(replace(results, runs=(replace(run, suites=(doomed,), agents=run.agents[:1]),))))
    assert [shot.case for shot in shots] == [1, 2, 3, 0]


def test_the_same_fall_in_two_suites_is_filmed_once() -> None:
    results = pond_results(pond_task(), cases=1)
    run = results.runs[0]
    again = replace(run.suites[0], suite="interval(1)")
    shots = list(
        choose_shots(replace(results, runs=(replace(run, suites=(run.suites[0], again), agents=run.agents[:1]),)))
    )
    assert len(shots) == 1
