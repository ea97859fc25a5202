"""A process that holds an environment, seen from the one that asks it."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from tightrope.errors import EnvironmentFailure
from tightrope.simulation.forking.transport import ConnectionEnd, receive, send, two_ends

MAIN = "import sys; from tightrope.simulation.forking.serving import main; main(sys.argv[1:])"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process with several threads cannot be forked safely."""
SECONDS_TO_END = 10.0
PATIENCE = 120.0
"""Seconds for the first process, which imports what the environment needs, and for copies that are only forked."""


class BranchGone(EnvironmentFailure):
    """The process has ended."""


def lost_process(error: BaseException | None) -> BranchGone | None:
    """What says that an environment's process has ended, if an error comes from that."""
    while error is not None and not isinstance(error, BranchGone):
        error = error.__cause__ or error.__context__
    return error


class Branch:
    """One process that holds an environment; closing it ends it.

    ``patience``: seconds after which one that does not answer is given up; None: as long as it takes.
    """

    def __init__(self, end: ConnectionEnd, patience: float | None = None) -> None:
        self._end = end
        end.messages.settimeout(patience)
        self.process_id: int = self._answer()

    def ask(self, name: str, *arguments: Any) -> Any:
        """What a method of the process's ``Server`` returns, or raises; BranchGone when there is no process."""
        with self._closed_if_gone():
            send(self._end.messages, (name, arguments))
        return self._answer()

    def fork(self, *, idle: float | None = None, patience: float | None = None) -> tuple[Branch, float]:
        """A copy, which ends by itself when it is not asked for so long, and the processor time this took."""
        ours, theirs = two_ends()
        try:
            with closing(theirs), self._closed_if_gone():
                send(self._end.messages, ("fork", (idle,)), *theirs.descriptors())
            seconds = self._answer()
            return Branch(ours, patience), seconds
        except BaseException:
            ours.close()
            raise

    @property
    def closed(self) -> bool:
        """Whether it can be asked no more."""
        return self._end.messages.fileno() < 0

    def close(self) -> None:
        """End the process."""
        self._end.close()

    def _answer(self) -> Any:
        with self._closed_if_gone():
            succeeded, value = receive(self._end.messages)
        if not succeeded:
            raise _revived(*value)
        return value

    @contextmanager
    def _closed_if_gone(self) -> Iterator[None]:
        """Whatever happens: an answer that nobody waits for must not be taken for that of the next question."""
        patience = self._end.messages.gettimeout()
        try:
            yield
        except TimeoutError:
            self.close()
            raise BranchGone(f"the process of the environment did not answer within {patience:g} s") from None
        except (EOFError, OSError):
            self.close()
            raise BranchGone("the process of the environment ended") from None
        except BaseException:
            self.close()
            raise


class Root(Branch):
    """The first process: a Python of its own that has loaded nothing but what the environment needs."""

    def __init__(self, parcel: Any) -> None:
        ours, theirs = two_ends()
        with closing(theirs):
            self.process = subprocess.Popen(
                [sys.executable, "-c", MAIN, *map(str, theirs.descriptors())],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                pass_fds=theirs.descriptors(),
                stdin=subprocess.DEVNULL,
                # What the user's modules print when they are imported was printed here already.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C reaches this process alone, which then ends the others
            )
        try:
            ours.messages.settimeout(PATIENCE)
            send(ours.messages, parcel)
            super().__init__(ours, PATIENCE)
        except BaseException:
            ours.close()
            self._wait()
            raise

    def close(self) -> None:
        """End the process and wait for it."""
        super().close()
        self._wait()

    def _wait(self) -> None:
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _revived(name: str, text: str, pickled: bytes | None) -> BaseException:
    """What was raised over there, or something with the same name and text."""
    if pickled is not None:
        with suppress(Exception):
            error: BaseException = pickle.loads(pickled)
            return error
    make: Callable[[str], BaseException] = type(name, (Exception,), {})
    return make(text)
