"""The process that holds an environment: it plays what it is asked for, and forks when it is asked to.

It ends when the one that asks is gone: waiting, because the socket says so; in the midst of a step, because the kernel
then sends SIGIO, which ends a process that does not catch it, be it in compiled code or not. The kernel sends it for
messages as well, and for one that has been read already if the machine was busy just then: so what is watched for it
is a line on which there are none.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import pickle
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from tightrope.simulation.forking.transport import ConnectionEnd, end_of, receive_with_descriptors, send
from tightrope.simulation.snapshots import canonical_reseed, draws_nothing, shows_its_draws, unpack_snapshotters
from tightrope.simulation.snapshots.randomness import generator_states
from tightrope.tasks.limits import own_limit
from tightrope.tasks.task import Task

IDLE_SECONDS = 120.0
"""A process that is only kept ends when nobody asks for it so long; what it held can be played again."""
HARMLESS_THREADS = frozenset({"SDLTimer"})
"""Threads that wait for timers which nobody sets; a fork leaves them out, and nothing is missing."""
SECONDS_FOR_COPIES = 1.0
PR_SET_CHILD_SUBREAPER = 36
"""Of Linux's prctl.h."""
RESET, STEP, RESEED = "reset", "step", "reseed"
"""Kinds of events that lead to a situation: each is ``(kind, value)``."""


class Refused(Exception):
    """The process cannot be forked; the message is why."""


class Server:
    """Answers one end of a connection at a time: its own, or after a fork that of the copy."""

    def __init__(self, task: Task, env: Any, asked_by: ConnectionEnd) -> None:
        self.task, self.env, self.asked_by = task, env, asked_by
        self.answer: Any = None
        """What the latest reset or step returned."""
        self._reseed: Callable[[int], None] | None = None
        self._is_copy = False
        self._copies: set[int] = set()

    def serve(self) -> NoReturn:
        """Answer until nobody asks any more; then end without any of what a process does at its end."""
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        try:
            while True:
                self._next()
        except (EOFError, OSError):
            if not self._is_copy:
                self._wait_for_copies()
            os._exit(0)

    def _reap(self) -> None:
        """Take note of copies that have ended, so that what they have spent is known; the first process adopts all."""
        with suppress(ChildProcessError):
            if not self._is_copy:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            for copy in tuple(self._copies) if self._is_copy else ():
                # Not all children: the environment may have started some itself.
                self._copies.discard(os.waitpid(copy, os.WNOHANG)[0])

    def _wait_for_copies(self) -> None:
        """They lose their socket about when this process does; who looks for leftovers then finds none."""
        deadline = time.monotonic() + SECONDS_FOR_COPIES
        with suppress(ChildProcessError):
            while time.monotonic() < deadline:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.005)

    def _next(self) -> None:
        (name, arguments), descriptors = receive_with_descriptors(self.asked_by.messages)
        if name == "fork":
            self._fork(descriptors, *arguments)
            return
        try:
            with ending_with(self.asked_by.line):
                reply = (True, getattr(self, name)(*arguments))
        except BaseException as error:
            reply = (False, _portable(error))
        self._send(reply)

    def _send(self, reply: tuple[bool, Any]) -> None:
        try:
            send(self.asked_by.messages, reply)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            send(self.asked_by.messages, (False, _portable(error)))

    def _fork(self, descriptors: Sequence[int], idle: float | None) -> None:
        """Answers twice: the original here, and the copy at its own end when it is ready."""
        end_of_copy = end_of(descriptors)
        started = time.process_time()
        if strange := sorted(set(_threads()) - HARMLESS_THREADS):
            end_of_copy.close()
            send(
                self.asked_by.messages,
                (False, _portable(Refused(f"its process has other threads ({', '.join(strange)})"))),
            )
            return
        copy = os.fork()
        if copy == 0:
            self._is_copy = True
            self._copies.clear()
            self.asked_by.close()
            self.asked_by = end_of_copy
            self.asked_by.messages.settimeout(idle)
            send(self.asked_by.messages, (True, os.getpid()))
            return
        self._copies.add(copy)
        end_of_copy.close()
        send(self.asked_by.messages, (True, time.process_time() - started))

    # ------------------------------------------------------------------------------------------- what can be asked

    def play(self, events: Sequence[tuple[str, Any]], options: Any = None) -> tuple[Any, float]:
        """Play events; what the latest reset or step showed, and the processor time this took."""
        started = time.process_time()
        for kind, value in events:
            if kind == STEP:
                self.answer = self.env.step(value)
            elif kind == RESET:
                self.answer = self._reset(value, options)
            else:
                self._set_generators(value)
        return self.answer, time.process_time() - started

    def _reset(self, seed: int | None, options: Any) -> Any:
        given = {} if options is None else {"options": options}
        return self.env.reset(**given) if seed is None else self.env.reset(seed=seed, **given)

    def _set_generators(self, seed: int) -> None:
        if self._reseed is None:
            self._reseed = canonical_reseed(self.env)
        self._reseed(seed)

    def look(self, role: str) -> Any:
        """What one of the task's functions of environment, observation and info says here."""
        return getattr(self.task, role)(self.env, self.answer[0], self.answer[-1])

    def shows_its_draws(self) -> bool:
        """Whether all that reseeding sets are generators that can be looked at."""
        return shows_its_draws(self.env)

    def generator_states(self) -> tuple[Any, ...]:
        """Where each generator stands."""
        return generator_states(self.env)

    def render(self) -> Any:
        """What the environment shows."""
        return self.env.render()

    def describe(self) -> dict[str, Any]:
        """What the environment says of itself."""
        return {
            "action_space": self.env.action_space,
            "observation_space": self.env.observation_space,
            "metadata": self.env.metadata,
            "render_mode": self.env.render_mode,
            "draws_nothing": draws_nothing(self.env),
            "_max_episode_steps": own_limit(self.env),
        }

    def ping(self) -> None:
        """Nothing, to see what asking costs."""

    def spent(self) -> float:
        """The processor time of this process since it was forked, after a step: what it has copied of its memory."""
        return time.process_time()


@contextmanager
def ending_with(line: socket.socket) -> Iterator[None]:
    """Meanwhile this process ends at once when the line's other end is closed: nothing else can come from it."""
    flags = fcntl.fcntl(line, fcntl.F_GETFL)
    fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(line, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        if _is_closed(line):
            os._exit(0)
        yield
    finally:
        fcntl.fcntl(line, fcntl.F_SETFL, flags)


def _is_closed(line: socket.socket) -> bool:
    looking = select.poll()
    looking.register(line, 0)
    return bool(looking.poll(0))


def adopt_orphans() -> None:
    """A copy whose original has ended becomes a child of this process, which waits for it when it ends."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _threads() -> list[str]:
    """The names of the threads beside this one."""
    others = (entry for entry in Path("/proc/self/task").iterdir() if entry.name != str(os.getpid()))
    return [(other / "comm").read_text().strip() for other in others]


def _portable(error: BaseException) -> tuple[str, str, bytes | None]:
    """An error as its name, its text, and itself where it can travel."""
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = None
    try:
        text = str(error)
    except Exception:
        text = "it cannot be shown"
    return type(error).__name__, text, pickled


def main(descriptors: Sequence[str]) -> NoReturn:
    """Make the environment of the task that comes first, and answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    adopt_orphans()
    asked_by = end_of([int(descriptor) for descriptor in descriptors])
    try:
        (travelling, snapshotters), _ = receive_with_descriptors(asked_by.messages)
        unpack_snapshotters(snapshotters)
        task = travelling.arrived()
        env = task.open_env()
    except BaseException as error:
        send(asked_by.messages, (False, _portable(error)))
        sys.exit(1)
    send(asked_by.messages, (True, os.getpid()))
    # What is there already is not looked through again by every copy, which would copy its memory.
    gc.freeze()
    asked_by.messages.settimeout(IDLE_SECONDS)
    Server(task, env, asked_by).serve()
