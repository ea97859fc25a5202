"""Environments, agents and tasks that never return: the call is named, its rollout is an error, the rest goes on."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.execution.test_robustness import with_world
from tests.execution.workload import Steady
from tests.processes import processor_time, runs
from tightrope.agents import Answer
from tightrope.errors import EnvironmentFailure, UsageError
from tightrope.execution import Engine, Episode, ErrorKind, Rollout
from tightrope.execution.lost_rollouts import MOST_HANGS
from tightrope.guards import watchdog
from tightrope.guards.calls import calls_out, described_in
from tightrope.guards.faults import TookTooLong
from tightrope.guards.watchdog import STEP_TIMEOUT, Watchdog, limit_here, time_limited
from tightrope.simulation import Conformance, conformance_of, open_simulator
from tightrope.tasks import Task, Transition
from tightrope.testing import TabularWorld, corridor_task
from tightrope.trace import ActionTrace

LIMIT = 1.0


def deadlock(library: ctypes.CDLL) -> None:
    """Wait in compiled code for a lock that nobody will open; no signal ends that."""
    lock = ctypes.create_string_buffer(128)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)


def hang(how: str) -> None:
    if how == "dozing":
        time.sleep(1.5)
    elif how == "asleep":
        time.sleep(3600)
    elif how == "stubborn":
        while True:
            try:
                time.sleep(3600)
            except Exception:
                continue
    elif how == "compiled":
        deadlock(ctypes.CDLL(None))
    elif how == "compiled, holding the interpreter":
        deadlock(ctypes.PyDLL(None))


class Hanging(TabularWorld):
    """Does not come back from one action in one place."""

    how = "asleep"

    def step(self, action: int) -> Any:
        if self.state == 5 and action == 0:
            hang(self.how)
        return super().step(action)


class Stubborn(Hanging):
    how = "stubborn"


class Compiled(Hanging):
    how = "compiled"


class Holding(Hanging):
    how = "compiled, holding the interpreter"


def world(kind: type[TabularWorld]) -> Task:
    return with_world(kind, corridor_task(length=8, holes=()))


def work_around(hanging: Rollout) -> list[Rollout]:
    others = [Rollout(start=hanging.start, actions=(0,) * n + (1,) * 3) for n in range(5)]
    return [*others[:2], hanging, *others[2:]]


def check(found: list[Episode], hanging: Rollout, named: str) -> None:
    assert [episode.error for episode in found if episode.rollout != hanging] == [None] * 5
    (error,) = [episode.error for episode in found if episode.rollout == hanging]
    assert error is not None
    assert error.kind is ErrorKind.HANG
    assert named in error.message
    assert f"did not return within {LIMIT:g} s" in error.message


@pytest.mark.parametrize("kind", [Hanging, Stubborn])
def test_a_step_that_hangs_is_interrupted_in_this_process(kind: type[TabularWorld]) -> None:
    task = world(kind)
    hanging = Rollout(start=ActionTrace(task.label, 0), actions=(0,) * 7)
    handler = signal.getsignal(signal.SIGURG)
    with Engine(task, step_timeout=LIMIT) as engine:
        found = engine.run(work_around(hanging))
        check(found, hanging, "step 6 with action 0 did not return")
        assert "reset(seed=0) and the actions [0, 0, 0, 0, 0]" in str(found[2].error)
    assert signal.getsignal(signal.SIGURG) is handler
    assert "watchdog" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("kind", [Hanging, Compiled, Holding])
def test_a_worker_in_which_a_step_hangs_is_replaced(kind: type[TabularWorld], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tightrope.execution.backends.processes.SECONDS_OF_SILENCE", 3.0)
    task = world(kind)
    hanging = Rollout(start=ActionTrace(task.label, 0), actions=(0,) * 7)
    with Engine(task, backend="processes", workers=2, step_timeout=LIMIT) as engine:
        found = engine.run(work_around(hanging))
        check(found, hanging, "step()")
        again = engine.run(work_around(hanging)[:2])
        assert [episode.error for episode in again] == [None, None]


class Thinker(Steady):
    """Thinks for ever about one place."""

    name, fingerprint = "thinker", "thinker"

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        if any(seen == 4 for seen in observations):
            time.sleep(3600)
        return super().act(observations, memories, generators, masks)


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_an_answer_that_does_not_come_spoils_its_own_rollouts_only(backend: str) -> None:
    task = corridor_task(length=8, holes=())
    starts = [ActionTrace(task.label, 0, (0,) * n) for n in (1, 4, 6)]
    work = [Rollout(start=start, agent="thinker", length=1) for start in starts]
    workers = 1 if backend == "processes" else None
    with Engine(task, {"thinker": Thinker((0, 1))}, backend=backend, workers=workers, step_timeout=LIMIT) as engine:
        found = engine.run(work)
    assert [episode.error is None for episode in found] == [True, False, True]
    error = found[1].error
    assert error is not None
    assert error.kind is ErrorKind.HANG
    assert "agent 'thinker'" in error.message
    assert f"did not return within {LIMIT:g} s" in error.message


class Sphinx(Steady):
    name, fingerprint = "sphinx", "sphinx"

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        time.sleep(3600)
        return super().act(observations, memories, generators, masks)


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_an_agent_that_never_answers_is_not_waited_for_each_time(backend: str) -> None:
    task = corridor_task(length=8, holes=())
    work = [Rollout(start=ActionTrace(task.label, 0, (0,) * (n % 6)), agent="sphinx", length=n) for n in range(1, 40)]
    others = [Rollout(start=ActionTrace(task.label, 0), agent="steady", length=n) for n in range(1, 4)]
    made = {"sphinx": Sphinx((0, 1)), "steady": Steady((0, 1))}
    workers = 1 if backend == "processes" else None
    started = time.monotonic()
    with Engine(task, made, backend=backend, workers=workers, step_timeout=LIMIT) as engine:
        found = engine.run([*work, *others])
    assert time.monotonic() - started < 30, "39 answers would be waited for, if each were"
    assert all(episode.error for episode in found[:39])
    assert [episode.error for episode in found[39:]] == [None] * 3
    waited = [episode for episode in found if "did not return within" in str(episode.error)]
    assert len(waited) == MOST_HANGS
    unasked = [episode for episode in found if f"not run, because in {MOST_HANGS} others" in str(episode.error)]
    assert len(unasked) == 39 - MOST_HANGS


def sleeps_at_goal(transition: Transition) -> bool:
    if transition.observation == 3:
        time.sleep(3600)
    return False


class SleepsAtReset(TabularWorld):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed == 7:
            time.sleep(3600)
        return super().reset(seed=seed, options=options)


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_a_predicate_and_a_reset_that_hang_are_named(backend: str) -> None:
    plain = corridor_task(length=8, holes=())
    predicate = plain.with_options(goal=sleeps_at_goal)
    conformance_of(predicate, conformance_of(plain))
    workers = 1 if backend == "processes" else None
    for task, start, named in (
        (predicate, ActionTrace(plain.label, 0), "goal"),
        (with_world(SleepsAtReset, plain), ActionTrace(plain.label, 7), "reset("),
    ):
        with Engine(task, backend=backend, workers=workers, step_timeout=LIMIT) as engine:
            (episode,) = engine.run([Rollout(start=start, actions=(0,) * 5)])
        assert f"did not return within {LIMIT:g} s" in str(episode.error)
        assert named in str(episode.error)


ORPHANED = """
    import sys, threading
    sys.path[:0] = {path!r}
    from tests.execution.test_hangs import Rollout, ActionTrace, Engine, {kind}, world
    task = world({kind})
    engine = None
    def begin():
        global engine
        engine = Engine(task, backend="processes", workers=1, step_timeout=0)
    {begin}
    print(*engine._runner.backend.process_ids, flush=True)
    engine.run([Rollout(start=ActionTrace(task.label, 0), actions=(0,) * 7)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("kind", "number", "begin"),
    [
        ("Holding", signal.SIGTERM, "begin()"),
        ("Holding", signal.SIGKILL, "begin()"),
        ("Hanging", signal.SIGKILL, "thread = threading.Thread(target=begin); thread.start(); thread.join()"),
    ],
)
def test_a_worker_that_hangs_does_not_outlive_its_parent(kind: str, number: signal.Signals, begin: str) -> None:
    code = textwrap.dedent(ORPHANED).format(path=[str(Path(__file__).parents[2])], kind=kind, begin=begin)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = parent.stdout.readline().strip()
    assert worker
    # Until it has nothing more to do but to wait: no processor time is used any more.
    deadline = time.monotonic() + 30
    while (used := processor_time(worker)) != (time.sleep(1.0) or processor_time(worker)):  # type: ignore[func-returns-value]
        assert time.monotonic() < deadline, used
    assert runs(worker), "it lives on although the thread that started it is gone"
    parent.send_signal(number)
    assert parent.wait(10) == -number
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while runs(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(worker)


def search_in_vain(task: Task, payload: tuple[int, Conformance]) -> int:
    steps, conformance = payload
    simulator = open_simulator(task, conformance)
    simulator.reset()
    for _ in range(steps):
        simulator.step(0)
    return steps


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_a_mapped_function_that_hangs_is_an_error_of_the_task(backend: str) -> None:
    workers = 2 if backend == "processes" else None
    with Engine(world(Hanging), backend=backend, workers=workers, step_timeout=LIMIT) as engine:
        assert engine.map(search_in_vain, [(n, engine.conformance) for n in (1, 2)]) == [1, 2]
        with pytest.raises(EnvironmentFailure, match="did not return within 1 s"):
            engine.map(search_in_vain, [(n, engine.conformance) for n in (1, 6, 2)])


class Slow(TabularWorld):
    def step(self, action: int) -> Any:
        time.sleep(0.25)
        return super().step(action)


@pytest.mark.parametrize("step_timeout", [LIMIT, 0])
@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_many_slow_steps_are_not_one_that_hangs(backend: str, step_timeout: float) -> None:
    task = world(Slow)
    work = [Rollout(start=ActionTrace(task.label, 0), actions=(0, 1) * 5)]
    workers = 1 if backend == "processes" else None
    with Engine(task, backend=backend, workers=workers, step_timeout=step_timeout) as engine:
        started = time.monotonic()
        (episode,) = engine.run(work)
    assert time.monotonic() - started > 2 * LIMIT
    assert episode.error is None


def test_a_limit_below_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="step_timeout must be 0 or more, not -1"):
        Engine(corridor_task(), step_timeout=-1)


@calls_out("the tester", sleep="its nap")
def nap(how: str) -> None:
    hang(how)


@calls_out("{who}")
def naps_of(who: str) -> None:
    with time_limited(0.3):
        anonymous_nap()


@calls_out("somebody", sleep="a nap")
def anonymous_nap() -> None:
    hang("asleep")


def test_a_call_is_named_by_the_innermost_that_knows_a_name() -> None:
    with pytest.raises(TookTooLong) as caught:
        naps_of("Ann")
    assert caught.value.what == "Ann: a nap"
    with time_limited(0.3), pytest.raises(TookTooLong) as caught:
        anonymous_nap()
    assert caught.value.what == "somebody: a nap"


def test_compiled_code_that_cannot_be_interrupted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that is thrown away: nothing else would end it."""
    monkeypatch.setattr(watchdog, "SECONDS_TO_GIVE_IN", 0.3)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with time_limited(0.3, on_stuck=lambda what: (os.write(writing, what.encode()), os._exit(7))):  # type: ignore[func-returns-value]
            nap("compiled")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert os.read(reading, 1000).decode().startswith("the tester: its nap has not returned for ")
    os.close(reading)
    os.close(writing)


def test_without_anybody_to_tell_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        watchdog._log("the tester: its nap has not returned for 9 s")
    assert "cannot be interrupted" in caplog.text
    assert "backend='processes'" in caplog.text


def test_the_inner_limit_holds_and_other_threads_have_none() -> None:
    with time_limited(300) as none, time_limited(0.3) as before:
        assert (none, before) == (0, 300)
        with pytest.raises(TookTooLong, match=r"within 0\.3 s"):
            nap("asleep")
        with time_limited(0) as before:
            assert before == 0.3
            assert limit_here(None) == 0
            nap("dozing")
        assert (limit_here(None), limit_here(5), limit_here(0)) == (0.3, 5, 0)
    assert limit_here(None) == STEP_TIMEOUT
    raised: list[BaseException] = []

    def elsewhere() -> None:
        try:
            with time_limited(0.1):
                time.sleep(0.5)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert raised == []


def test_a_process_that_was_suspended_has_not_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(watchdog.time, "monotonic", lambda: clock.append(clock[-1] + 3600.0) or clock[-1])
    told: list[str] = []
    dog = Watchdog(4.0, told.append)
    dog.start()
    nap("awake")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.execution.test_hangs.hang", lambda how: threading.Event().wait(2.5))
        nap("asleep")
    dog.stop()
    assert len(clock) > 2
    assert told == []


def test_a_stack_written_by_faulthandler_names_the_call(tmp_path: Path) -> None:
    import faulthandler

    written = tmp_path / "stack"
    with written.open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.execution.test_hangs.hang", lambda how: faulthandler.dump_traceback(file))
        nap("awake")
    assert described_in(written.read_text()) == "its nap"
    assert described_in('Thread 0x1:\n  File "x.py", line 3 in step\n') is None
