"""How the command ends: the work is done in a child process, and what it says at its end is the only way to a 0.

Environments and agents are code of the user's, and any code can end its process: ``os._exit(0)``, ``exit()`` in a
compiled library, a handler that runs at exit. To a CI server that would be a gate that passed. So the exit code comes
from the parent, which runs no code of the user's. The child tells it the code over a pipe when the command has come to
its end; a child that ends without has judged nothing, whatever its own exit status says. On the way it tells that it is
alive: compiled code that never comes back to the interpreter is noticed by the parent alone.

Nothing heavy is imported here, since every command waits for it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from tightrope.cli.process.exit_codes import CODES, GATE_FAILED, INTERRUPTED, NOTHING_JUDGED, PASSED

SECONDS_BETWEEN_LOOKS = 0.5
"""The pipe tells at once when the child is gone, unless a process that it left behind holds the other end."""
SECONDS_TO_LEAVE = 10.0
"""For what runs at exit, once the verdict is known, or after a signal to terminate."""
SECONDS_OF_ONE_INTERRUPTION = 0.5
"""Ctrl-C reaches parent and child, and the parent passes on what may have been meant for it alone."""
PRESSES_TO_KILL = 3
"""Ctrl-C as often as this ends a child that does not answer."""
VARIABLE = "TIGHTROPE_SUPERVISED"

SECONDS_OF_SILENCE = 10.0
"""Beyond the limit of a call, in a child that has promised to be heard of."""
SECONDS_TO_DUMP = 0.3

_pipe: int | None = None
"""The child's end of it, in the child."""


def supervised(work: Callable[[], int]) -> int:
    """Do the work in a child process and return the exit code that follows from what it says; the child returns too."""
    if not hasattr(os, "fork"):
        return work()
    told = os.environ.pop(VARIABLE, None)
    if told is not None:
        return _worked(work, *map(int, told.split(",")))
    parent = os.getpid()
    reading, writing = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if child:
        os.close(writing)
        return _Watch(child, reading).code()
    os.close(reading)
    if must_execute():
        _execute_again(writing, parent)
    return _worked(work, writing, parent)


def must_execute() -> bool:
    """Whether a forked process is not good for everything: frameworks of macOS refuse to work in one."""
    return sys.platform == "darwin"


def end_now(code: int) -> None:
    """Tell the verdict and end this process at once, past whatever still hangs in it."""
    _tell(f"end {code}")
    os._exit(code)


def show_life(limit: float) -> None:
    """Let it be known that the interpreter is free to speak, and how long a call may keep it from that; 0: for ever."""
    _tell(f"alive {limit}")


def _execute_again(writing: int, parent: int) -> None:
    import subprocess

    os.set_inheritable(writing, True)
    os.environ[VARIABLE] = f"{writing},{parent}"
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = "from tightrope.cli import main; main()"
    os.execv(sys.executable, [sys.executable, *flags, "-P", "-c", command, *sys.argv[1:]])


def _worked(work: Callable[[], int], writing: int, parent: int) -> int:
    """In the child: the work, and what came of it to the parent."""
    from tightrope.guards.parents import end_with

    global _pipe
    _pipe, own = writing, os.getpid()
    os.set_inheritable(writing, False)
    end_with(parent)
    faulthandler.register(signal.SIGUSR1)
    _interrupt_once()
    code = work()
    if os.getpid() != own:
        os._exit(NOTHING_JUDGED)  # a copy of this process that code of the user's made, and that came back here
    _tell(f"end {code if _flushed() else NOTHING_JUDGED}")
    return code


def _tell(word: str) -> None:
    if _pipe is not None:
        with contextlib.suppress(OSError):  # code of the user's has closed it: then nobody will hear of a success
            os.write(_pipe, f"{word}\n".encode())


def _flushed() -> bool:
    """Whether all that was printed has arrived; half an answer must not pass for one."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _say(f"the results could not be written ({error.strerror})")
        # Python would try again at exit, and complain in its own words.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _interrupt_once() -> None:
    """A request to end, by Ctrl-C or by a signal to terminate, is an interruption; twice at once is still one."""
    latest = -SECONDS_OF_ONE_INTERRUPTION

    def interrupt(signal_number: int, frame: FrameType | None) -> None:
        nonlocal latest
        now = time.monotonic()
        if now - latest >= SECONDS_OF_ONE_INTERRUPTION:
            latest = now
            raise KeyboardInterrupt

    for number in _requests():
        signal.signal(number, interrupt)


def _requests() -> list[signal.Signals]:
    """The signals that ask to end; what a shell wants ignored in a background job stays ignored."""
    asked = (signal.SIGINT, signal.SIGTERM)
    return [number for number in asked if signal.getsignal(number) is not signal.SIG_IGN]


class _Watch:
    """The parent's part: waits for the child, passes signals on, and decides the exit code."""

    def __init__(self, child: int, reading: int) -> None:
        self.child, self.reading = child, reading
        self.told = b""
        self.verdicts: list[str] = []
        self.status: int | None = None
        self.limit, self.silence = 0.0, 0.0
        self.silenced = False
        self.presses = 0
        self.stopped = False
        self.deadline = float("inf")
        for number in _requests():
            signal.signal(number, self._pass_on)

    def code(self) -> int:
        """Wait for the child to end, and return the exit code of the command."""
        while self.status is None:
            self._listen()
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                self.status = status
            elif time.monotonic() > self.deadline:
                os.kill(self.child, signal.SIGKILL)
            elif self.limit and self.silence > self.limit + SECONDS_OF_SILENCE:
                self._end_the_silent()
        self._listen()
        return self._decided()

    def _listen(self) -> None:
        """Wait a moment for the child's word; when it has let go of the pipe, it is about to end."""
        wait = SECONDS_BETWEEN_LOOKS if self.reading >= 0 and self.status is None else 0.01
        ready, _, _ = select.select([self.reading] if self.reading >= 0 else [], [], [], wait)
        if not ready:
            # Counted in looks, not by the clock: whoever was suspended for an hour has not waited for an hour.
            self.silence += wait
            return
        self.silence = 0.0
        told = os.read(self.reading, 4096)
        if not told:
            os.close(self.reading)
            self.reading = -1
        *words, self.told = (self.told + told).split(b"\n")
        for word in words:
            self._take(word.decode(errors="replace"))

    def _take(self, word: str) -> None:
        kind, _, value = word.partition(" ")
        if kind == "alive":
            self.limit = float(value)
        else:
            # Anything else but one verdict was written by somebody else.
            self.verdicts.append(value)
            self.deadline = min(self.deadline, time.monotonic() + SECONDS_TO_LEAVE)

    def _end_the_silent(self) -> None:
        """Compiled code holds the interpreter; the child can still write down its stack, but nothing else."""
        self.limit, self.silenced = 0.0, True
        os.kill(self.child, signal.SIGUSR1)
        time.sleep(SECONDS_TO_DUMP)
        os.kill(self.child, signal.SIGKILL)

    def _decided(self) -> int:
        codes = [code for code in CODES if self.verdicts == [str(code)]]
        code = codes[0] if codes else None
        if self.silenced:
            _say(
                "a call of the task or the agent did not return in time (--step-timeout), in compiled code that does "
                "not let go of the interpreter: the stack above says which. The process was ended, and nothing was "
                "judged. With --backend processes a worker is ended instead, and the rest goes on; a search has none"
            )
            return NOTHING_JUDGED
        if self.stopped and code not in (PASSED, GATE_FAILED):
            return INTERRUPTED
        if code is None:
            assert self.status is not None
            _say(
                f"the process {_how_it_ended(self.status)} before the command had come to its end, so nothing was "
                f"judged. Code of the task or the agent may do that (os._exit), or a library that crashes; with "
                f"--backend processes the episodes run in processes of their own"
            )
            return NOTHING_JUDGED
        return code

    def _pass_on(self, signal_number: int, frame: FrameType | None) -> None:
        self.stopped = True
        self.presses += signal_number == signal.SIGINT
        if signal_number == signal.SIGTERM:
            self.deadline = min(self.deadline, time.monotonic() + SECONDS_TO_LEAVE)
        if self.status is None:
            os.kill(self.child, signal.SIGKILL if self.presses >= PRESSES_TO_KILL else signal_number)


def _how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was ended by signal {number} ({signal.strsignal(number)})"
    return f"ended by itself with exit code {os.waitstatus_to_exitcode(status)}"


def _say(text: str) -> None:
    sys.stderr.write(f"error: {text}\n")
    sys.stderr.flush()
