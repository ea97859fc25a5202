"""The last moment of a failed run from which an agent by itself survives, where that can be told by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import tightrope as tr
from tightrope.references.recovering import Recovering
from tightrope.testing import JUMP, WALK, corridor_task

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


def last_survived(run: tr.ActionTrace, *agents: Any, steps: int | None = None) -> tuple[int | None, int]:
    with tr.Engine(LONG, {agent.name: agent for agent in agents}) as engine:
        meter = tr.Budget(steps=steps).start()
        found = Recovering(engine=engine, seed=0, meter=meter).last_survived(run, [agent.name for agent in agents])
    return found, meter.steps


@pytest.mark.parametrize("knew", [(7, 20), (7,), ()])
def test_it_is_the_step_before_the_hole_that_the_run_fell_into(knew: tuple[int, ...]) -> None:
    run = run_of(knows(*knew))
    depth, steps = last_survived(run, knows(*HOLES))
    assert depth == len(run) - 1, "only the last action was wrong"
    assert steps < 10 * 60, "found by bisection, not by trying every moment"


def test_what_was_lost_long_before_the_harm_is_found_where_it_was_lost() -> None:
    """Who does not know a hole is lost by whoever hands over to it, so who takes over must have it behind."""
    run = run_of(knows(7, 20))
    # This one does not know the first hole: it survives only from behind it, and falls nowhere later.
    depth, _ = last_survived(run, knows(20, 41))
    assert depth == len(run) - 1
    # One that knows none of the last two survives from nowhere.
    assert last_survived(run, knows(7))[0] is None


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
