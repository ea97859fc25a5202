"""A process that holds an environment, seen from the one that asks it."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tightrope.errors import EnvironmentFailure
from tightrope.simulation.forking.wire import receive, send

MAIN = "import sys; from tightrope.simulation.forking.serving import main; main(int(sys.argv[1]))"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process with several threads cannot be forked safely."""
SECONDS_TO_END = 10.0


class Gone(EnvironmentFailure):
    """The process has ended."""


class Branch:
    """One process that holds an environment; closing it ends it."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self.process_id: int = self._answer()

    def ask(self, name: str, *arguments: Any) -> Any:
        """What a method of the process's ``Server`` returns; raises what that raises, and Gone when there is none."""
        try:
            send(self._asked, (name, arguments))
            return self._answer()
        except OSError as error:
            self.close()
            raise Gone("the process of the environment ended") from error

    def fork(self, *, idle: float | None = None) -> tuple[Branch, float]:
        """A copy, which ends by itself when it is not asked for so long, and the processor time this took."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                send(self._asked, ("fork", (idle,)), theirs.fileno())
            seconds = self._answer()
            return Branch(ours), seconds
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                self.close()
                raise Gone("the process of the environment ended") from error
            raise

    @property
    def closed(self) -> bool:
        """Whether it can be asked no more."""
        return self._asked.fileno() < 0

    def close(self) -> None:
        """End the process."""
        self._asked.close()

    def _answer(self) -> Any:
        try:
            succeeded, value = receive(self._asked)
        except EOFError:
            self.close()
            raise Gone("the process of the environment ended") from None
        except BaseException:
            # An answer that nobody waits for must not be taken for that of the next question.
            self.close()
            raise
        if not succeeded:
            raise _revived(*value)
        return value


class Root(Branch):
    """The first process: a Python of its own that has loaded nothing but what the environment needs."""

    def __init__(self, parcel: Any) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", MAIN, str(theirs.fileno())],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # What the user's modules print when they are imported was printed here already.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C reaches this process alone, which then ends the others
            )
        try:
            send(ours, parcel)
            super().__init__(ours)
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
