"""The main function of a worker process: reads messages from its pipe until there are no more."""

from __future__ import annotations

import contextlib
import faulthandler
import pickle
import signal
import threading
import traceback
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import cloudpickle

from tightrope.execution.backends.backend import Assignment, Returned, work_through
from tightrope.execution.episode_codec import pack_episode
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
        self._lock = threading.Lock()
        self.busy = False
        """Whether a message is being worked on."""

    def messages(self) -> Iterator[tuple[str, bytes]]:
        """What there is to do, until there is no more."""
        while message := self._pipe.recv_bytes():
            self.busy = True
            self.send("alive")
            yield pickle.loads(message)
            self.busy = False

    def send(self, kind: str, content: Any = None, counters: Any = None, seconds: float = 0.0) -> None:
        """Say something."""
        message = cloudpickle.dumps((kind, content, counters, seconds))
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
    started = sent = perf_counter()
    results: list[tuple[int, Any]] = []
    work: Assignment = pickle.loads(content)
    for place, result in work_through(worker, work):
        results.append((place, _sendable(result) if isinstance(result, Returned) else pack_episode(result)))
        if perf_counter() - sent > SECONDS_BETWEEN_MESSAGES:
            pipe.send("results", results)
            results, sent = [], perf_counter()
    pipe.send("finished", results, worker.counters.taken(), perf_counter() - started)


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
