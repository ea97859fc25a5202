"""Work that reaches a worker while it has other work under way."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.execution.test_robustness import processes_of, with_world
from tests.execution.test_worker import PLENTY, naive
from tests.execution.workload import TASKS, Steady, agents, assert_same, corridor, rollouts
from tightrope.agents import Answer
from tightrope.execution import Engine, Episode, Rollout
from tightrope.execution.backends.backend import AddingBackend
from tightrope.execution.backends.opening import BackendRequest
from tightrope.execution.backends.processes import ProcessBackend, open_processes
from tightrope.execution.prefixes.costs import Costs
from tightrope.execution.worker.worker import Worker
from tightrope.simulation import conformance_of
from tightrope.tasks import Task
from tightrope.testing import corridor_task
from tightrope.testing.worlds import TabularWorld
from tightrope.trace import ActionTrace


def arriving(work: Sequence[Rollout], first: int, at_once: int) -> Callable[[], Sequence[tuple[int, Rollout]]]:
    """From place ``first`` on, so many each time that somebody asks; at every other time nothing."""

    def batches() -> Iterator[Sequence[tuple[int, Rollout]]]:
        for place in range(first, len(work), at_once):
            yield list(enumerate(work))[place : place + at_once]
            yield ()

    feed = batches()
    return lambda: next(feed, ())


@pytest.mark.parametrize("make_task", TASKS)
@pytest.mark.parametrize("lanes", [1, 7, None])
def test_what_comes_later_comes_out_as_if_it_had_been_there(make_task: Callable[[], Task], lanes: int | None) -> None:
    task = make_task()
    work = rollouts(task, seed=2)
    expected = naive(task, work)
    for first, at_once in ((1, 1), (20, 7)):
        worker = Worker(task, agents(task), conformance_of(task), memory_limit=PLENTY, lanes=lanes)
        found: list[Episode] = []
        while len(found) < len(work):  # a worker with nothing left is done; what comes then is another message
            rest = work[len(found) :]
            came = dict(worker.run(rest[:first], arriving(rest, first, at_once)))
            found += [came[place] for place in range(len(came))]
        assert_same(found, expected)


class Counting(Steady):
    """Notes how much it is asked at a time."""

    def __init__(self, actions: Sequence[Any]) -> None:
        super().__init__(actions)
        self.asked: list[int] = []

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        self.asked.append(len(observations))
        return super().act(observations, memories, generators, masks)


def starts(task: Task, count: int, length: int) -> list[Rollout]:
    return [
        Rollout(start=ActionTrace(task.label, 0, (1,) * place), agent="steady", length=length, seed=place)
        for place in range(count)
    ]


def test_an_agent_is_asked_for_latecomers_together_with_those_under_way() -> None:
    task = corridor_task(length=60, holes=())
    work = starts(task, 10, 20)
    agent = Counting(task.search_actions)
    cheap = Costs(step=1.0, save=0.0, load=0.0)  # so that lanes are places in the tree
    worker = Worker(task, {"steady": agent}, conformance_of(task), memory_limit=PLENTY, costs=cheap)
    found = dict(worker.run(work[:1], arriving(work, 1, 9)))
    assert_same([found[place] for place in range(10)], naive(task, work))
    # Batches of 1, 4 and 16 are tried beforehand; each episode has 20 steps.
    assert agent.asked.count(10) >= 18


class Slow(TabularWorld):
    def step(self, action: int) -> Any:
        time.sleep(0.001)
        return super().step(action)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rollouts were added each time that some were."""
    noted: list[int] = []
    add = ProcessBackend.add

    def noting(self: ProcessBackend, worker: int, rollouts: Sequence[Rollout]) -> None:
        noted.append(len(rollouts))
        add(self, worker, rollouts)

    monkeypatch.setattr(ProcessBackend, "add", noting)
    return noted


@pytest.mark.parametrize("killed", [False, True])
def test_workers_are_given_more_before_they_are_done(added: list[int], killed: bool) -> None:
    task = with_world(Slow, corridor_task(length=30, holes=(7, 15, 22)))
    victims: list[int] = []
    # On a machine with much else to do, a worker may be done before anybody looks: then once more, with other work.
    for seed in range(3, 9):
        work = rollouts(task, count=400, seed=seed)
        with Engine(task, agents(task), backend="processes", workers=2) as engine:
            engine._runner._pace.cost_per_second = 500.0

            def seen(episode: Episode, engine: Engine = engine) -> None:
                if killed and added and len(victims) < 2:
                    victims.append(processes_of(engine)[-1])
                    os.kill(victims[-1], signal.SIGKILL)

            found = engine.run(work, on_episode=seen)
        assert_same(found, naive(task, work))
        if added and len(victims) == 2 * killed:
            break
    assert added
    assert len(victims) == 2 * killed


def test_what_is_added_to_a_worker_that_is_done_is_not_lost() -> None:
    task = corridor()
    work = starts(task, 12, 10)
    request = BackendRequest(
        task=task, agents=agents(task), conformance=conformance_of(task), workers=1, address=None,
        memory_limit=PLENTY, lanes=None, step_timeout=0.0,
    )  # fmt: skip
    backend = open_processes(request)
    assert isinstance(backend, AddingBackend)
    try:
        given = work[:4]
        backend.submit(0, given)
        member = backend._processes[0]
        kind, found = "", []
        while kind != "finished":  # it has nothing more to do, and the back end was not told so
            kind, results, _, _, taken = pickle.loads(member.pipe.recv_bytes())
            found += [place for place, _ in results or ()]
        assert taken == 4
        for more in (work[4:9], work[9:]):
            given += more
            backend.add(0, more)
        reports: list[Any] = []
        while not (reports and reports[-1].finished):
            reports += backend.collect(10.0)
    finally:
        backend.close()
    later = {place: episode for report in reports for place, episode in report.results}
    assert sorted([*found, *later]) == list(range(12))
    expected = naive(task, work)
    assert_same([later[place] for place in range(4, 12)], expected[4:])
