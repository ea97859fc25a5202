from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.execution.workload import TASKS, agents, assert_same, rollouts
from tightrope.execution.naive import run_naively
from tightrope.execution.prefixes.costs import Costs
from tightrope.execution.rollout import Episode, Rollout
from tightrope.execution.worker.worker import Worker
from tightrope.simulation import conformance_of, open_simulator
from tightrope.tasks import Task

PLENTY = 2**28


def naive(task: Task, work: list[Rollout]) -> list[Episode]:
    simulator = open_simulator(task)
    deterministic = conformance_of(task).deterministic
    return [run_naively(simulator, agents(task), rollout, deterministic=deterministic) for rollout in work]


def by_worker(worker: Worker, work: list[Rollout]) -> list[Episode]:
    found = dict(worker.run(work))
    return [found[place] for place in range(len(work))]


@pytest.mark.parametrize("make_task", TASKS)
@pytest.mark.parametrize("lanes", [1, 7, None])
def test_a_worker_returns_what_the_naive_way_returns(make_task: Callable[[], Task], lanes: int | None) -> None:
    task = make_task()
    work = rollouts(task)
    worker = Worker(task, agents(task), conformance_of(task), memory_limit=PLENTY, lanes=lanes)
    expected = naive(task, work)
    assert_same(by_worker(worker, work), expected)
    assert_same(by_worker(worker, work[::-1]), expected[::-1])


@pytest.mark.parametrize("make_task", TASKS)
@pytest.mark.parametrize("limit", [PLENTY, 20_000, 0])
def test_every_kind_of_lane_and_a_small_memory_change_nothing(make_task: Callable[[], Task], limit: int) -> None:
    task = make_task()
    found = conformance_of(task)
    saves = found.save_microseconds is not None
    cheap = Costs(step=1.0, save=0.0, load=0.0) if saves else Costs(step=1.0, save=None, load=None)
    dear = Costs(step=1e-9, save=1.0, load=1.0) if saves else cheap
    kinds = {
        "tree lanes": (found, cheap),
        "shared lanes": (replace(found, transferable=False), dear),
        "instances, where they can be": (found, dear),
    }
    work = rollouts(task, seed=1)
    expected = naive(task, work)
    for verdict, costs in kinds.values():
        worker = Worker(task, agents(task), verdict, memory_limit=limit, lanes=5, costs=costs)
        assert_same(by_worker(worker, work), expected)
