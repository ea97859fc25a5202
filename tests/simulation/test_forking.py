"""Environments in processes that are forked: the same results as by replay, and nobody is left behind."""

from __future__ import annotations

import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.processes import family, runs
from tests.simulation.broken import Line, line_task
from tightrope.agents import load_agent
from tightrope.errors import EnvironmentFailure
from tightrope.execution import Engine, Rollout
from tightrope.execution.naive import run_naively
from tightrope.guards.watchdog import time_limited
from tightrope.simulation import Conformance, Simulator, conformance_of, open_simulator
from tightrope.simulation.conformance.examination import REPLAY
from tightrope.simulation.forking.environment import ForkCosts, ForkedEnv
from tightrope.simulation.forking.family import MOST_KEPT, end_processes, family_of
from tightrope.simulation.forking.measuring import examine_forking
from tightrope.simulation.forking.measuring import pays as forks_pay
from tightrope.simulation.forking.transport import send
from tightrope.tasks import Task
from tightrope.trace import ActionTrace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")

DEAR = ForkCosts(reset=0.5, step=1.0, fork=2.5, ask=0.0)
"""As if a step cost a second: what is done does not hang on how fast this machine is."""
WALK = (1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1)
A_MINUTE = 60.0


class Hidden(Line):
    """Keeps a sum of random kicks where no snapshot looks: in a Python generator that is under way."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(seed=seed)
        self.kicks = self._kicks()
        next(self.kicks)
        return observation, info

    def _kicks(self) -> Iterator[float]:
        total = 0.0
        while True:
            total += float(self.np_random.normal())
            yield total

    def reward(self, move: float) -> float:
        return move + next(self.kicks)


def place_of(env: Any, observation: Any, info: Mapping[str, Any]) -> tuple[float, float]:
    """Looks into the environment, which is elsewhere."""
    return float(env.unwrapped.place), 0.0


def key_of(env: Any, observation: Any, info: Mapping[str, Any]) -> float:
    return float(env.unwrapped.place)


def hidden_task(make_env: Callable[[], Any] = Hidden, **fields: Any) -> Task:
    settings: dict[str, Any] = {
        "unsafe": lambda t: bool(t.observation[0] < -5), "goal": lambda t: bool(t.observation[0] > 8),
        "state_key": key_of, "position": place_of, "max_steps": 40,
    }  # fmt: skip
    return line_task(make_env, **{**settings, **fields})


def forked(task: Task) -> Conformance:
    """The task's verdict, with forks, whether or not they pay here."""
    return conformance_of(task, replace(verdict(), forking=DEAR))


@cache
def verdict() -> Conformance:
    """What a check finds of all these tasks; made once, because it takes a second."""
    found = conformance_of(hidden_task())
    assert (found.method, found.deterministic, found.forking) == (REPLAY, False, None)
    return found


@pytest.fixture
def task() -> Iterator[Task]:
    task = hidden_task()
    try:
        yield task
    finally:
        end_processes(task)


def played(simulator: Simulator, actions: tuple[int, ...] = WALK) -> list[Any]:
    return [(float(seen.observation[0]), seen.reward) for seen in (simulator.step(action) for action in actions)]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + A_MINUTE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_every_situation_is_put_back_exactly_and_paid_for_like_a_replay(task: Task) -> None:
    seen, counted, executed = [], [], []
    for found_out in (verdict(), forked(task)):
        with closing(open_simulator(task, found_out)) as simulator:
            simulator.reset(3, reseed=5)
            saved = [simulator.save()]
            for action in WALK:
                simulator.step(action)
                saved.append(simulator.save())
            found: list[Any] = []
            for depth in (7, 2, 9, 2, 11, 12, 7, 0):
                simulator.load(saved[depth], reseed=None if depth == 2 else depth)
                found.append(
                    (simulator.depth, simulator.transition.reward, simulator.key(), simulator.look("position"))
                )
                found += played(simulator, (1, 0, 1))
            seen.append(found)
            counted.append(simulator.counters)
            executed.append(getattr(simulator.env, "played_steps", simulator.counters.replayed_steps))
    assert seen[0] == seen[1]
    assert counted[0] == counted[1]
    assert 2 * executed[1] < executed[0]


def agents(task: Task) -> dict[str, Any]:
    def steady(observation: Any) -> int:
        return int(observation[0] < 3)

    def drawing(observation: Any, rng: np.random.Generator) -> int:
        return int(rng.integers(2))

    def remembering(observation: Any, memory: Any) -> Any:
        memory = 0 if memory is None else memory + 1
        return int(memory % 3 > 0), memory

    functions = {"steady": steady, "drawing": drawing, "remembering": remembering}
    return {name: load_agent(function, task=task, name=name) for name, function in functions.items()}


def rollouts(task: Task, **more: Any) -> list[Rollout]:
    starts = [ActionTrace(task.label, 3, WALK[:depth]) for depth in (0, 4, 9, 12)]
    return [
        Rollout(start=start, agent=name, length=6, seed=seed, record_keys=True, record_positions=True, **more)
        for name in ("steady", "drawing", "remembering")
        for start in starts
        for seed in range(2)
    ] + [Rollout(start=starts[2], actions=(1, 0, 1), seed=seed) for seed in range(2)]


@pytest.mark.parametrize(("backend", "fixed"), [("inline", True), ("inline", False), ("processes", True)])
def test_the_engine_gives_the_episodes_of_the_definition(task: Task, backend: str, fixed: bool) -> None:
    forked(task)
    plain, asked = task.open_env(), rollouts(task, fixed_prefix=fixed)
    with closing(Simulator(task, plain, None)) as simulator:
        expected = [run_naively(simulator, agents(task), one, deterministic=False) for one in asked]
    before = family(os.getpid())
    with Engine(task, agents(task), backend=backend, workers=1) as engine:
        assert engine.conformance.forking == DEAR
        found = engine.run(asked)
        workers = [member for member in family(os.getpid()) if member not in before]
    assert workers
    assert [shown(one) for one in found] == [shown(one) for one in expected]
    end_processes(task)
    wait_until(lambda: not any(map(runs, workers)))


def shown(episode: Any) -> tuple[Any, ...]:
    keys = None if episode.keys is None else episode.keys.tolist()
    positions = None if episode.positions is None else episode.positions.tolist()
    return episode.outcome, episode.actions, episode.rewards, episode.checksum, keys, positions, episode.error


# Who cannot be forked.


class Threaded(Hidden):
    """Has a thread under way, of which a fork would be without."""

    stopped = threading.Event()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        threading.Thread(target=self.stopped.wait, daemon=True).start()
        return super().reset(seed=seed)


class Shared(Line):
    """Its state lies in memory that a process shares with its copies."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = mmap.mmap(-1, 8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.shared[0] = 0
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        self.shared[0] += 1
        return float(self.shared[0])


class Waiting(Line):
    """Waits for a thread of its own, which a copy has not; as an engine beside it, which answers its original alone."""

    def __init__(self) -> None:
        super().__init__()
        self.owner = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.owner = os.getpid()
        return super().reset(seed=seed)

    def reward(self, move: float) -> float:
        while self.owner != os.getpid():
            time.sleep(0.01)
        return move


def quick_examination(task: Task) -> Any:
    """As if the environment were slow enough to be looked at."""
    try:
        return examine_forking(task, [(3, WALK)], steps_per_second=1.0)
    finally:
        end_processes(task)


@pytest.fixture
def always_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tightrope.simulation.forking.measuring.pays", lambda costs: True)


@pytest.mark.usefixtures("always_pays")
@pytest.mark.parametrize(
    ("world", "why"),
    [
        (Threaded, r"has other threads"),
        (Shared, r"after a leap to step \d+, step \d+ differs"),
        (Waiting, r"did not answer within 3 s"),
    ],
)
def test_what_cannot_be_forked_is_replayed_and_the_check_says_why(
    world: type[Line], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tightrope.simulation.forking.measuring.SECONDS_TO_TRY", 3.0 if world is Waiting else 300.0)
    found = quick_examination(hidden_task(world))
    assert found.costs is None
    assert found.note.startswith("processes with the environment cannot be forked")
    assert re.search(why, found.note)


@pytest.mark.usefixtures("always_pays")
def test_a_task_that_cannot_travel_is_replayed() -> None:
    lock = threading.Lock()
    found = quick_examination(hidden_task(lambda: Hidden() if lock else None))
    assert found.costs is None
    assert "cannot be sent" in found.note


@pytest.mark.usefixtures("always_pays")
def test_what_can_be_forked_is_told_with_its_costs() -> None:
    found = quick_examination(hidden_task())
    assert found.costs is not None
    assert "forking a process" in found.note


def test_what_is_quick_is_not_forked_and_no_process_is_started() -> None:
    before = family(os.getpid())
    assert examine_forking(hidden_task(), [(3, WALK)], steps_per_second=50_000.0).costs is None
    assert examine_forking(hidden_task(one_per_process=True), [(3, WALK)], steps_per_second=1.0).costs is None
    assert set(family(os.getpid())) <= set(before)


@pytest.mark.parametrize(
    ("costs", "pays"),
    [
        # As measured: a car race, a lunar lander, a walker; the walker made anew for every episode on a busy machine.
        (ForkCosts(reset=0.020, step=0.0085, fork=0.015, ask=1e-4), True),
        (ForkCosts(reset=0.0004, step=4e-5, fork=0.006, ask=1e-4), False),
        (ForkCosts(reset=0.005, step=2e-4, fork=0.006, ask=1e-4), False),
        (ForkCosts(reset=0.03, step=3e-4, fork=0.0075, ask=6e-5), False),
    ],
)
def test_forks_must_pay_clearly(costs: ForkCosts, pays: bool) -> None:
    assert forks_pay(costs) is pays


# Processes that end, and what is done about it.


def test_copies_that_are_gone_are_made_again(task: Task) -> None:
    found_out, before = forked(task), family(os.getpid())
    with closing(open_simulator(task, found_out)) as simulator:
        simulator.reset(3)
        expected, saved = played(simulator), simulator.save()
        simulator.load(saved)
        simulator.reset(4)
        simulator.load(saved)
        for member in family(os.getpid()):
            if member not in before:
                os.kill(member, signal.SIGKILL)
        simulator.reset(3)
        assert played(simulator) == expected


def test_only_so_many_copies_are_kept(task: Task) -> None:
    env = ForkedEnv(task, DEAR)
    with closing(env):
        for seed in range(MOST_KEPT + 4):
            env.prepare([("reset", seed), *(("step", action) for action in WALK[:4])], lambda action: action)
        kept = family_of(task)._kept
        assert len(kept) == MOST_KEPT
        assert family_of(task).depth_kept([("reset", 0), *(("step", action) for action in WALK)]) == 0
        assert family_of(task).depth_kept([("reset", 9), *(("step", action) for action in WALK)]) == 5


class Breaking(Hidden):
    """Raises, ends its process, or never returns, all at the third step to the left."""

    how = ""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.place <= -2 and not action:
            if self.how == "raises":
                raise ValueError("a broken leg")
            if self.how == "ends":
                os._exit(3)
            while True:
                pass
        return super().step(action)


class Raising(Breaking):
    how = "raises"


class Ending(Breaking):
    how = "ends"


class Endless(Breaking):
    how = "hangs"


@pytest.mark.parametrize(
    ("world", "words"),
    [(Raising, "raised ValueError: a broken leg"), (Ending, "the process of the environment ended"), (Endless, "1 s")],
)
def test_an_environment_that_breaks_is_named_and_the_next_episode_runs(world: type[Breaking], words: str) -> None:
    task = hidden_task(world)
    try:
        with closing(open_simulator(task, forked(task))) as simulator, time_limited(1.0):
            expected = [simulator.reset(3) and None, *played(simulator, (1, 1, 0))]
            simulator.reset(3)
            with pytest.raises(EnvironmentFailure, match=words):
                played(simulator, (0, 0, 0))
            assert [simulator.reset(3) and None, *played(simulator, (1, 1, 0))] == expected
    finally:
        end_processes(task)


class Told(Hidden):
    """Says that a step has begun, and ends it when it is told to."""

    folder = Path()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        (self.folder / "begun").touch()
        wait_until((self.folder / "end").exists)
        return super().step(action)


def test_what_is_sent_while_a_step_is_played_does_not_end_the_process(tmp_path: Path) -> None:
    """The kernel tells of a message after who reads it may have it: on a busy machine, in the midst of what it asks."""

    class Here(Told):
        folder = tmp_path

    task = hidden_task(Here)
    try:
        with closing(family_of(task).copy_before(())[0]) as branch:
            branch.ask("play", [("reset", 3)])
            send(branch._end.messages, ("play", ([("step", 1)],)))
            wait_until((tmp_path / "begun").exists)
            send(branch._end.messages, ("ping", ()))
            (tmp_path / "end").touch()
            (_, reward, *_), _ = branch._answer()
            assert reward == played_here(Here)
            assert branch._answer() is None
    finally:
        end_processes(task)


def played_here(world: type[Line]) -> float:
    with closing(Simulator(task := hidden_task(world), task.open_env(), None)) as simulator:
        simulator.reset(3)
        return simulator.step(1).reward


class EndsOnce(Hidden):
    """Is ended from outside at one of its steps, as by a system short of memory; not when it is played again."""

    folder = Path()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.place >= 3 and not (self.folder / "ended").exists():
            (self.folder / "ended").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


def test_a_rollout_whose_process_is_lost_is_run_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Here(EndsOnce):
        folder = tmp_path

    task = hidden_task(Here)
    forked(task)
    asked = [one for one in rollouts(task) if one.agent == "steady"]
    try:
        with Engine(task, agents(task)) as engine:
            found = engine.run(asked)
        assert (tmp_path / "ended").exists()
        with closing(Simulator(task, task.open_env(), None)) as simulator:
            expected = [run_naively(simulator, agents(task), one, deterministic=False) for one in asked]
        assert [shown(one) for one in found] == [shown(one) for one in expected]
        assert "the process of the environment ended; its rollout was run again, from reset" in caplog.text
    finally:
        end_processes(task)


PARENT = """
import sys, time
from tests.simulation.test_forking import Endless, forked, hidden_task
from tightrope.simulation import open_simulator

if __name__ == "__main__":
    task = hidden_task(Endless)
    simulator = open_simulator(task, forked(task))
    simulator.reset(3)
    for action in (1, 1, 1):
        simulator.step(action)
    saved = simulator.save()
    simulator.load(saved)
    simulator.reset(3)
    print("ready", flush=True)
    if sys.argv[1] == "waiting":
        time.sleep(3600)
    for action in (0, 0, 0):
        simulator.step(action)
"""


@pytest.mark.parametrize("doing", ["waiting", "in an endless step"])
def test_no_process_outlives_the_one_it_works_for(doing: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    path = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, str(script), doing], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "ready\n"
            # The first process, one that is kept, and the environment's own.
            wait_until(lambda: len(family(parent.pid)) >= 4)
            members = family(parent.pid)[1:]
        finally:
            parent.kill()
    wait_until(lambda: not any(map(runs, members)))


def test_memory_and_files_go_with_the_environment(task: Task) -> None:
    """As many open files after a hundred leaps as before."""
    with closing(open_simulator(task, forked(task))) as simulator:
        simulator.reset(3)
        played(simulator)
        saved = simulator.save()
        simulator.load(saved)
        before = len(os.listdir("/proc/self/fd"))
        for seed in range(12):
            simulator.reset(seed)
            simulator.load(saved)
        # Each copy is asked through one file, and watches another.
        assert len(os.listdir("/proc/self/fd")) <= before + 2 * (12 + 1)
    end_processes(task)
    assert len(os.listdir("/proc/self/fd")) < before
