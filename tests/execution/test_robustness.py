"""Workers that die, users who interrupt, environments and agents that raise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.execution.test_worker import naive
from tests.execution.workload import (
    Noisy,
    Steady,
    agents,
    assert_same,
    corridor,
    frozen_lake,
    pendulum,
    reached,
    rollouts,
)
from tests.processes import children, runs
from tightrope.agents import Answer
from tightrope.errors import TightropeError, UnknownName, UsageError
from tightrope.execution import Engine, Episode, ErrorKind, Rollout
from tightrope.execution.naive import run_naively
from tightrope.simulation import conformance_of, open_simulator
from tightrope.tasks import Task
from tightrope.testing import ConstantAgent, TabularWorld, corridor_task
from tightrope.trace import ActionTrace


def with_world(kind: type[TabularWorld], plain: Task) -> Task:
    """The same world, played by another class; what was found out about the plain one is taken to hold."""
    world = plain.make_env()
    assert isinstance(world, TabularWorld)
    task = plain.with_options(make_env=partial(kind, world.table, world.goals, world.unsafe))
    conformance_of(task, conformance_of(plain))
    return task


def processes_of(engine: Engine) -> list[int]:
    return engine._runner.backend.process_ids  # type: ignore[attr-defined,no-any-return]


def test_a_worker_killed_in_the_middle_is_replaced_and_its_work_redone() -> None:
    task = frozen_lake()
    work = rollouts(task, count=2000)
    killed: list[int] = []
    with Engine(task, agents(task), backend="processes", workers=2) as engine:

        def kill_twice(episode: Episode) -> None:
            if len(killed) < 2:
                killed.append(processes_of(engine)[-1])
                os.kill(killed[-1], signal.SIGKILL)

        found = engine.run(work, on_episode=kill_twice)
        assert not set(killed) & set(processes_of(engine))
    assert_same(found, naive(task, work))


class Deadly(TabularWorld):
    """Ends the whole process on one action in one place."""

    def step(self, action: int) -> Any:
        if self.state == 5 and action == 0 and os.environ.get("OMP_NUM_THREADS") == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


def test_a_rollout_that_kills_every_worker_is_named_and_the_others_are_not_lost() -> None:
    task = with_world(Deadly, corridor_task(length=8, holes=()))
    start = ActionTrace(task.label, 0)
    work = [Rollout(start=start, actions=(1,) * n) for n in range(1, 5)]
    deadly = Rollout(start=start, actions=(0,) * 7)
    with Engine(task, backend="processes", workers=2) as engine:
        found = engine.run([*work[:2], deadly, *work[2:]])
    assert [episode.error for episode in found if episode.rollout != deadly] == [None] * 4
    assert found[2].error is not None
    assert found[2].error.kind is ErrorKind.PROCESS
    assert "signal 9" in found[2].error.message
    assert "after reset(seed=0), the actions (), then (0, 0, 0, 0, 0, 0, 0)" in found[2].error.message


class Brittle(TabularWorld):
    def step(self, action: int) -> Any:
        if self.state == 3 and action == 0:
            raise ZeroDivisionError("the corridor is divided by zero")
        return super().step(action)


def brittle_corridor(**fields: Any) -> Task:
    return with_world(Brittle, corridor_task(length=12, holes=(), **fields))


@pytest.mark.parametrize("backend", ["inline", "processes"])
@pytest.mark.parametrize("alone", [False, True])
def test_errors_of_the_environment_come_back_as_they_were(backend: str, alone: bool) -> None:
    task = brittle_corridor(one_per_process=alone)
    work = rollouts(task, count=80)
    with Engine(task, agents(task), backend=backend, workers=2 if backend == "processes" else None) as engine:
        found = engine.run(work)
    expected = naive(task, work)
    assert_same(found, expected)
    broken = [episode for episode in found if episode.error is not None]
    assert 0 < len(broken) < len(found)
    for episode in broken:
        assert episode.error is not None
        assert (episode.error.kind, episode.error.repeated) == (ErrorKind.ENVIRONMENT, True)
        assert episode.error.message.startswith(f"EnvironmentFailure: task {task.label}: step ")
        assert "ZeroDivisionError: the corridor is divided by zero" in episode.error.message
        assert f"reset(seed={episode.rollout.start.seed})" in episode.error.message
        assert "Traceback" in str(episode.error)


class Tantrum(Noisy):
    """Raises when it sees one place, whoever else is in the batch."""

    name, fingerprint = "noisy", "tantrum"

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        if any(seen in (9, 10) for seen in observations):
            raise LookupError("nine!")
        return super().act(observations, memories, generators, masks)


def test_an_agent_that_raises_spoils_its_own_rollouts_only() -> None:
    task = corridor()
    made = agents(task) | {"noisy": Tantrum(task.search_actions)}
    work = [Rollout(start=ActionTrace(task.label, 0, (0,) * n), agent="noisy", length=9, seed=k)
            for n in range(6) for k in range(10)]  # fmt: skip
    with Engine(task, made) as engine:
        found = engine.run(work)
    simulator = open_simulator(task)
    assert_same(found, [run_naively(simulator, made, rollout, deterministic=True) for rollout in work])
    raised = [episode.error for episode in found if episode.error is not None]
    assert 0 < len(raised) < len(found)
    assert all(error.kind is ErrorKind.AGENT and "nine!" in error.message for error in raised)


class OneAtATime(Steady):
    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        (seen,) = observations
        return super().act([seen], memories, generators, masks)


def cannot_be_loaded() -> None:
    raise FileNotFoundError("agent.onnx is gone")


class Gone(ConstantAgent):
    def __reduce__(self) -> Any:
        return cannot_be_loaded, ()


def test_an_agent_that_a_worker_cannot_load_is_told_with_the_reason() -> None:
    task = corridor_task()
    with Engine(task, backend="processes", workers=1) as engine:
        engine.add_agents({"gone": Gone(0, "gone")})
        with pytest.raises(TightropeError, match=r"(?s)could not be set up:.*agent\.onnx is gone"):
            engine.run([Rollout(start=ActionTrace(task.label, 0), agent="gone", length=1)])


@pytest.mark.parametrize("slip", [0.0, 0.2])
@pytest.mark.parametrize("answer", [7, -1, "left", 0.5])
def test_an_answer_that_is_no_action_is_told_with_agent_action_and_space(answer: Any, slip: float) -> None:
    """Index -1 is the last action to many environments, which then play on as if nothing had happened."""
    task = corridor_task(slip=slip)
    work = [Rollout(start=ActionTrace(task.label, 0, (0,)), agent="stranger", length=3)]
    with Engine(task, {"stranger": ConstantAgent(answer, "stranger")}) as engine:
        (episode,) = engine.run(work)
    assert episode.actions == ()
    assert f"AgentFailure: agent 'stranger' answered {answer!r}, and the action space of task corridor is" in str(
        episode.error
    )
    assert "Discrete(2)" in str(episode.error)


@pytest.mark.parametrize("slip", [0.0, 0.2])
def test_actions_of_numpy_come_back_as_plain_numbers(slip: float) -> None:
    task = corridor_task(slip=slip)
    with Engine(task, {"agent": ConstantAgent(np.int64(1), "agent")}) as engine:
        (episode,) = engine.run([Rollout(start=ActionTrace(task.label, 0, (0,)), agent="agent", length=2)])
    assert {type(action) for action in episode.actions} == {int}
    json.dumps(episode.actions)


def test_continuous_actions_of_numpy_come_back_as_plain_numbers() -> None:
    task = pendulum()
    with Engine(task, {"agent": ConstantAgent((np.float32(0.5),), "agent")}) as engine:
        (episode,) = engine.run([Rollout(start=ActionTrace(task.label, 0), agent="agent", length=2)])
    assert episode.actions == ((0.5,), (0.5,))
    json.dumps(episode.actions)


def test_an_agent_that_cannot_answer_batches_still_works() -> None:
    task = corridor()
    work = [Rollout(start=ActionTrace(task.label, 0, (0,) * n), agent="steady", length=9) for n in range(6)]
    with Engine(task, agents(task)) as engine, Engine(task, {"steady": OneAtATime(task.search_actions)}) as single:
        assert_same(single.run(work), engine.run(work))


class Flaky(TabularWorld):
    """Raises once in a process, at a place that is fine the next time."""

    calls = 0

    def step(self, action: int) -> Any:
        if self.state == 4:
            Flaky.calls += 1
            if Flaky.calls == 40:
                raise OSError("a moment of weakness")
        return super().step(action)


def test_an_error_that_does_not_happen_again_is_not_hidden() -> None:
    task = with_world(Flaky, corridor_task(length=8, holes=()))
    start = ActionTrace(task.label, 0)
    with Engine(task) as engine:
        engine.run([Rollout(start=start, actions=(1, 1, 1))])
        Flaky.calls = 39
        episode = engine.run([Rollout(start=start, actions=(0,) * 8)])[0]
    assert "a moment of weakness" in str(episode.error)
    assert "did not happen again" in str(episode.error)
    assert episode.error is not None
    assert not episode.error.repeated


INTERRUPTED = """
    import signal, sys, time
    # A shell starts background jobs with Ctrl-C ignored, and these tests may run in one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:0] = {path!r}
    from tests.execution.test_robustness import slow_corridor
    from tightrope.execution import Engine, Rollout
    from tightrope.trace import ActionTrace
    task, seen = slow_corridor(), []
    work = [Rollout(start=ActionTrace(task.label, 0, (), ((0, n),)), actions=(0,) * 9, seed=n) for n in range(5000)]
    engine = Engine(task, backend={backend!r}, workers={workers})
    def told(episode):
        seen.append(episode)
        if len(seen) == 20:
            print("ready", flush=True)
    try:
        engine.run(work, on_episode=told)
    except KeyboardInterrupt:
        engine.close()
        print(len(seen), flush=True)
"""


class Slow(TabularWorld):
    def step(self, action: int) -> Any:
        time.sleep(0.002)
        return super().step(action)


def slow_corridor() -> Task:
    return with_world(Slow, corridor_task(length=10, holes=(), slip=0.5))


@pytest.mark.parametrize(("backend", "workers"), [("inline", None), ("processes", 2)])
def test_ctrl_c_stops_at_once_and_keeps_what_was_finished(backend: str, workers: int | None) -> None:
    path = [str(Path(__file__).parents[2])]
    code = textwrap.dedent(INTERRUPTED).format(path=path, backend=backend, workers=workers)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    started_by_it = children(process.pid)
    assert 0 <= len(started_by_it) - (workers or 0) <= 2, "those that were asked at the beginning may still be there"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    finished = int(process.stdout.readline())
    # Two seconds on a machine that has nothing else to do; all that was asked for would take a minute or more.
    assert time.monotonic() - started < 10.0
    assert 20 <= finished < 5000
    assert process.wait(10) == 0
    process.stdout.close()
    assert not [child for child in started_by_it if runs(child)]


def test_workers_end_when_whoever_started_them_is_gone() -> None:
    code = """
        import sys
        sys.path[:0] = {path!r}
        from tests.execution.workload import *
        from tightrope.execution import Engine
        task = corridor()
        engine = Engine(task, agents(task), backend="processes", workers=2)
        engine.run(rollouts(task))
        print(*engine._runner.backend.process_ids, flush=True)
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    """
    code = textwrap.dedent(code).format(path=[str(Path(__file__).parents[2])])
    told = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    workers = told.stdout.split()
    assert len(workers) == 2
    deadline = time.monotonic() + 10
    while any(runs(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(runs(worker) for worker in workers)


def times_ten(task: Task, payload: int) -> int:
    return payload * 10


def fails(task: Task, payload: int) -> int:
    raise ArithmeticError(f"no {payload}")


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_functions_are_mapped_in_order_and_their_errors_raised(backend: str) -> None:
    with Engine(corridor(), backend=backend, workers=2 if backend == "processes" else None) as engine:
        assert engine.map(times_ten, range(50)) == [10 * n for n in range(50)]
        assert engine.map(times_ten, []) == []
        with pytest.raises(ArithmeticError, match="no 3"):
            engine.map(fails, [3])
        assert engine.map(times_ten, [4]) == [40]


def test_wrong_use_is_refused_with_the_next_move() -> None:
    task = corridor()
    with pytest.raises(UnknownName, match="inline"):
        Engine(task, backend="inlin")
    with pytest.raises(UsageError, match="workers must be 1 or more, not 0"):
        Engine(task, backend="processes", workers=0)
    with Engine(task, agents(task)) as engine:
        with pytest.raises(UnknownName, match="steady"):
            engine.run([Rollout(start=ActionTrace(task.label, 0), agent="stedy")])
        other = Steady(task.search_actions)
        other.fingerprint = "another"
        with pytest.raises(UsageError, match="another agent named 'steady'"):
            engine.add_agents({"steady": other})
        stream = engine.stream(rollouts(task))
        next(stream)
        with pytest.raises(UsageError, match="another job"):
            engine.run(rollouts(task))
        stream.close()
        assert_same(engine.run(rollouts(task)), naive(task, rollouts(task)))


def test_a_task_that_cannot_travel_says_so() -> None:
    lock = threading.Lock()
    task = Task(name="locked", make_env=lambda: (lock, corridor().make_env())[1], goal=reached, unsafe=reached)
    with pytest.raises(UsageError, match="cannot be sent to a worker process"):
        Engine(task, backend="processes", workers=2)
