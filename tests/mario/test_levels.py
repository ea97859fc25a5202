"""References of all 32 levels: stored, replayed, and found again by the plans."""

from __future__ import annotations

import json

import pytest

import tightrope as tr
from tightrope.exploration.playing import replay
from tightrope.simulation import Simulator
from tightrope_mario.all_levels import SolvedLevel, level_task, level_trace, solve_levels
from tightrope_mario.game.levels import LEVEL_NAMES, search_plan


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_the_stored_reference_wins_the_level(level):
    trace, task = level_trace(level), level_task(level)
    assert trace.task == task.label
    # Replaying needs no snapshots, so the environment need not be examined first.
    simulator = Simulator(task, task.make_env(), None)
    assert replay(simulator, trace).outcome is tr.Outcome.GOAL
    assert simulator.depth == len(trace)
    simulator.close()


def test_a_level_is_found_again_by_its_plan(tmp_path):
    reports = []
    [solved] = solve_levels(["1-4"], workers=1, folder=tmp_path, on_progress=reports.append)
    assert solved.trace == level_trace("1-4")
    assert tr.read_traces(tmp_path / "1-4.json") == [solved.trace]
    assert solved.proven is not None
    assert solved.proven > 0
    assert reports[0].note == f"1-4: {solved.length} actions"


def test_results_are_plain_values():
    nothing = SolvedLevel(
        level="1-1", method="dfs", actions="2-moves", frames=8, seconds=0.1, length=None, boundary_states=None,
        proven=None, trace=None,
    )  # fmt: skip
    assert json.loads(json.dumps(nothing.to_json()))["length"] is None


def test_plans_name_the_level_they_are_for():
    assert search_plan("1-1").actions == "2-moves"
    with pytest.raises(tr.TightropeError, match="Did you mean '1-1'"):
        search_plan("1-11")
