"""How close an agent came to failing on runs that it survived, in worlds where that can be told by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tightrope as tr
from tests.fuzzing.worlds import Careful
from tightrope.references.near_misses import Nearest, NearMiss
from tightrope.testing import JUMP, WALK, corridor_task
from tightrope.testing.worlds import deterministic_table, tabular_task

GALLERY = Path(__file__).parents[2] / "agents" / "gallery"
STRAIGHT, ASIDE = 0, 1
LENGTH, NARROW, ROOM = 40, 27, 6
"""A path whose edge is two steps aside at one cell, and farther everywhere else."""


def path_task() -> tr.Task:
    """A path of cells, with room beside it: a step straight on leads one cell forward and to the middle, one aside
    away from it; who has no room left is lost. There is room for one step aside at one cell, and the more the farther
    from it."""
    lost, goal = 10_000, 20_000

    def state(cell: int, aside: int) -> int:
        if cell >= LENGTH:
            return goal
        room = min(1 + -(-abs(cell - NARROW) // 2), ROOM)
        return lost if aside > room else cell * 100 + aside

    table = {
        cell * 100 + aside: [state(cell + 1, 0), state(cell, aside + 1)]
        for cell in range(LENGTH)
        for aside in range(ROOM + 1)
    }
    return tabular_task(deterministic_table(table), {goal}, {lost}, name="path")


def straight(task: tr.Task) -> Any:
    return tr.load_agent(lambda state: STRAIGHT, task, name="straight")


def nearest(task: tr.Task, agent: Any, steps: int | None = None) -> tuple[NearMiss | None, int]:
    with tr.Engine(task, {agent.name: agent}) as engine:
        start = tr.ActionTrace(task.label, 0)
        [run] = engine.run([tr.Rollout(start=start, agent=agent.name)])
        assert run.outcome is tr.Outcome.GOAL
        meter = tr.Budget(steps=steps).start()
        return Nearest(engine, agent.name, run.trace, 0, meter).find(), meter.steps


def test_the_narrow_cell_is_found_and_how_many_steps_were_missing() -> None:
    task = path_task()
    found, steps = nearest(task, straight(task))
    assert found is not None
    assert found.action == ASIDE
    assert (found.depth, found.steps) == (NARROW, 2), "one step aside is survived there, a second is not"
    assert found.survived.outcome is tr.Outcome.GOAL
    assert steps < LENGTH * LENGTH, "fewer than it takes to try one disturbance at every moment"


def test_where_one_action_is_enough_that_is_the_miss() -> None:
    found, _ = nearest(corridor_task(), Careful())
    assert found is not None
    assert found.steps == 1
    cell = [0, 1, 2, 4, 5, 7, 8, 9][found.depth]
    assert (cell, found.action) in {(1, JUMP), (2, WALK), (4, JUMP), (5, WALK)}


def test_who_cannot_be_made_to_fail_has_none_and_the_budget_is_kept() -> None:
    safe = corridor_task(12, ())
    assert nearest(safe, tr.load_agent(lambda cell: WALK, safe, name="walks"))[0] is None
    task = path_task()
    _, spent = nearest(task, straight(task), steps=50)
    assert spent < 50 + 2 * LENGTH


def test_an_agent_that_raises_has_not_missed_nearly() -> None:
    safe = corridor_task(12, ())

    def act(cell: Any) -> int:
        if int(cell) % 2:
            raise RuntimeError("never seen before")
        return JUMP

    assert nearest(safe, tr.load_agent(act, safe, name="surprised"))[0] is None


def test_a_good_agents_runs_have_boundary_states_and_say_what_they_are(tmp_path: Path) -> None:
    """Balanced without a fail, it is nowhere near the boundary states that a search finds."""
    task = tr.make_task("CartPole-v1")
    late = tr.load_agent(GALLERY / "cartpole-late.onnx", task, name="late")
    found = tr.find_references(task, 8, [late], tr.Budget(steps=120_000))
    near = [reference for reference in found if reference.near_miss]
    assert near
    for reference in near:
        assert (reference.agent, reference.by_failing, reference.chosen) == ("late", False, True)
        assert reference.trace.outcome is tr.Outcome.GOAL
        assert reference.method.startswith("near miss of late: action ")
        [state] = reference.boundary_states
        suite = tr.simple_suite([reference])
        assert suite.chosen == {0}
        assert tr.run_suite(task, late, suite, length=100).fails == 0, "with one step less it survives"
        start = reference.actions.prefix(state.depth).then(state.actions)
        with tr.Engine(task, {"late": late}) as engine:
            [episode] = engine.run([tr.Rollout(start=start, agent="late", length=100)])
        assert tr.Outcome.UNSAFE in (episode.outcome, episode.prefix_outcome), "with it, it fails"
    tr.save_reference(near[0], tmp_path / "near.json")
    assert tr.load_reference(tmp_path / "near.json").near_miss


@pytest.mark.parametrize("flag", ["yes", 1, None])
def test_a_damaged_mark_is_no_mark(tmp_path: Path, flag: object) -> None:
    import json

    known = tr.search(corridor_task()).reference
    assert known is not None
    tr.save_reference(known, tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    (tmp_path / "a.json").write_text(json.dumps(content | {"near_miss": flag}), encoding="utf-8")
    assert not tr.load_reference(tmp_path / "a.json").near_miss


def broad_task(room: int) -> tr.Task:
    """A path along which there is room for so many steps aside in a row, everywhere."""
    lost, goal, length = 100_000, 200_000, 40
    table = {
        cell * 1000 + aside: [
            goal if cell + 1 == length else (cell + 1) * 1000,
            lost if aside + 1 > room else cell * 1000 + aside + 1,
        ]
        for cell in range(length)
        for aside in range(room + 1)
    }
    return tabular_task(deterministic_table(table), {goal}, {lost}, name="broad")


@pytest.mark.parametrize(("room", "steps"), [(5, 6), (15, 16), (16, 17), (39, 40), (200, None)])
def test_who_stands_firm_is_held_for_longer_but_not_for_ever(room: int, steps: int | None) -> None:
    task = broad_task(room)
    found, _ = nearest(task, straight(task))
    assert (None if found is None else found.steps) == steps


def test_where_ways_are_replayed_there_is_an_answer_for_a_few_lengths_of_the_run() -> None:
    """One look in the middle takes as much there as the whole budget; one near the start does not."""
    task = broad_task(3)
    length, steps = 40, 100
    replayed = replace(task, make_env=lambda: tr.renewed_env(task.make_env))
    assert tr.check_task(replayed).method == "replay"
    found, spent = nearest(replayed, straight(replayed), steps=steps)
    assert found is not None
    assert found.steps == 4
    assert spent < steps + length * 3
