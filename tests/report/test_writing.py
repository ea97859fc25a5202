from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tightrope.report.writers.writing as writing
from tests.report.synthetic import full_results, made_reference, searched, with_result
from tests.report.worlds import HOLE, BlindPond, Pond, fall_in, nowhere, pond_task
from tightrope.execution import Episode, Rollout
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.progress import Progress
from tightrope.reference import Survivability
from tightrope.report import AgentInfo, Results, RunResults, map_picture, write_report
from tightrope.report.films.filming import captions, choose_shots, film_failures
from tightrope.report.films.video import first_step
from tightrope.safety import SafetyResult, SuiteSurvival, TestCase, judge_suite, simple_suite
from tightrope.statistics import Estimate
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

AGENTS = ("careless", "blind")
YES, NO = Survivability.YES, Survivability.NO


def pond_results(task: Task, cases: int = 4, **survivable: Survivability) -> Results:
    """Two agents that fall everywhere; ``survivable`` is keyed by ``at5`` for the place at depth 5."""
    reference = made_reference(task, range(HOLE - cases, HOLE), HOLE)
    walk = replace(reference, actions=ActionTrace(task.label, 0, fall_in(task).actions))
    suite = simple_suite(walk)
    known = {
        case.id: Survival(survivable=(found := survivable.get(f"at{case.depth}", YES)),
                          witness=(1,) * 40 if found is YES else None)
        for case in suite.cases
    }  # fmt: skip
    safety = {
        "simple": {
            agent: judge_suite(
                suite,
                [_walked(case, agent, n, known[case.id].survivable) for case in suite.cases for n in range(10)],
                agent=agent,
                repetitions=10,
                length=40,
                survival=SuiteSurvival(by_case=known),
            )
            for agent in AGENTS
        }
    }
    path = [(float(cell), 0.0) for cell in range(HOLE)]
    run = RunResults(
        name="pond",
        task=task,
        agents=tuple(AgentInfo(name=name) for name in AGENTS),
        safety=safety,
        map=map_picture(task, fall_in(task), [path]),
        search=searched(walk, 90),
        replay=lambda case, agent: f"tightrope replay run {case} --agent {agent}",
    )
    return Results(title="Pond", runs=(run,))


def _walked(case: TestCase, agent: str, number: int, survivable: Survivability) -> Episode:
    """Six executions of ten wait, each place for another while, and walk into the hole; all where it is doomed."""
    falls = number < 6 or survivable is NO
    waits = case.boundary + 1
    actions = (1,) * waits + (0,) * (HOLE - len(case.prefix)) if falls else (1,) * 40
    return Episode(
        rollout=Rollout(start=case.prefix, agent=agent, length=40, seed=number),
        prefix_steps=len(case.prefix),
        prefix_reward=0.0,
        prefix_outcome=Outcome.ONGOING,
        outcome=Outcome.UNSAFE if falls else Outcome.ONGOING,
        actions=actions,
        rewards=(1.0,) * len(actions),
    )


def stored(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return content


def films_in(folder: Path) -> list[tuple[str, int]]:
    suites = stored(folder)["runs"][0]["suites"]
    return [(suite["agent"], case["place"]) for suite in suites for case in suite["cases"] if case["video"]]


def test_the_folder(tmp_path: Path) -> None:
    index = write_report(full_results(), tmp_path / "deep" / "report")
    names = {path.name for path in index.parent.iterdir()}
    assert names == {
        "index.html", "results.json", "summary.md", "junit.xml",
        "suites.csv", "boundary.csv", "cases.csv", "performance.csv", "generations.csv", "costs.csv",
    }  # fmt: skip


def test_only_as_many_films_as_asked_spread_over_agents_and_places(tmp_path: Path) -> None:
    task = pond_task()
    write_report(pond_results(task), tmp_path, tasks=[task], videos=4)
    filmed = films_in(tmp_path)
    assert len(list((tmp_path / "videos").glob("*.mp4"))) == 4
    assert len(list((tmp_path / "videos").glob("*.png"))) == 4, "a poster each"
    assert [agent for agent, _ in filmed] == ["careless"] * 2 + ["blind"] * 2
    assert len({place for agent, place in filmed if agent == "blind"}) == 2


def test_how_far_a_report_has_come_is_told_film_by_film(tmp_path: Path) -> None:
    task = pond_task()
    told: list[Progress] = []
    write_report(pond_results(task), tmp_path, tasks=[task], videos=2, on_progress=told.append)
    assert [(each.finished, each.total, each.note) for each in told] == [
        (0, 3, "films"), (1, 3, "films"), (2, 3, "page and tables"), (3, 3, ""),
    ]  # fmt: skip
    assert {each.stage for each in told} == {"report"}


def test_films_are_in_the_page_itself(tmp_path: Path) -> None:
    task = pond_task()
    index = write_report(pond_results(task), tmp_path, tasks=[task], videos=1)
    assert "data:video/mp4;base64," in index.read_text()


def test_large_films_stay_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = pond_task()
    monkeypatch.setattr(writing, "SMALL_VIDEO", 10)
    page = write_report(pond_results(task), tmp_path, tasks=[task], videos=1).read_text()
    assert "data:video" not in page
    (film,) = (tmp_path / "videos").glob("*.mp4")
    assert film.name.startswith("pond-careless-simple-")
    assert f'"videos/{film.name}"' in page


def test_films_are_kept_when_the_report_is_made_again_without_the_task(tmp_path: Path) -> None:
    task = pond_task()
    index = write_report(pond_results(task), tmp_path, tasks=[task], videos=2)
    before = index.read_text()
    write_report(pond_results(task), tmp_path)
    assert index.read_text() == before


def test_rewards_that_overflowed_do_not_stop_the_report(tmp_path: Path) -> None:
    results = pond_results(pond_task())
    run = with_result(results.runs[0], mean_return=Estimate(math.inf, -math.inf, math.nan, 3, "x"))
    write_report(replace(results, runs=(run,)), tmp_path)
    assert stored(tmp_path)["runs"][0]["suites"][0]["mean_return"]["value"] is None


def test_no_films_when_none_are_asked_for(tmp_path: Path) -> None:
    write_report(pond_results(pond_task()), tmp_path, tasks=[pond_task()], videos=0)
    assert not (tmp_path / "videos").exists()


def test_a_task_that_cannot_be_seen_is_told() -> None:
    task = pond_task(BlindPond, draw_map=None)
    films = film_failures(pond_results(task), [task], 3)
    assert not films.content
    assert films.notes == ("Nothing can be seen of pond: it renders no pictures and draws no map.",)


def test_a_changed_environment_is_told() -> None:
    films = film_failures(pond_results(pond_task()), [pond_task(unsafe=nowhere)], 3)
    assert not films.content
    assert "no longer the one that was tested" in films.notes[0]


def test_a_task_that_cannot_be_seen_to_the_end_is_told() -> None:
    class Fading(Pond):
        def render(self) -> Any:
            return super().render() if self.cell < 2 else None

    task = pond_task(Fading)
    films = film_failures(pond_results(task), [task], 3)
    assert not films.content
    assert "render() raised TypeError" in films.notes[0]


def test_an_environment_that_can_no_longer_be_made_ends_no_report() -> None:
    def gone() -> Any:
        raise RuntimeError("no display")

    films = film_failures(pond_results(pond_task()), [pond_task(gone)], 3)
    assert not films.content
    assert films.notes == ("task pond: make_env() raised RuntimeError: no display",)


def test_survivable_fails_are_filmed_before_doomed_ones() -> None:
    results = pond_results(pond_task(), at5=NO)
    run = results.runs[0]
    shots = choose_shots(replace(results, runs=(replace(run, agents=run.agents[:1]),)))
    assert [shot.place for shot in shots] == [2, 3, 4, 1]


def test_the_same_fail_in_two_suites_is_filmed_once() -> None:
    results = pond_results(pond_task(), cases=1)
    run = results.runs[0]
    twice: dict[str, dict[str, SafetyResult]] = {"simple": run.safety["simple"], "interval:0": run.safety["simple"]}  # type: ignore[dict-item]
    shots = list(choose_shots(replace(results, runs=(replace(run, safety=twice, agents=run.agents[:1]),))))
    assert len(shots) == 1


def test_each_frame_of_a_film_has_its_words() -> None:
    case = next(iter(choose_shots(pond_results(pond_task(), cases=1))))
    told = captions(case)
    trace = case.failing_trace
    assert trace is not None
    assert len(told) == len(trace) - first_step(case.handover) + 1
    assert told[0] == "step 0 · before hand-over: 0"
    assert told[case.handover] == "step 8 · careless: 1"
    assert told[-1] == "step 10 · unsafe"
