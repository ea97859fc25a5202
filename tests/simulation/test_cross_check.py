"""What hangs on one process alone is noticed: in that process, in another, or in a run's own episodes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simulation import hidden
from tests.simulation.broken import Line, NumpyGlobal, PythonGlobal, line_task
from tightrope.errors import NotReproducible, TightropeError
from tightrope.simulation import CrossCheck, check_task, cross_check, open_simulator
from tightrope.simulation.conformance import second_process
from tightrope.simulation.conformance.cross_checking import seen_along
from tightrope.simulation.conformance.second_process import NoAnswer, ask_all, nurseries
from tightrope.tasks import make_task
from tightrope.trace import ActionTrace

HERE = {
    # noticed in one process, by playing the same again
    hidden.Ticking: "reward differs",
    hidden.Threaded: "reward differs",
    hidden.UnseededGenerator: "reward differs",
    hidden.SystemRandom: "reward differs",
    hidden.FileCounter: "reward differs",
    hidden.FirstRun: "reward differs",
    NumpyGlobal: "NumPy's global generator",
    PythonGlobal: "Python's global generator",
    # noticed in one process, by stepping two environments in turn
    hidden.ClassPlace: r"disturb each other.*one_per_process=True",
    hidden.ClassObservation: r"disturb each other.*observation that was shown already differs",
    hidden.ClassMask: r"disturb each other.*action mask that was shown already differs",
    hidden.SeededGlobal: r"disturb each other.*one_per_process=True",
}
ELSEWHERE = {
    hidden.SetOrder: "order of a set",
    hidden.StringHash: r"hash\(\)",
    hidden.ProcessId: "process id",
    hidden.Address: r"id\(\)",
    hidden.Remembering: "attribute of a class or a module",
    hidden.HourOfDay: "the clock",
    hidden.Weekday: "the clock",
    hidden.LocalMonth: "the clock",
}
LATER = (hidden.ClassCounter, hidden.ModuleCounter, hidden.RareHash, hidden.RareClock)
"""Not met by a check of a second; met by what a run itself plays."""


@pytest.fixture(scope="module")
def behaving() -> Any:
    return check_task(line_task())


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    yield
    for kind in (hidden.FileCounter, hidden.FirstRun):
        kind.path.unlink(missing_ok=True)


@pytest.mark.parametrize("environment", HERE)
def test_kinds_noticed_in_one_process(environment: type[Line]) -> None:
    with pytest.raises(TightropeError, match=f"(?s){HERE[environment]}"):
        check_task(line_task(environment))


@pytest.mark.parametrize("environment", ELSEWHERE)
def test_kinds_noticed_in_another_process(environment: type[Line]) -> None:
    with pytest.raises(NotReproducible, match=ELSEWHERE[environment]) as refusal:
        check_task(line_task(environment))
    told = str(refusal.value)
    assert "a random walk from reset(seed=" in told
    assert re.search(r"played again in another process, and reward differs at step \d+: \S+ instead of \S+\. ", told)


@pytest.mark.parametrize("environment", LATER)
def test_kinds_noticed_in_what_a_run_itself_plays(environment: Any) -> None:
    task = line_task(environment, max_steps=400)
    # What other tests have counted in this process would show at the start already.
    hidden.ClassCounter.episodes = hidden._steps = 0
    assert check_task(task).cross_check.steps > 0, "too rare for the check at the start"
    simulator = open_simulator(task)
    if environment is hidden.ClassCounter:
        environment.episodes = environment.patience
    if environment is hidden.ModuleCounter:
        hidden._steps = environment.patience
    # With its start put back instead of reset, a simulator does not count episodes; an engine's first does.
    simulator._starts.clear()
    expected = seen_along(simulator, ActionTrace(task.label, 0, (1,) * 200), "the episode of agent 'forward'")
    with pytest.raises(NotReproducible, match=r"the episode of agent 'forward' was played again .* and reward differs"):
        cross_check(task, [expected])


def test_a_key_that_reads_differently_elsewhere_is_noticed() -> None:
    with pytest.raises(NotReproducible, match=r"state key differs at step \d+: Place"):
        check_task(line_task(state_key=hidden.word_key))


def test_there_are_at_least_seventeen_kinds() -> None:
    assert len(HERE) + len(ELSEWHERE) + len(LATER) >= 17


def test_one_environment_per_process_makes_shared_state_exact() -> None:
    for environment in (hidden.ClassPlace, hidden.SeededGlobal):
        verdict = check_task(line_task(environment, one_per_process=True))
        assert verdict.method == "replay"
        assert verdict.cross_check.steps > 0


# -------------------------------------------------------------------------------------------------- what is recorded


def test_a_check_says_how_much_was_cross_checked() -> None:
    check = check_task(line_task()).cross_check
    assert check.processes == 2
    assert check.episodes >= 2
    assert check.steps >= 100
    assert not check.skipped


def test_the_first_difference_is_named_with_both_values(behaving: Any) -> None:
    task = line_task()
    simulator = open_simulator(task, behaving)
    expected = seen_along(simulator, ActionTrace("line", 0, (1, 1, 1)), "the walk")
    assert cross_check(task, [expected]) == CrossCheck(episodes=1, steps=3, processes=2)
    changed = line_task(lambda: Shifted())
    with pytest.raises(NotReproducible, match=r"the walk was .*reward differs at step 2: 2\.0 instead of 1\.0\. What"):
        cross_check(changed, [expected])


class Shifted(Line):
    """Gives another reward in its second step."""

    def reward(self, move: float) -> float:
        return move + float(self.place == 2.0)


def test_randomness_is_played_again_with_its_seeds() -> None:
    task = make_task("FrozenLake-v1", is_slippery=True)
    simulator = open_simulator(task)
    for seed in range(5):
        trace = ActionTrace(task.label, 0, (2, 1, 2, 1), ((0, seed), (2, seed + 100)))
        assert cross_check(task, [seen_along(simulator, trace, "a walk")]).steps >= 1


def test_playing_ends_with_its_time(behaving: Any) -> None:
    task = line_task()
    expected = seen_along(open_simulator(task, behaving), ActionTrace("line", 0, (1,) * 2000), "a walk")
    check = cross_check(task, [expected] * 1000, seconds=0.2)
    assert 1 <= check.episodes < 1000


# ------------------------------------------------------------------------------------ what cannot be cross-checked


def test_a_task_that_cannot_travel_says_so(behaving: Any) -> None:
    lock = threading.Lock()
    task = line_task(goal=lambda transition: lock.locked())
    check = check_task(task).cross_check
    assert (check.episodes, check.processes) == (0, 0)
    assert "cannot be sent to" in check.skipped


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (lambda: os._exit(0), "ended its process with exit code 0"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "ended its process with signal 9"),
    ],
)
def test_an_environment_that_ends_its_process_ends_only_a_child(behaving: Any, ending: Any, told: str) -> None:
    here = os.getpid()

    class Ending(Line):
        def reward(self, move: float) -> float:
            if os.getpid() != here:
                ending()
            return move

    task = line_task(Ending)
    expected = seen_along(open_simulator(task, behaving), ActionTrace("line", 0, (1,)), "a walk")
    assert told in cross_check(task, [expected]).skipped
    assert cross_check(line_task(), [expected]).episodes == 1


def test_no_answer_in_time_is_given_up(behaving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()

    class Hanging(Line):
        def reward(self, move: float) -> float:
            if os.getpid() != here:
                time.sleep(60)
            return move

    monkeypatch.setattr(second_process, "LONGEST_WAIT", 0.5)
    task = line_task(Hanging)
    expected = seen_along(open_simulator(task, behaving), ActionTrace("line", 0, (1,)), "a walk")
    assert "no answer came within" in cross_check(task, [expected], seconds=0.1).skipped


def test_an_environment_that_cannot_be_made_elsewhere_is_told() -> None:
    here = os.getpid()

    def make_env() -> Line:
        if os.getpid() != here:
            raise OSError("the port is taken")
        return Line()

    check = check_task(line_task(make_env)).cross_check
    assert "make_env() raised OSError: the port is taken" in check.skipped


@pytest.mark.parametrize(
    ("fault", "told"), [(lambda: 1.0 / 0.0, "ZeroDivisionError"), (lambda: sys.exit(0), r"sys\.exit\(0\)")]
)
def test_an_error_elsewhere_is_a_difference(behaving: Any, fault: Any, told: str) -> None:
    here = os.getpid()

    class Raising(Line):
        def reward(self, move: float) -> float:
            return move if os.getpid() == here else float(fault())

    task = line_task(Raising)
    expected = seen_along(open_simulator(task, behaving), ActionTrace("line", 0, (1,)), "a walk")
    with pytest.raises(NotReproducible, match=rf"the environment differs at step 1: an error \(.*{told}"):
        cross_check(task, [expected])


# --------------------------------------------------------------------------------------------- the other processes


def other_self() -> tuple[int, str, float, str]:
    return os.getpid(), os.environ["PYTHONHASHSEED"], time.time(), str(hash("a word"))


def test_the_others_differ_in_all_that_matters() -> None:
    first, second = ask_all(other_self, (), seconds=1.0, count=2)
    again, _ = ask_all(other_self, (), seconds=1.0, count=2)
    assert len({os.getpid(), first[0], second[0], again[0]}) == 4, "each question has a process of its own"
    assert first[1] != second[1]
    assert len({str(hash("a word")), first[3], second[3]}) == 3
    assert abs(first[2] - time.time()) < 100
    assert second[2] - time.time() > 300 * 86_400


def test_what_one_question_leaves_behind_another_does_not_see() -> None:
    leaving = ask_all(leave_behind, (), seconds=1.0, count=1)
    assert leaving == ask_all(leave_behind, (), seconds=1.0, count=1) == [1]


def leave_behind() -> int:
    np.left_behind = getattr(np, "left_behind", 0) + 1  # type: ignore[attr-defined]
    return int(np.left_behind)  # type: ignore[attr-defined]


def test_a_nursery_that_died_is_replaced() -> None:
    (nursery,) = nurseries(1)
    os.kill(nursery._process.pid, signal.SIGKILL)
    nursery._process.wait()
    assert len(ask_all(other_self, (), seconds=1.0, count=1)) == 1


def test_a_nursery_that_is_not_asked_ends_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient = (
        "import sys; import tightrope.simulation.conformance.second_process as other; other.IDLE_SECONDS = 0.2; "
    )
    monkeypatch.setattr(second_process, "MAIN", impatient + "other.main(*map(int, sys.argv[1:]))")
    second_process._end_all()
    (nursery,) = nurseries(1)
    assert nursery._process.wait(10) == 0
    assert not nursery.usable
    monkeypatch.undo()
    assert len(ask_all(other_self, (), seconds=1.0, count=1)) == 1


def test_an_error_in_a_question_is_told() -> None:
    with pytest.raises(NoAnswer, match="ValueError"):
        ask_all(int, ("seven",), seconds=1.0, count=1)


ORPHANS = """
import os, sys, time
from tightrope.simulation.conformance.second_process import nurseries, ask_all
asked = nurseries(2)
for nursery in asked:
    nursery.ask(__import__("pickle").dumps((time.sleep, (600,))))
time.sleep(1.0)
print(*(nursery._process.pid for nursery in asked), flush=True)
os._exit(9) if sys.argv[1] == "dies" else None
"""


@pytest.mark.parametrize("how", ["dies", "ends"])
def test_the_others_end_with_the_process_that_started_them(how: str) -> None:
    script = subprocess.run([sys.executable, "-c", ORPHANS, how], capture_output=True, text=True, timeout=60)
    pids = [int(word) for word in script.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
