"""How a command ends: 0 only where a gate was judged and passed, whatever code of the user's does to its process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import family, runs
from tightrope.cli import run_command
from tightrope.cli.output.verdicts import code_of
from tightrope.cli.process.exit_codes import CODES
from tightrope.runs.gates import Gate

ROOT = Path(__file__).parents[2]
GATE = ["--suite", "simple", "--max-fail", "0", "--no-control", "-n", "2", "--quiet"]
SUPERVISION = "import tightrope.cli.process.supervision as s"
INLINE = ["--backend", "inline"]
PROCESSES = ["--backend", "processes", "--workers", "1"]

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """A command in this process: what `sys.exit` can do, it does here."""

    def command(*arguments: Any) -> tuple[int, str]:
        code = run_command([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out + captured.err

    return command


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake") / "run"
    lake = ["FrozenLake-v1", "--set", "is_slippery=false"]
    assert run_command(["search", *lake, "--out", str(folder), "--quiet"]) == 0
    return folder


def started(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """The command as a shell starts it: where the tests run in the background of a script, they ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "tightrope", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(command, cwd=ROOT, text=True, **pipes)


def finished(*arguments: Any, **options: Any) -> tuple[int, str, str]:
    process = started(*arguments, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def agent(name: str) -> list[str]:
    return ["--agent", f"tests.cli.leaving:{name}"]


@pytest.mark.parametrize("name", ["exits", "exits_with_256", "exits_with_text"])
@pytest.mark.parametrize("backend", [INLINE, PROCESSES], ids=["inline", "processes"])
def test_an_agent_that_exits_has_not_passed(searched: Path, run: Run, name: str, backend: list[str]) -> None:
    code, told = run("safety", searched, *agent(name), *GATE, *backend)
    assert code == 3
    assert f"agent '{name}' called sys.exit(" in told
    assert "gate not judged" in told


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("tests.cli.leaving_at_once:agent", "importing its module tests.cli.leaving_at_once called sys.exit(0)"),
        ("tests.cli.leaving:unmade", "the agent's factory tests.cli.leaving:unmade called sys.exit(0)"),
    ],
)
def test_an_agent_that_exits_before_it_is_one_is_wrong_use(searched: Path, run: Run, source: str, named: str) -> None:
    code, told = run("safety", searched, "--agent", source, *GATE, *INLINE)
    assert code == 2
    assert named in told


@pytest.mark.parametrize(
    ("where", "code", "named"),
    [
        ("builder", 2, "the task function 'tests.cli.leaving:lake' called sys.exit(0)"),
        ("make_env", 2, "it called sys.exit(0)"),
        ("reset", 3, "reset(seed=0) called sys.exit(0)"),
        ("step", 3, "step(action="),
        ("unsafe", 2, "unsafe of task"),
        ("goal", 2, "goal of task"),
        ("state_key", 2, "state_key of task"),
        ("close", 3, "leaving.py, line"),
    ],
)
def test_a_task_that_exits_is_named(run: Run, tmp_path: Path, where: str, code: int, named: str) -> None:
    lake = ["tests.cli.leaving:lake", "--set", "how=exit", "--set", f"where={where}"]
    gate = ["--agent", "tests.sample_agents:careful", "--max-fail", "0.5", *INLINE]
    found, told = run("run", *lake, "--out", tmp_path / "run", *gate)
    assert found == code
    assert named in told
    assert "called sys.exit(0)" in told


def test_a_task_that_exits_when_it_is_imported_is_named(run: Run) -> None:
    code, told = run("check", "tests.cli.leaving_at_once:task")
    assert code == 2
    assert "importing its module tests.cli.leaving_at_once called sys.exit(0)" in told


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("leaves", "ended by itself with exit code 0"),
        ("copies", "ended by itself with exit code 0"),
        ("threads", "ended by itself with exit code 0"),
        ("killed", "was ended by signal 9 (Killed)"),
    ],
)
def test_an_agent_that_ends_the_process_has_not_passed(searched: Path, name: str, named: str) -> None:
    code, _, err = finished("safety", searched, *agent(name), *GATE, *INLINE)
    assert code == 3
    assert f"error: the process {named} before the command had come to its end" in err


def test_a_worker_that_is_ended_by_its_agent_is_an_error_of_its_work(searched: Path, run: Run) -> None:
    code, told = run(
        "safety", searched, *agent("leaves_elsewhere"), *GATE, *PROCESSES, "--states", "1", "--episodes", "1"
    )
    assert code == 3
    assert "the worker process ended with 0" in told
    assert "gate not judged" in told


def test_an_environment_that_ends_the_process_is_not_a_success(tmp_path: Path) -> None:
    lake = ["tests.cli.leaving:lake", "--set", "how=_exit", "--set", "where=step"]
    assert finished("search", *lake, "--out", tmp_path / "run")[0] == 3


def test_what_runs_at_exit_does_not_change_the_verdict(searched: Path) -> None:
    code, out, _ = finished("safety", searched, *agent("failing_politely"), *GATE, *INLINE)
    assert code == 1
    assert "gate FAILED" in out


def test_a_thread_that_never_ends_does_not_hold_up_the_verdict(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"{SUPERVISION}; s.SECONDS_TO_LEAVE = 1.0; from tightrope.cli import main; main()"
    arguments = ["safety", str(searched), *agent("passing_then_hanging"), *GATE, *INLINE]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, timeout=60, capture_output=True)
    assert done.returncode == 0
    assert b"gate passed" in done.stdout


def test_the_way_of_macos_ends_alike(searched: Path) -> None:
    code = f"{SUPERVISION}; s.must_execute = lambda: True; from tightrope.cli import main; main()"

    def ended(name: str) -> int:
        arguments = ["safety", str(searched), *agent(name), *GATE, *INLINE]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=ROOT, timeout=60, capture_output=True, env=environment
        ).returncode

    assert [ended("leaves"), ended("failing_politely")] == [3, 1]


@pytest.fixture
def busy(searched: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A command in the middle of its work, and its processes: one of them a worker that asks the agent."""
    asked_in = tmp_path / "asked"
    asked_in.touch()
    environment = {**os.environ, "ASKED_IN": str(asked_in)}
    slow = ["safety", searched, *agent("slow"), "--suite", "simple", *PROCESSES]
    process = started(*slow, start_new_session=True, env=environment)
    try:
        deadline = time.monotonic() + 60
        members: list[int] = []
        while not {*asked_in.read_text().split()} & {*map(str, members[2:])} and time.monotonic() < deadline:
            time.sleep(0.05)
            members = family(process.pid)
        yield process, members
    finally:
        # Whatever went wrong, a command left behind would hold the run folder against all later tests.
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("signals", "to_all", "code"),
    [
        ([signal.SIGINT], False, 130),
        ([signal.SIGINT], True, 130),
        ([signal.SIGTERM], False, 130),
        ([signal.SIGTERM], True, 130),
        ([signal.SIGKILL], False, -9),
    ],
)
def test_a_signal_ends_the_command_and_all_it_has_started(
    busy: tuple[subprocess.Popen[str], list[int]], signals: list[signal.Signals], to_all: bool, code: int
) -> None:
    command, members = busy
    assert len(members) >= 3, "the command, the process that does its work, and a worker"
    for number in signals:
        (os.killpg if to_all else os.kill)(command.pid, number)
    assert command.wait(30) == code
    deadline = time.monotonic() + 5
    while any(map(runs, members)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(runs, members))
    if code == 130:
        assert command.stderr is not None
        assert "error: interrupted; what was finished is kept" in command.stderr.read()


def test_output_that_cannot_be_written_is_not_a_success() -> None:
    with open("/dev/full", "w") as full:
        code, _, err = finished("tasks", stdout=full)
    assert code == 3
    assert "the results could not be written (No space left on device)" in err
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_success_and_nobodys_fault() -> None:
    with started("tasks") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert process.returncode == 3
    assert "the program that reads this output stopped" in told
    assert "sys.exit" not in told


def test_closed_streams_are_no_trap(searched: Path) -> None:
    """The first files a process opens get the numbers of closed streams, and prints then end up in those files."""
    command = f'exec "{sys.executable}" -m tightrope safety "{searched}" {" ".join([*agent("exits"), *GATE, *INLINE])}'
    assert subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], cwd=ROOT, timeout=60).returncode == 3
    command = command.replace("tests.cli.leaving:exits", "tests.sample_agents:careful")
    assert subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], cwd=ROOT, timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [([], 3), ([True], 0), ([True, True], 0), ([True, None], 3), ([True, False], 1), ([None, False], 1), ([None], 3)],
)
def test_gates_pass_only_where_there_are_some_and_all_do(verdicts: list[bool | None], code: int) -> None:
    gates = [Gate(name="fail frequency", agent="a", suite="s", passed=verdict, detail="") for verdict in verdicts]
    assert code_of(gates) == code
    assert code in CODES


@pytest.mark.parametrize("backend", [INLINE, PROCESSES], ids=["inline", "processes"])
def test_prints_of_an_agent_do_not_break_the_output_for_machines(
    searched: Path, tmp_path: Path, backend: list[str]
) -> None:
    folder = shutil.copytree(searched, tmp_path / "run")
    code, out, err = finished("safety", folder, *agent("talkative"), *GATE, *backend, "--json")
    assert code == 0
    assert [gate["passed"] for gate in json.loads(out)["gates"]] == [True]
    for line in ("I see ", "and again", "from below"):
        assert line in err


@pytest.mark.parametrize("backend", [INLINE, PROCESSES], ids=["inline", "processes"])
def test_an_agent_that_never_answers_has_not_passed(searched: Path, run: Run, backend: list[str]) -> None:
    code, told = run(
        "safety", searched, *agent("asleep"), *GATE, *backend, "--step-timeout", "2", "--states", "1", "--episodes", "1"
    )
    assert code == 3
    assert "agent 'asleep'" in told
    assert "did not return within 2 s" in told
    assert "gate not judged" in told


@pytest.mark.parametrize(("where", "named"), [("step", "step(action="), ("reset", "reset(seed=0)")])
def test_a_task_that_hangs_is_named(run: Run, tmp_path: Path, where: str, named: str) -> None:
    lake = ["tests.cli.leaving:lake", "--set", "how=sleep", "--set", f"where={where}"]
    code, told = run("search", *lake, "--out", tmp_path / "run", "--step-timeout", "2")
    assert code == 3
    assert named in told
    assert "did not return within 2 s" in told


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("compiled", "agent 'compiled': its answer has not returned for"),
        ("holding", "in compiled code that does not let go of the interpreter"),
    ],
)
def test_compiled_code_that_hangs_in_the_commands_own_process_ends_it(searched: Path, name: str, named: str) -> None:
    code = """
        import tightrope.cli.process.supervision as supervision, tightrope.guards.watchdog as watchdog
        supervision.SECONDS_OF_SILENCE = watchdog.SECONDS_TO_GIVE_IN = 2.0
        from tightrope.cli import main
        main()
    """
    arguments = ["safety", str(searched), *agent(name), *GATE, *INLINE, "--step-timeout", "2"]
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert done.returncode == 3
    assert named in done.stderr
    if name == "holding":
        assert "leaving.py" in done.stderr, "the stack says where"
