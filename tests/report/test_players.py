"""Fail and escape side by side: the pictures, what is told under each, and the player in a real browser."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.report.browsing import BROWSER, PHONE, Visit
from tests.report.worlds import HOLE, BlindPond, pond_picture, pond_task
from tightrope.execution import Engine
from tightrope.report import AgentInfo, Results, RunResults, write_report
from tightrope.report.films.images import sheet_bytes
from tightrope.report.films.players import COLUMNS, WIDEST, _smaller, scenes
from tightrope.report.writers import page
from tightrope.report.writers.page import render_page
from tightrope.report.writers.playerdata import player_data
from tightrope.safety import TestCase, TestSuite
from tightrope.safety.failing.explained_groups import explain_groups, with_whys
from tightrope.tasks.task import Task
from tightrope.testing import FunctionAgent
from tightrope.trace import ActionTrace

WALK, STAY = 0, 1
DECISION = HOLE - 1
LATE = 5


class Sure(FunctionAgent):
    """Walks on, and says how sure it is."""

    def preferences(self, observations: Any, memories: Any, masks: Any) -> Any:
        return [{WALK: 2.0, STAY: 0.5} for _ in observations]


def explained(task: Task, agent: Any, name: str = "pond") -> Results:
    prefix = ActionTrace(task.label, task.seed, (WALK,) * LATE)
    case = TestCase(prefix=prefix, boundary=0, depth=LATE, kept=LATE)
    suite = TestSuite(kind="simple", parameters={}, reference=prefix, checksums=(), depths=(LATE,), cases=(case,))
    with Engine(task, {agent.name: agent}) as engine:
        result = tr.run_suite(task, agent, suite, length=20, engine=engine, allow_changed=True)
        result = with_whys(result, explain_groups(engine, agent, [result]))
    run = RunResults(
        name=name,
        task=task,
        agents=(AgentInfo(name=agent.name),),
        safety={"simple": {agent.name: result}},
        explain=lambda case, agent: f"tightrope explain run {case}",
    )
    return Results(title="Pond", runs=(run,))


def named(task: Task) -> Task:
    return task.with_options(action_names=("walk", "stay"), observation_names=("cell",))


@pytest.fixture(scope="module")
def pond() -> Task:
    return named(pond_task())


@pytest.fixture(scope="module")
def seen(pond: Task) -> Results:
    return explained(pond, Sure(lambda cell: WALK, "sure"))


def test_every_moment_has_its_own_picture_and_both_share_those_before_the_decision(pond: Task, seen: Results) -> None:
    [scene] = scenes(seen.runs[0])
    frames, (fail, escape) = scene.frames(pond), scene.cells
    assert len(frames) == max(*fail, *escape) + 1
    assert fail[: DECISION + 1] == escape[: DECISION + 1]
    assert not set(fail[DECISION + 1 :]) & set(escape[DECISION + 1 :])
    for moment, cell in zip(scene.close_up.fail, fail, strict=True):
        assert np.array_equal(frames[cell], pond_picture(int(moment.values[0])))
    for moment, cell in zip(scene.close_up.escape, escape, strict=True):
        assert np.array_equal(frames[cell], pond_picture(int(moment.values[0])))


def test_explaining_tells_how_many_of_its_steps_are_spent(pond: Task) -> None:
    agent, told = Sure(lambda cell: WALK, "sure"), list[tr.Progress]()
    with Engine(pond, {"sure": agent}) as engine:
        found = explained(pond, agent).runs[0].safety["simple"]["sure"]
        explain_groups(engine, agent, [found], steps=900, on_progress=told.append)
    assert {each.stage for each in told} == {"explanations"}
    assert told[-1].total == 900
    assert 0 < told[-1].finished <= 900
    assert told[-1].note == "sure: 1 case"


def test_the_sheet_holds_them_row_by_row(pond: Task, seen: Results, tmp_path: Path) -> None:
    pictures = pytest.importorskip("PIL.Image")
    page = write_report(seen, tmp_path, tasks=[pond], videos=2).read_text()
    [sheet] = [path for path in (tmp_path / "videos").iterdir() if "-why-" in path.name]
    assert sheet.stat().st_size < 20_000
    image = np.asarray(pictures.open(io.BytesIO(sheet.read_bytes())).convert("RGB")).astype(int)
    high, wide, _ = pond_picture().shape
    assert f".{wide}x{high}." in sheet.name
    [scene] = scenes(seen.runs[0])
    for index, frame in enumerate(scene.frames(pond)):
        row, column = divmod(index, COLUMNS)
        shown = image[row * high : (row + 1) * high, column * wide : (column + 1) * wide]
        assert np.abs(shown - frame).mean() < 8, "at most what a small film loses"
    assert "data:image/" in page
    again = write_report(seen, tmp_path).read_text()
    assert again == page, "kept when the report is made again without the task"


def test_without_an_imaging_library_the_sheet_is_a_png(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.report.test_video import without

    without(monkeypatch, "PIL")
    assert sheet_bytes(pond_picture(3))[1] == ".png"


def test_wide_pictures_become_smaller_by_their_means() -> None:
    frame = np.zeros((40, 3 * WIDEST, 3), np.uint8)
    frame[:, 1::3] = 90
    small = _smaller(frame)
    assert small.shape == (13, WIDEST, 3)
    assert set(small.ravel().tolist()) == {30}


def test_what_is_told_is_what_happened(seen: Results) -> None:
    [scene] = scenes(seen.runs[0])
    told = player_data(scene, None, None)
    assert (told["decision"], told["handover"], told["first"]) == (DECISION, LATE, 0)
    fail, escape = (strip["steps"] for strip in told["strips"])
    assert (fail[DECISION]["action"], escape[DECISION]["action"]) == ("walk", "stay")
    assert fail[DECISION]["wanted"] == "walk 2, stay 0.5"
    assert fail[LATE - 1]["wanted"] == "", "before hand-over it was not asked"
    assert fail[-1]["action"] == "the end"
    kinds = [moment["kind"] for moment in told["survival"]]
    assert kinds == ["yes"] * (DECISION + 1) + ["no"]
    assert [moment["text"] for moment in told["survival"]][-2:] == ["survivable", "doomed"]
    assert told["survival_text"] == f"survivable until step {DECISION}, then not"
    [chart] = told["charts"]
    assert chart["name"] == "cell"
    assert chart["lines"][0] == [float(cell) for cell in range(HOLE + 1)]
    json.dumps(told)


class Unseen(BlindPond):
    """Shows two numbers and nothing else."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode)
        self.observation_space = gym.spaces.Box(-20, 20, (2,), np.float32)

    def reset(self, **how: Any) -> Any:
        _, info = super().reset(**how)
        return np.array([0, 0], np.float32), info

    def step(self, action: Any) -> Any:
        cell, *rest = super().step(action)
        return np.array([cell, -cell / 2], np.float32), *rest


def cells_shown(pictures: Any) -> list[list[float]]:
    """Column and row of the cell at the corner of each frame, to a hundredth of a cell: as it lies on the screen."""
    high, wide, _ = pond_picture().shape
    return pictures.evaluate_all(
        """(all, [wide, high]) => all.map(one => {
            const frame = one.parentElement, inner = frame.getBoundingClientRect(), sheet = one.getBoundingClientRect();
            const across = (inner.left + frame.clientLeft - sheet.left) / (sheet.width / (one.naturalWidth / wide));
            const down = (inner.top + frame.clientTop - sheet.top) / (sheet.height / (one.naturalHeight / high));
            return [across, down].map(share => Math.round(100 * share) / 100);
        })""",
        [wide, high],
    )


pytest_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium")


@pytest_browser
def test_keys_and_scrubber_step_through_both(browser: Any, pond: Task, seen: Results, tmp_path: Path) -> None:
    index = write_report(seen, tmp_path, tasks=[pond], videos=2)
    with Visit(browser, index) as visit:
        player, told_why = visit.page.locator(".player"), visit.page.locator(".fold summary").inner_text()
        sides = player.locator(".under")
        assert f"At step {DECISION} it chose walk; stay would have survived" in told_why
        assert "It scored walk at 2 and stay at 0.5" in told_why

        def told() -> list[str]:
            return [re.sub(r"\s+", " ", text) for text in sides.all_inner_texts()]

        def places() -> list[list[float]]:
            return cells_shown(player.locator(".screen img"))

        assert [text.split(" wanted")[0] for text in told()] == [
            f"step {DECISION} · walk · reward 1", f"step {DECISION} · stay · reward 1"
        ]  # fmt: skip
        assert places() == [[8, 0]] * 2, "before the decision both show the same"
        player.focus()
        visit.page.keyboard.press("ArrowRight")
        assert told()[0].startswith(f"step {HOLE} · the end")
        assert places() == [[9, 0], [0, 1]]
        visit.page.keyboard.press("ArrowRight")
        assert told()[0].startswith(f"step {HOLE} · the end"), "the shorter one waits at its end"
        assert told()[1].startswith(f"step {HOLE + 1} · stay")
        visit.page.keyboard.press("Home")
        assert told()[1].startswith("step 0 · walk")
        player.locator("input[type=range]").fill("3")
        assert told()[0].startswith("step 3 · walk")
        visit.page.keyboard.press("d")
        assert "the decision" in player.locator("output").inner_text()
        player.get_by_label("Play (space)").click()
        player.locator(".buttons output", has_text="step 19").wait_for()
        assert player.locator(".life.yes").count() == DECISION + 1
        assert player.locator(".life.no").count() == 1
        assert visit.complaints == []
        assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []


@pytest.fixture(scope="module")
def twice(pond: Task, seen: Results) -> Results:
    """Two agents that fail alike, so that there are two players."""
    [run], other = seen.runs, explained(pond, Sure(lambda cell: WALK, "bold")).runs[0]
    suite = {**run.safety["simple"], **other.safety["simple"]}
    return replace(seen, runs=(replace(run, agents=(*run.agents, *other.agents), safety={"simple": suite}),))


def test_what_the_page_has_no_room_for_and_what_nobody_explained_are_told_apart(
    twice: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not explained" not in render_page(twice)
    monkeypatch.setattr(page, "MOST_TOLD", 1)
    assert "not shown here" not in render_page(twice), "both are played"
    [run] = twice.runs
    blind = {name: replace(result, close_ups={}) for name, result in run.safety["simple"].items()}
    told = render_page(replace(twice, runs=(replace(run, safety={"simple": blind}),)))
    assert "1 more explained group is not shown here." in told
    dumb = {**blind, "bold": replace(blind["bold"], explanations={})}
    told = render_page(replace(twice, runs=(replace(run, safety={"simple": dumb}),)))
    assert "not shown here" not in told
    assert "1 failing case was not explained: the steps for that (explain_steps) were spent." in told


@pytest_browser
def test_of_several_players_one_is_open_and_the_others_are_posters(
    browser: Any, pond: Task, twice: Results, tmp_path: Path
) -> None:
    with Visit(browser, write_report(twice, tmp_path, tasks=[pond], videos=2)) as visit:
        folds = visit.page.locator(".fold")
        open_ones = "all => all.map(one => one.open)"
        assert folds.evaluate_all(open_ones) == [True, False]
        assert folds.nth(1).locator(".posters .screen:visible").count() == 2, "how it ended, and the way out"
        assert folds.nth(0).locator(".posters .screen:visible").count() == 0, (
            "an open one shows the pictures themselves"
        )
        assert cells_shown(folds.nth(1).locator(".posters img")) == [[9, 0], [0, 1]], "whole cells, in small too"
        assert folds.nth(1).locator(".screens").count() == 0, "built when somebody looks"
        folds.nth(1).locator("summary").press("Enter")
        folds.nth(1).locator(".player .screens").wait_for()
        assert folds.evaluate_all(open_ones) == [False, True]
        assert visit.complaints == []


@pytest_browser
def test_on_paper_all_are_open_at_their_decision_and_afterwards_as_before(
    browser: Any, pond: Task, twice: Results, tmp_path: Path
) -> None:
    with Visit(browser, write_report(twice, tmp_path, tasks=[pond], videos=2)) as visit:
        visit.page.locator(".player").first.focus()
        visit.page.keyboard.press("Home")
        visit.page.evaluate("""addEventListener("beforeprint", () => {
            window.printed = [...document.querySelectorAll(".fold")].map(one => one.open && one.querySelector(".under").textContent);
        })""")  # noqa: E501
        assert visit.page.pdf(format="A4").startswith(b"%PDF")
        printed = visit.page.evaluate("window.printed")
        assert [text.split(" · reward")[0] for text in printed] == [f"step {DECISION} · walk"] * 2
        assert visit.page.locator(".fold").evaluate_all("all => all.map(one => [one.open, one.name])") == [
            [True, "run0-why"], [False, "run0-why"]
        ]  # fmt: skip


@pytest_browser
@pytest.mark.parametrize("context", [{}, {"viewport": PHONE, "color_scheme": "dark"}], ids=["laptop", "dark phone"])
def test_without_pictures_the_values_are_drawn(browser: Any, context: Any, tmp_path: Path) -> None:
    task = pond_task(Unseen).with_options(
        name="unseen",
        unsafe=lambda step: bool(step.observation[0] == HOLE),
        position=None,
        draw_map=None,
        observation_names=("place", "lean"),
    )
    results = explained(task, FunctionAgent(lambda observation: WALK, "walks"), "unseen")
    index = write_report(results, tmp_path, tasks=[task], videos=2)
    with Visit(browser, index, **context) as visit:
        assert visit.page.locator(".player .screen").count() == 0
        assert visit.page.locator(".player .value .small").all_inner_texts() == ["place", "lean"]
        assert visit.page.locator(".player .value path.way").count() == 4
        assert visit.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert visit.complaints == []


@pytest_browser
def test_of_many_agents_the_worst_is_told_and_the_others_are_folded_and_all_are_on_paper(
    browser: Any, pond: Task, tmp_path: Path
) -> None:
    runs = [explained(pond, Sure(lambda cell: WALK, f"agent {number}")).runs[0] for number in range(16)]
    safety = {name: result for run in runs for name, result in run.safety["simple"].items()}
    crowd = replace(runs[0], agents=tuple(AgentInfo(name=name) for name in safety), safety={"simple": safety})
    index = write_report(Results(title="Crowd", runs=(crowd,)), tmp_path, tasks=[pond], videos=2)
    with Visit(browser, index) as visit:
        folds, shown = visit.page.locator(".fold"), visit.page.locator(".fold:visible")
        assert (folds.count(), shown.count()) == (16, 1)
        assert shown.evaluate_all("all => all.map(one => one.open)") == [False], (
            "a line, until somebody wants to see it"
        )
        whole, one = (visit.page.locator(each).bounding_box() for each in ("section:has(> #why)", ".fold:visible"))
        assert whole["height"] < one["height"] + 300, "beside that one only a heading and a line"
        visit.page.get_by_text("15 more groups of 15 agents").click()
        assert shown.count() == 16
        visit.page.get_by_text("15 more groups of 15 agents").click()
        visit.page.evaluate("""addEventListener("beforeprint", () => {
            const more = [...document.querySelectorAll(".more, .fold")], charts = [...document.querySelectorAll("[data-chart] svg[role]")];
            window.printed = [more.filter(one => !one.open).length, charts.filter(one => one.getBoundingClientRect().width < 100).length];
        })""")  # noqa: E501
        assert visit.page.pdf(format="A4").startswith(b"%PDF")
        assert visit.page.evaluate("window.printed") == [0, 0], "nothing is folded on paper, and all is drawn"
        assert shown.count() == 1, "afterwards as before"
        assert visit.complaints == []
