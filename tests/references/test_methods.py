"""The other ways to a reference: the archive, demonstrations, and the automatic choice between them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import tightrope as tr
from tests.exploration.oracles import World
from tightrope.agents.agent import Answer
from tightrope.errors import UnknownName, UsageError
from tightrope.references import reporting
from tightrope.testing import JUMP, WALK, corridor_task
from tightrope.tracefiles import write_traces

HOLES = (4, 9, 15)
SIDE_TRACKS = 1000
"""Where the states of the maze's dead ends begin."""


def maze(side_tracks: int = 4, depth: int = 12) -> World:
    """A corridor whose first actions lead into big binary trees of dead ends: chronological backtracking drowns."""
    table, free = {}, SIDE_TRACKS
    for cell in range(side_tracks):
        table[cell] = [free, cell + 1]
        first = free
        size = 2**depth - 1
        for node in range(size):
            left, right = 2 * node + 1, 2 * node + 2
            leaf = left >= size
            table[first + node] = [first + (node if leaf else left), first + (node if leaf else right)]
        free += size
    return World(table, frozenset({side_tracks}), frozenset({999}))


def test_archive_finds_the_goal_and_probes_it():
    result = tr.search(corridor_task(20, HOLES), "archive", budget=tr.Budget(steps=20_000))
    assert result.stop_reason is tr.StopReason.GOAL_FOUND
    assert result.method == result.reference.method == "archive"
    assert result.reference.trace.outcome is tr.Outcome.GOAL
    assert result.reference.probing.unknown == 0
    assert result.stats.cells <= 20
    assert result.reference.proven > 0


def test_archive_is_the_same_for_the_same_seed_only():
    def actions(seed):
        return tr.search(corridor_task(60, range(4, 60, 6)), "archive", seed=seed).reference.actions

    assert actions(1) == actions(1)
    assert len({actions(seed) for seed in range(4)}) > 1


def test_archive_on_a_stochastic_task_replays():
    task = corridor_task(30, HOLES, slip=0.3)
    reference = tr.search(task, "archive", seed=3).reference
    assert reference.actions.reseeds
    simulator = tr.open_simulator(task)
    simulator.reset(reference.actions.seed)
    reseeds = dict(reference.actions.reseeds)
    for index, action in enumerate(reference.actions.actions):
        if index in reseeds:
            simulator.reseed(reseeds[index])
        simulator.step(action)
    assert simulator.outcome is tr.Outcome.GOAL


def test_archive_uses_the_task_s_cells():
    task = corridor_task(40, (), cell=lambda env, observation, info: observation // 10)
    result = tr.search(task, "archive")
    assert result.stats.cells <= 4


def test_archive_budget_and_cancelling():
    task = corridor_task(200, range(4, 200, 5))
    spent = tr.search(task, "archive", budget=tr.Budget(steps=50))
    assert (spent.reference, spent.stop_reason, spent.stats.steps) == (None, tr.StopReason.BUDGET_SPENT, 50)

    def interrupt(progress):
        raise KeyboardInterrupt

    assert tr.search(task, "archive", on_progress=interrupt).stop_reason is tr.StopReason.CANCELLED


def test_auto_prefers_depth_first_search():
    result = tr.search(corridor_task(20, HOLES))
    assert (result.method, result.reference.method) == ("dfs", "dfs")


def test_auto_falls_back_to_the_archive():
    task = maze().task(cell=lambda env, observation, info: min(observation, SIDE_TRACKS))
    budget = tr.Budget(steps=15_000)
    assert tr.search(task, "dfs", budget=budget).stop_reason is tr.StopReason.BUDGET_SPENT
    result = tr.search(task, "auto", budget=budget)
    assert result.method == result.reference.method == "archive"
    assert result.stats.steps <= 15_000


def test_progress_counts_against_the_whole_budget_whichever_method_is_at_work(monkeypatch):
    monkeypatch.setattr(reporting, "SECONDS_BETWEEN_REPORTS", 0)
    reports = []
    task = maze().task(cell=lambda env, observation, info: min(observation, SIDE_TRACKS))
    tr.search(task, "auto", budget=tr.Budget(steps=15_000), probe=False, on_progress=reports.append)
    assert {report.total for report in reports} == {15_000}
    steps = [report.finished for report in reports]
    assert steps == list(range(64, 15_000, 64))[: len(steps)]


def test_auto_says_when_the_space_is_exhausted():
    world = World({0: [1, 1], 1: [0, 0]}, frozenset({2}), frozenset())
    result = tr.search(world.task())
    assert (result.reference, result.stop_reason, result.method) == (None, tr.StopReason.EXHAUSTED, "dfs")


def test_demonstration_is_probed_and_cut_at_the_goal():
    task = corridor_task(8, (4,))
    given = [WALK, WALK, WALK, JUMP, WALK, JUMP, WALK, WALK]
    result = tr.search(task, "demonstration", demonstration=given)
    assert result.method == "demonstration"
    assert result.reference.actions.actions == (WALK, WALK, WALK, JUMP, WALK, JUMP)
    assert [(state.key, state.actions) for state in result.reference.boundary_states] == [(2, (JUMP,)), (3, (WALK,))]


@pytest.mark.parametrize(
    ("actions", "reason"),
    [([WALK] * 6, "becomes unsafe after 4 of its 6"), ([WALK, WALK], "still under way after 2 of its 2")],
)
def test_a_demonstration_must_reach_the_goal(actions, reason):
    with pytest.raises(UsageError, match=reason):
        tr.search(corridor_task(8, (4,)), "demonstration", demonstration=actions)


def test_demonstration_from_a_file(tmp_path):
    task = corridor_task(8, (4,))
    trace = tr.search(task, "dfs").reference.actions
    write_traces(tmp_path / "demo.json", [trace])
    result = tr.search(task, "demonstration", demonstration=tmp_path / "demo.json")
    assert result.reference.actions == trace
    with pytest.raises(UsageError, match="no trace of task"):
        tr.search(corridor_task(8, (4,), name="other"), "demonstration", demonstration=tmp_path / "demo.json")


def test_demonstration_of_another_task_is_refused():
    trace = tr.search(corridor_task(8, (4,)), "dfs").reference.actions
    with pytest.raises(UsageError, match="recorded on task 'corridor'"):
        tr.search(corridor_task(8, (4,), name="other"), "demonstration", demonstration=trace)


@dataclass
class Careful:
    """Jumps where a hole is next."""

    holes: tuple[int, ...]
    name: str = "careful"
    fingerprint: str = "careful"
    deterministic: bool = True
    recurrent: bool = False

    def act(self, observations, memories, generators, masks):
        return Answer([JUMP if at + 1 in self.holes else WALK for at in observations], [None] * len(observations))


def test_an_agent_can_demonstrate():
    task = corridor_task(20, HOLES)
    trace = tr.demonstrate(task, Careful(HOLES))
    reference = tr.search(task, "demonstration", demonstration=trace).reference
    assert reference.method == "demonstration"
    assert [state.key for state in reference.boundary_states] == [2, 3, 7, 8, 13, 14]
    assert tr.demonstrate(task, Careful(())) is None


def test_wrong_calls_are_explained():
    task = corridor_task()
    with pytest.raises(UnknownName, match="Did you mean 'archive'"):
        tr.search(task, "archiv")
    with pytest.raises(UsageError, match="belong together"):
        tr.search(task, "demonstration")
    with pytest.raises(UsageError, match="belong together"):
        tr.search(task, "dfs", demonstration=[WALK])
    with pytest.raises(UsageError, match="repetitions must be 1"):
        tr.search(task, repetitions=0)
    with pytest.raises(UsageError, match="max_depth must be 1"):
        tr.search(task, max_depth=0)
