"""Where an agent goes wrong on a way that somebody else found, in worlds where that can be told by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tightrope as tr
from tests.fuzzing.worlds import Careful
from tightrope.references.taking_over import TakingOver
from tightrope.testing import JUMP, WALK, corridor_task

GALLERY = Path(__file__).parents[2] / "agents" / "gallery"
LONG = corridor_task(60, (7, 20, 41))
"""Standing before a hole only jumping is right; one cell earlier only walking."""


def knows(*holes: int) -> Any:
    return tr.load_agent(lambda cell: JUMP if int(cell) + 1 in holes else WALK, LONG, name=f"knows {holes}")


def looked(agent: Any, steps: int | None = None, task: tr.Task = LONG) -> tuple[tr.Reference | None, int]:
    way = tr.search(task, probe=False).reference
    assert way is not None
    with tr.Engine(task, {agent.name: agent}) as engine:
        meter = tr.Budget(steps=steps).start()
        return TakingOver(engine=engine, seed=0, meter=meter).lost(way, [agent.name]), meter.steps


@pytest.mark.parametrize(("known", "hole"), [((7, 20), 41), ((7, 41), 20), ((20, 41), 7), ((), 41)])
def test_the_last_moment_from_which_it_fails_is_the_cell_before_the_last_hole_that_it_does_not_know(
    known: tuple[int, ...], hole: int
) -> None:
    agent = knows(*known)
    found, steps = looked(agent)
    assert found is not None
    [state] = found.boundary_states
    assert (state.key, state.actions, state.proven) == (hole - 1, (WALK,), False)
    assert found.trace.steps[state.depth].action == JUMP, "the way shows what would have been right"
    assert (found.by_failing, found.taken_over, found.agent) == (True, True, agent.name)
    assert found.method.endswith(f"fails when it takes over after {state.depth} steps")
    assert steps < 10 * len(found), "found by bisection, not by trying every moment"


def test_who_goes_through_leaves_no_such_moment() -> None:
    assert looked(knows(7, 20, 41))[0] is None
    assert looked(Careful(), task=corridor_task())[0] is None


def test_without_steps_nothing_is_claimed_and_the_budget_is_kept() -> None:
    found, steps = looked(knows(7, 20), steps=30)
    assert found is None
    assert steps < 30 + len(LONG.search_actions) * 60


def test_where_chance_decides_to_fail_now_and_then_is_not_to_have_lost() -> None:
    """A slip makes every jump end in the hole at times; who jumps there has done what can be done."""
    slippery = corridor_task(60, (7, 20, 41), slip=0.02)
    assert looked(knows(7, 20, 41), task=slippery)[0] is None
    found, _ = looked(knows(7, 20), task=slippery)
    assert found is not None
    assert [state.key for state in found.boundary_states] == [40]


def test_another_agent_is_asked_where_the_first_does_not_fail() -> None:
    way, agents = tr.search(LONG, probe=False).reference, [knows(7, 20, 41), knows(7, 41)]
    assert way is not None
    with tr.Engine(LONG, {agent.name: agent for agent in agents}) as engine:
        over = TakingOver(engine=engine, seed=0, meter=tr.Budget().start())
        found = over.lost(way, [agent.name for agent in agents])
    assert found is not None
    assert found.agent == agents[1].name


def test_on_lunar_lander_an_agent_that_crashes_in_every_episode_has_situations_that_are_survived() -> None:
    """Nobody at hand survives from any moment of its own runs; ways that a search finds are survived by themselves."""
    task = tr.make_task("LunarLander-v3")
    agent = tr.load_agent(lambda observation: 0, task, name="drops")
    found = tr.find_references(task, 8, [agent], tr.Budget(steps=120_000))
    taken_over = [reference for reference in found if reference.taken_over]
    assert len(taken_over) >= 3
    assert {reference.trace.outcome for reference in taken_over} == {tr.Outcome.GOAL}
    result = tr.run_suite(task, agent, tr.simple_suite(taken_over), repetitions=4, length=100)
    assert result.fail_frequency.value is not None
    assert result.fail_frequency.value > 0.8
