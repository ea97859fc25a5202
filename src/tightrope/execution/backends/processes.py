"""Workers in processes of this machine, one per core.

They are started by hand rather than by ``multiprocessing``, which would import the user's script again in each of them.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from time import monotonic, sleep
from typing import IO, Any

import cloudpickle

from tightrope.agents.agent import Agent
from tightrope.errors import TightropeError, UsageError
from tightrope.execution.backends.backend import Assignment, Call, Report, Returned
from tightrope.execution.backends.opening import BackendRequest
from tightrope.execution.backends.packing import Setup, pack_agents, pack_rollouts
from tightrope.execution.episode_codec import unpack_episode
from tightrope.execution.rollout import Rollout
from tightrope.guards.calls import described_in

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    "1",
)
"""Numerical libraries read these when they are loaded; workers that each use all cores slow each other down."""

SECONDS_TO_LEAVE = 1.0
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_OF_SILENCE = 10.0
"""Beyond the limit of a call: a worker that is not even heard of holds its interpreter in compiled code."""
SECONDS_TO_DUMP = 0.3
LONGEST_STACK = 100_000


@dataclass(slots=True)
class _Process:
    process: subprocess.Popen[bytes]
    pipe: Connection
    agents: int
    """Version of the agents it knows."""
    stack: IO[bytes]
    """Where it writes its stack when it is asked to."""
    is_set_up: bool = False
    work: Assignment | None = field(default=None)
    silence: float | None = None
    """Seconds since it was last heard of, once it was."""


class ProcessBackend:
    """Starts workers when there is work, and replaces those that die."""

    may_stall = False

    def __init__(self, setup: Setup, workers: int, step_timeout: float) -> None:
        if sys.platform == "win32":
            raise UsageError('backend="processes" needs Linux or macOS; use backend="inline" or backend="ray" here')
        self.workers = workers
        self._setup, self._step_timeout = setup, step_timeout
        self._agents: dict[str, Agent] = {}
        self._version = 0
        self._processes: dict[int, _Process] = {}
        self.bytes_sent = 0
        self.bytes_received = 0
        self.messages = 0
        # They load their libraries while the caller prepares the work.
        self._start_missing()

    def submit(self, worker: int, work: Assignment) -> None:
        """Send work to a worker."""
        member = self._processes.get(worker) or self._restarted(worker)
        member.work = work
        with contextlib.suppress(OSError):  # it died; collect() will notice
            if not member.is_set_up:
                self._send(member, "setup", pickle.dumps(self._setup))
                member.is_set_up = True
            if member.agents < self._version:
                self._send(member, "agents", pack_agents(self._agents))
                member.agents = self._version
            if work and isinstance(work[0], Call):
                self._send(member, "calls", cloudpickle.dumps(list(work)))
            else:
                self._send(member, "rollouts", pack_rollouts(work))  # type: ignore[arg-type]

    def add(self, worker: int, rollouts: Sequence[Rollout]) -> None:
        """Send a worker more, which it looks for whenever it has room."""
        member = self._processes[worker]
        assert member.work is not None
        with contextlib.suppress(OSError):  # as in submit()
            self._send(member, "more", pickle.dumps((len(member.work) - len(rollouts), pack_rollouts(rollouts))))

    def collect(self, timeout: float | None) -> list[Report]:
        """Wait for messages, or for a death."""
        ends = None if timeout is None else monotonic() + timeout
        while True:
            busy = {member.pipe: worker for worker, member in self._processes.items() if member.work is not None}
            left = SECONDS_BETWEEN_LOOKS if ends is None else max(0.0, min(SECONDS_BETWEEN_LOOKS, ends - monotonic()))
            looked = monotonic()
            speaking = {busy[pipe] for pipe in wait(list(busy), left)}  # type: ignore[index]
            reports = [report for worker in speaking if (report := self._heard(worker)) is not None]
            reports += self._silent(set(busy.values()) - speaking, monotonic() - looked)
            if reports or not busy or (ends is not None and monotonic() >= ends):
                return reports

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        """Send agents along with the next work."""
        self._agents.update(agents)
        self._version += 1

    def replace(self, worker: int) -> None:
        """End a worker; another takes its number when there is work."""
        self._bury(worker)

    def abandon(self) -> None:
        """Kill whoever is working; a worker holds nothing that cannot be made again."""
        for worker in [worker for worker, member in self._processes.items() if member.work is not None]:
            self._bury(worker)

    def close(self) -> None:
        """Ask the workers to leave, and end those that do not."""
        for member in self._processes.values():
            with contextlib.suppress(OSError):
                member.pipe.send_bytes(b"")
        for worker in list(self._processes):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._processes[worker].process.wait(SECONDS_TO_LEAVE)
            self._bury(worker)

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that run."""
        return [member.process.pid for member in self._processes.values()]

    def _restarted(self, worker: int) -> _Process:
        self._start_missing()
        return self._processes[worker]

    def _start_missing(self) -> None:
        for number in range(self.workers):
            if number not in self._processes:
                self._processes[number] = self._started()

    def _silent(self, workers: Iterable[int], seconds: float) -> list[Report]:
        """What to report of busy workers that were not heard of meanwhile."""
        reports = []
        for worker in workers:
            member = self._processes[worker]
            if member.silence is None or member.work is None or not self._step_timeout:
                continue
            # Whoever was itself suspended for an hour has not waited for an hour.
            member.silence += min(seconds, 2 * SECONDS_BETWEEN_LOOKS)
            if member.silence > self._step_timeout + SECONDS_OF_SILENCE:
                why = f"{self._call_of(member)} did not return within {self._step_timeout:g} s"
                self._bury(worker)
                reports.append(Report(worker, member.work, died=why, hung=True))
        return reports

    def _call_of(self, member: _Process) -> str:
        """The call in which compiled code holds the interpreter, so that the worker cannot name it."""
        member.process.send_signal(signal.SIGUSR1)
        sleep(SECONDS_TO_DUMP)
        stack = os.pread(member.stack.fileno(), LONGEST_STACK, 0).decode(errors="replace")
        return f"{described_in(stack) or 'a call'}, in compiled code,"

    def _started(self) -> _Process:
        ours, theirs = Pipe()
        stack = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the worker
        command = "import sys; from tightrope.execution.backends.worker_process import main; main(*sys.argv[1:])"
        in_main_thread = threading.current_thread() is threading.main_thread()
        told = (theirs.fileno(), stack.fileno(), os.getpid(), int(in_main_thread), self._step_timeout)
        process = subprocess.Popen(
            [sys.executable, "-c", command, *map(str, told)],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            pass_fds=[theirs.fileno(), stack.fileno()],
            stdin=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C reaches this process alone, which then ends the others
        )
        theirs.close()
        return _Process(process, ours, agents=0, stack=stack)

    def _send(self, member: _Process, kind: str, content: bytes) -> None:
        message = pickle.dumps((kind, content), protocol=pickle.HIGHEST_PROTOCOL)
        self.bytes_sent += len(message)
        self.messages += 1
        member.pipe.send_bytes(message)

    def _heard(self, worker: int) -> Report | None:
        member = self._processes[worker]
        assert member.work is not None
        try:
            message = member.pipe.recv_bytes()
        except (EOFError, OSError):
            return Report(worker, member.work, died=self._bury(worker))
        self.bytes_received += len(message)
        self.messages += 1
        member.silence = 0.0
        kind, results, counters, seconds, taken = pickle.loads(message)
        if kind == "alive":
            return None
        if kind == "hung":
            self._bury(worker)
            return Report(worker, member.work, died=results, hung=True)
        if kind == "broken":
            self._bury(worker)
            raise TightropeError(f"a worker process could not be set up:\n{results}")
        # What was added just when it was done with the rest, it has yet to find.
        work, finished = member.work, kind == "finished" and taken == len(member.work)
        unpacked = [(place, _unpacked(work[place], packed)) for place, packed in results]
        member.work = None if finished else work
        return Report(worker, work, unpacked, finished=finished, counters=counters, seconds=seconds)

    def _bury(self, worker: int) -> str:
        """End a worker and say how it ended."""
        member = self._processes.pop(worker)
        member.pipe.close()
        member.stack.close()
        if member.process.poll() is None:
            # A moment for one that is ending by itself, so that its own exit status is told.
            with contextlib.suppress(subprocess.TimeoutExpired):
                member.process.wait(0.1)
        member.process.kill()
        code = member.process.wait()
        return f"the worker process ended with signal {-code}" if code < 0 else f"the worker process ended with {code}"


def _unpacked(item: Any, packed: Any) -> Any:
    return packed if isinstance(packed, Returned) else unpack_episode(item, packed)


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_processes(request: BackendRequest) -> ProcessBackend:
    """As many processes as asked for, or one for each core."""
    workers = request.workers or available_cores()
    return ProcessBackend(request.setup(sharing=workers), workers, request.step_timeout)
