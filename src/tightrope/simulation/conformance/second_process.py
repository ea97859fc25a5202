"""Other Pythons, which see whether something depends on this one: another hash seed, process id, time and memory.

Each is a nursery: it has loaded the libraries and nothing of the user's, and forks a child for every question. So a
question costs milliseconds, no answer depends on an earlier one, and an environment that ends its process ends only a
child. A nursery ends with the process that started it, or when it is not asked for a while.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from tightrope.errors import TightropeError
from tightrope.simulation.conformance.other_clock import shift_clock

LONGEST_WAIT = 60.0
"""Seconds for an answer beyond those the question itself takes: importing the user's modules, making environments."""
CLOCK_SHIFT = 400 * 86_400 + 5 * 3_600 + 7 * 60 + 13
"""Seconds by which the second nursery's clock is ahead: another year, month, weekday, hour, minute and second."""
IDLE_SECONDS = 20.0
"""A nursery that nobody asks for so long ends; the next question starts another."""
MAIN = "import sys; from tightrope.simulation.conformance.second_process import main; main(*map(int, sys.argv[1:]))"


class NoAnswer(TightropeError):
    """The other process could not say anything; the message is why."""


class NurseryGone(NoAnswer):
    """The other process ended."""


class Nursery:
    """One other Python, started when it is first asked."""

    def __init__(self, number: int) -> None:
        self._owner = os.getpid()
        ours, theirs = Pipe()
        self._pipe = ours
        shift = CLOCK_SHIFT * (number % 2)
        self._process = subprocess.Popen(
            [sys.executable, "-c", MAIN, str(theirs.fileno()), str(shift)],
            env={**os.environ, "PYTHONHASHSEED": _other_hash_seed(number), "PYTHONPATH": _import_path()},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            # What the user's modules print when they are imported was printed here already.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C reaches this process alone, which then ends the others
        )
        theirs.close()

    @property
    def usable(self) -> bool:
        """Whether it lives, and is this process's own and not that of the one it was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, question: bytes) -> None:
        """Send a pickled ``(function, arguments)``."""
        with contextlib.suppress(OSError):  # it died; answer() will say so
            self._pipe.send_bytes(question)

    def answer(self, seconds: float) -> Any:
        """What the function returned; NoAnswer when nothing comes within that time."""
        try:
            if not self._pipe.poll(seconds):
                raise NoAnswer(f"no answer came within {seconds:.0f} s")
            succeeded, value = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise NurseryGone("it ended") from error
        if not succeeded:
            raise NoAnswer(value)
        return value

    def end(self) -> None:
        """End it and whatever it has forked."""
        if self._owner != os.getpid():
            return
        self._pipe.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_nurseries: dict[int, Nursery] = {}


def nurseries(count: int) -> list[Nursery]:
    """So many other Pythons, started now unless they run already."""
    if sys.platform == "win32":
        raise NoAnswer("on Windows processes cannot be forked")
    for number in range(count):
        if number not in _nurseries or not _nurseries[number].usable:
            _nurseries[number] = Nursery(number)
    return [_nurseries[number] for number in range(count)]


def ask_all(function: Callable[..., Any], arguments: Sequence[Any], *, seconds: float, count: int) -> list[Any]:
    """``function(*arguments)`` in so many other processes at the same time; NoAnswer when one of them has none."""
    question = pickle.dumps((function, arguments), protocol=pickle.HIGHEST_PROTOCOL)
    try:
        return _answers(question, nurseries(count), seconds)
    except NurseryGone:
        # Nobody had asked it for a while, and it left just now.
        return _answers(question, nurseries(count), seconds)


def _answers(question: bytes, asked: Sequence[Nursery], seconds: float) -> list[Any]:
    for nursery in asked:
        nursery.ask(question)
    deadline = time.monotonic() + seconds + LONGEST_WAIT
    try:
        return [nursery.answer(max(0.0, deadline - time.monotonic())) for nursery in asked]
    except BaseException:
        # An answer that nobody waits for must not be taken for that of the next question.
        for nursery in asked:
            nursery.end()
        raise


@atexit.register
def _end_all() -> None:
    for nursery in _nurseries.values():
        nursery.end()


def _import_path() -> str:
    return os.pathsep.join(path for path in sys.path if path)


def _other_hash_seed(number: int) -> str:
    """A hash seed that is not this process's own, as far as that is known."""
    own = os.environ.get("PYTHONHASHSEED", "")
    return str((int(own) if own.isdigit() else 0) + 1 + number)


# ---------------------------------------------------------------------------------------------- in the other process


def main(descriptor: int, shift: int) -> None:
    """Fork a child for every question that comes through the pipe, until there are no more."""
    import gymnasium  # noqa: F401 - loaded once, here, and not in every child

    import tightrope.simulation.conformance.cross_checking  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if shift:
        shift_clock(shift)
    pipe = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):
        while pipe.poll(IDLE_SECONDS):
            question = pipe.recv_bytes()
            pipe.send_bytes(_asked_of_a_child(question, pipe))


def _asked_of_a_child(question: bytes, pipe: Connection) -> bytes:
    """What a new child answers; EOFError when nobody waits for it any more."""
    ours, theirs = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _answer(question, theirs)
    theirs.close()
    try:
        if pipe in wait([ours, pipe]):
            # Nobody asks while an answer is awaited: the pipe was closed.
            raise EOFError
        return ours.recv_bytes()
    except EOFError:
        if not pipe.poll():
            return pickle.dumps((False, f"the environment ended its process with {_ending(child)}"))
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        ours.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _answer(question: bytes, pipe: Connection) -> None:
    """In the child: work the answer out, send it, and end without any of what a process does at its end."""
    try:
        function, arguments = pickle.loads(question)
        answer = (True, function(*arguments))
    except BaseException as error:
        answer = (False, f"{type(error).__name__}: {error}")
    try:
        pipe.send_bytes(pickle.dumps(answer))
    finally:
        os._exit(0)


def _ending(child: int) -> str:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"signal {-code}" if code < 0 else f"exit code {code}"
