"""The main function of a worker process: reads messages from its pipe until there are no more."""

from __future__ import annotations

import pickle
import signal
import traceback
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import cloudpickle

from tightrope.execution.backends.backend import Returned, Work, work_through
from tightrope.execution.episode_codec import pack_episode
from tightrope.execution.worker.worker import Worker
from tightrope.extensions import LOG

SECONDS_BETWEEN_MESSAGES = 0.1
"""Results are sent together when they come faster than this."""


def main(descriptor: int) -> None:
    """Serve one pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Which installed packages are broken, the process that started this one says already.
    LOG.disabled = True
    pipe = Connection(descriptor)
    worker: Worker | None = None
    try:
        while message := pipe.recv_bytes():
            kind, content = pickle.loads(message)
            if kind == "setup":
                worker = _built(content, pipe)
            elif worker is not None:
                _serve(worker, kind, content, pipe)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # whoever started this process is gone
    finally:
        if worker is not None:
            worker.close()


def _built(content: bytes, pipe: Connection) -> Worker | None:
    try:
        return pickle.loads(content).build()  # type: ignore[no-any-return]
    except BaseException:
        _send(pipe, "broken", traceback.format_exc(), None, 0.0)
        return None


def _serve(worker: Worker, kind: str, content: bytes, pipe: Connection) -> None:
    if kind == "agents":
        try:
            worker.agents.update(pickle.loads(content))
        except BaseException:
            # To die of it would only have the same tried again, and its reason lost.
            _send(pipe, "broken", traceback.format_exc(), None, 0.0)
        return
    started = sent = perf_counter()
    results: list[tuple[int, Any]] = []
    work: Work = pickle.loads(content)
    for place, result in work_through(worker, work):
        results.append((place, _sendable(result) if isinstance(result, Returned) else pack_episode(result)))
        if perf_counter() - sent > SECONDS_BETWEEN_MESSAGES:
            _send(pipe, "results", results, None, 0.0)
            results, sent = [], perf_counter()
    _send(pipe, "finished", results, worker.counters.taken(), perf_counter() - started)


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


def _send(pipe: Connection, kind: str, results: Any, counters: Any, seconds: float) -> None:
    pipe.send_bytes(cloudpickle.dumps((kind, results, counters, seconds)))
