"""The main function of a worker process: reads messages from its pipe until there are no more."""

from __future__ import annotations

import contextlib
import faulthandler
import pickle
import select
import signal
import threading
import traceback
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import cloudpickle

from tightrope.execution.backends.backend import Assignment, Returned, WorkResult, work_through
from tightrope.execution.episode_codec import pack_episode
from tightrope.execution.rollout import Rollout
from tightrope.execution.worker.worker import Worker
from tightrope.extensions import LOG
from tightrope.guards.parents import end_with
from tightrope.guards.watchdog import Watchdog

SECONDS_BETWEEN_MESSAGES = 0.1
"""Results are sent together when they come faster than this."""


class StarterPipe:
    """The pipe to whoever started this process; the watchdog speaks on it too."""

    def __init__(self, descriptor: int) -> None:
        self._pipe = Connection(descriptor)
        self._heard = select.poll()
        self._heard.register(descriptor, select.POLLIN)
        self._kept: list[tuple[str, bytes] | None] = []
        """Heard while a message was being worked on, and about something else."""
        self._lock = threading.Lock()
        self.busy = False
        """Whether a message is being worked on."""

    def messages(self) -> Iterator[tuple[str, bytes]]:
        """What there is to do, until there is no more."""
        while message := self._kept.pop() if self._kept else self._received():
            self.busy = True
            self.send("alive")
            yield message
            self.busy = False

    def more(self) -> Iterator[bytes]:
        """What is added to the work under way, as far as it has come."""
        while not self._kept and self._heard.poll(0):
            message = self._received()
            if message is None or message[0] != "more":
                self._kept.append(message)
            else:
                yield message[1]

    def _received(self) -> tuple[str, bytes] | None:
        message = self._pipe.recv_bytes()
        return pickle.loads(message) if message else None

    def send(self, kind: str, content: Any = None, counters: Any = None, seconds: float = 0.0, taken: int = 0) -> None:
        """Say something."""
        message = cloudpickle.dumps((kind, content, counters, seconds, taken))
        with self._lock:
            self._pipe.send_bytes(message)

    def show_life(self) -> None:
        """Let it be known that the interpreter is free to speak, at least."""
        if self.busy:
            with contextlib.suppress(OSError):
                self.send("alive")


def main(descriptor: str, stack: str, parent: str, by_kernel: str, step_timeout: str) -> None:
    """Serve one pipe; the arguments come from a command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Which installed packages are broken, the process that started this one says already.
    LOG.disabled = True
    end_with(int(parent), by_kernel=bool(int(by_kernel)))
    faulthandler.register(signal.SIGUSR1, file=int(stack))
    pipe = StarterPipe(int(descriptor))
    if float(step_timeout):
        # Whoever hears of a call that hangs ends this process: after an interruption nothing in it could be relied on.
        Watchdog(float(step_timeout), partial(pipe.send, "hung"), on_look=pipe.show_life).start()
    worker: Worker | None = None
    try:
        for kind, content in pipe.messages():
            if kind == "setup":
                worker = _built(content, pipe)
            elif worker is not None:
                _serve(worker, kind, content, pipe)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # whoever started this process is gone
    finally:
        if worker is not None:
            worker.close()


def _built(content: bytes, pipe: StarterPipe) -> Worker | None:
    try:
        return pickle.loads(content).build()  # type: ignore[no-any-return]
    except BaseException:
        pipe.send("broken", traceback.format_exc())
        return None


def _serve(worker: Worker, kind: str, content: bytes, pipe: StarterPipe) -> None:
    if kind == "agents":
        try:
            worker.agents.update(pickle.loads(content))
        except BaseException:
            # To die of it would only have the same tried again, and its reason lost.
            pipe.send("broken", traceback.format_exc())
        return
    started = perf_counter()
    work = WorkUnderWay(pipe, kind, content)
    for place, result in work_through(worker, work.begun_with, work.added):
        work.note(place, result)
    pipe.send("finished", work.unsent(), worker.counters.taken(), perf_counter() - started, work.taken)


class WorkUnderWay:
    """A piece of work: what it begins with, what is added to it meanwhile, and the results that are not sent yet."""

    def __init__(self, pipe: StarterPipe, kind: str, content: bytes) -> None:
        self._pipe = pipe
        self._first = 0
        if kind == "more":  # added just when all else was done
            self._first, content = pickle.loads(content)
        self.begun_with: Assignment = pickle.loads(content)
        self.taken = self._first + len(self.begun_with)
        """How much of the piece has been received, from its beginning."""
        self._results: list[tuple[int, Any]] = []
        self._sent = perf_counter()

    def added(self) -> list[tuple[int, Rollout]]:
        """What has come since this was last asked; whoever has nothing else to begin also has time to send results."""
        self._send_now_and_then()
        found: list[tuple[int, Rollout]] = []
        for content in self._pipe.more():
            first, packed = pickle.loads(content)
            found += enumerate(pickle.loads(packed), first - self._first)
        self.taken += len(found)
        return found

    def note(self, place: int, result: WorkResult) -> None:
        """A result, to be sent with others."""
        packed = _sendable(result) if isinstance(result, Returned) else pack_episode(result)
        self._results.append((self._first + place, packed))
        self._send_now_and_then()

    def unsent(self) -> list[tuple[int, Any]]:
        """Results that were not sent so far; they now count as sent."""
        results, self._results, self._sent = self._results, [], perf_counter()
        return results

    def _send_now_and_then(self) -> None:
        if self._results and perf_counter() - self._sent > SECONDS_BETWEEN_MESSAGES:
            self._pipe.send("results", self.unsent())


def _sendable(returned: Returned) -> Returned:
    """Exceptions of any class must survive the journey, or at least their text."""
    if returned.error is None:
        return returned
    text = "".join(traceback.format_exception(returned.error))
    try:
        pickle.loads(cloudpickle.dumps(returned.error))
    except Exception:
        return Returned(error=RuntimeError(text))
    returned.error.add_note(f"In a worker process:\n{text}")
    return returned
