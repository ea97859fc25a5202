"""The last moment of a failed run from which an agent by itself survives, where that can be told by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import tightrope as tr
from tightrope.references.recovering import Recovering
from tightrope.testing import JUMP, WALK, corridor_task
from tightrope.testing.worlds import deterministic_table, tabular_task

HOLES = (7, 20, 41)
LONG = corridor_task(60, HOLES)
"""Standing before a hole only jumping is right; one cell earlier only walking."""


def knows(*holes: int) -> Any:
    return tr.load_agent(lambda cell: JUMP if int(cell) + 1 in holes else WALK, LONG, name=f"knows {holes}")


def run_of(agent: Any) -> tr.ActionTrace:
    with tr.Engine(LONG, {agent.name: agent}) as engine:
        [episode] = engine.run([tr.Rollout(start=tr.ActionTrace(LONG.label, 0), agent=agent.name)])
    assert episode.outcome is tr.Outcome.UNSAFE
    return episode.trace


def last_survived(
    run: tr.ActionTrace, *agents: Any, steps: int | None = None, task: tr.Task = LONG
) -> tuple[int | None, int]:
    with tr.Engine(task, {agent.name: agent for agent in agents}) as engine:
        meter = tr.Budget(steps=steps).start()
        found = Recovering(engine=engine, seed=0, meter=meter).last_survived(run, [agent.name for agent in agents])
    return found, meter.steps


@pytest.mark.parametrize("knew", [(7, 20), (7,), ()])
def test_it_is_the_step_before_the_hole_that_ended_the_run(knew: tuple[int, ...]) -> None:
    run = run_of(knows(*knew))
    depth, steps = last_survived(run, knows(*HOLES))
    assert depth == len(run) - 1, "only the last action was wrong"
    assert steps < 10 * 60, "found by bisection, not by trying every moment"


@pytest.mark.parametrize("turned", [0, 3, 5, 11])
def test_what_was_lost_long_before_the_harm_is_found_where_it_was_lost(turned: int) -> None:
    """Who turns aside walks on for ten steps, whatever it does, and is lost."""
    lost, goal, length = 1_000, 2_000, 20
    table = {cell: [cell + 1 if cell + 1 < length else goal, 100] for cell in range(length)}
    table |= {aside: [aside + 1 if aside < 109 else lost] * 2 for aside in range(100, 110)}
    task = tabular_task(deterministic_table(table), {goal}, {lost}, name="aside")
    run = tr.ActionTrace(task.label, 0).then([0] * turned + [1] + [0] * 10)
    agent = tr.load_agent(lambda state: 0, task, name="straight on")
    depth, steps = last_survived(run, agent, task=task)
    assert depth == turned
    assert steps < len(run) * 2 * 6, "found by bisection"


def test_whom_an_earlier_hole_stops_survives_from_behind_it() -> None:
    run = run_of(knows(7, 20))
    assert last_survived(run, knows(20, 41))[0] == len(run) - 1
    assert last_survived(run, knows(7))[0] is None, "one that does not know the last survives from nowhere"


def test_the_first_that_survives_counts_whoever_it_is() -> None:
    run = run_of(knows(7, 20))
    assert last_survived(run, knows(7), knows(20, 41))[0] == len(run) - 1


def test_without_steps_nothing_is_claimed() -> None:
    run = run_of(knows(7, 20))
    found, steps = last_survived(run, knows(7), steps=1)
    assert found is None
    assert steps <= 60


def test_where_ways_are_replayed_a_noisy_run_that_failed_shows_where_its_agent_would_not_have() -> None:
    """Trying all there is at each moment took all steps there, and an agent that survives by itself was not reached."""
    task = replace(LONG, make_env=lambda: tr.renewed_env(LONG.make_env))
    assert tr.check_task(task).method == "replay"
    agent = tr.load_agent(lambda cell: JUMP if int(cell) + 1 in HOLES else WALK, task, name="knows all")
    found = tr.find_references(task, 8, [agent], tr.Budget(steps=4_000))
    lost = [reference for reference in found if reference.by_failing]
    assert lost
    suite = tr.simple_suite(lost)
    assert tr.run_suite(task, agent, suite, length=60).fails == 0, "by itself it survives from there"
