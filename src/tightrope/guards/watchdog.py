"""Limits the time that a call of the user's code may take.

A thread looks now and then at what the watched thread is doing. As long as it finds the same call under way (the very
same frame of a marked function), that call grows older; a call that is too old is reported. Steps and answers
themselves cost nothing more.
"""

from __future__ import annotations

import logging
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tightrope.guards.calls import describe, open_call
from tightrope.guards.faults import TookTooLong
from tightrope.settings.execution import ExecutionConfig

LOG = logging.getLogger("tightrope")

STEP_TIMEOUT = ExecutionConfig.step_timeout
LONGEST_PAUSE = 1.0
LOOKS = 4
"""How often to look within the limit, at least."""
SECONDS_TO_GIVE_IN = 5.0
"""After which a call that was interrupted and goes on is taken for one that cannot be."""


class Watchdog:
    """Watches the calls of one thread until it is stopped.

    ``on_hang(what)`` is told of a call that is older than ``limit`` seconds, ``on_stuck(what)`` when it goes on in
    spite of that, each once for a call. ``on_look`` is called at every look.
    """

    def __init__(
        self,
        limit: float,
        on_hang: Callable[[str], None],
        on_stuck: Callable[[str], None] = lambda what: None,
        on_look: Callable[[], None] = lambda: None,
    ) -> None:
        self.limit = limit
        self.hung: FrameType | None = None
        """Of the call that was reported."""
        self._on_hang, self._on_stuck, self.on_look = on_hang, on_stuck, on_look
        self._thread = threading.get_ident()
        self._call: FrameType | None = None
        self._age = 0.0
        self._told_stuck = False
        self._stopped = threading.Event()
        self._watch = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch the thread that made this watchdog."""
        self._watch.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        self._watch.join()
        self._call = self.hung = None

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._stopped.wait(pause := min(LONGEST_PAUSE, self.limit / LOOKS)):
            now = time.monotonic()
            # A process that was itself suspended for an hour has not waited for an hour.
            self._look(min(now - looked, 2 * pause))
            looked = now
            self.on_look()

    def _look(self, seconds: float) -> None:
        call = open_call(sys._current_frames().get(self._thread))
        if call is not self._call:
            self._call, self._age, self.hung, self._told_stuck = call, 0.0, None, False
        if call is None:
            return
        self._age += seconds
        if self.hung is None and self._age > self.limit:
            self.hung = call
            self._on_hang(f"{describe(call)} did not return within {self.limit:g} s")
        elif not self._told_stuck and self._age > self.limit + SECONDS_TO_GIVE_IN:
            self._told_stuck = True
            self._on_stuck(f"{describe(call)} has not returned for {self._age:.0f} s")


_interrupting: Watchdog | None = None
"""The one that interrupts the main thread, while there is one."""


def limit_here(given: float | None) -> float:
    """What was asked for, else the limit that holds here already, else the usual one; 0 stands for none."""
    if given is not None or _interrupting is None:
        return STEP_TIMEOUT if given is None else given
    return 0.0 if _interrupting.limit == math.inf else _interrupting.limit


@contextmanager
def time_limited(
    limit: float, on_stuck: Callable[[str], None] | None = None, on_look: Callable[[], None] = lambda: None
) -> Iterator[float]:
    """Meanwhile a call of the user's code that takes longer than this raises ``TookTooLong`` from within.

    That is possible in the main thread alone, and not while compiled code does not come back to the interpreter; then
    ``on_stuck`` is told. Inside another such block only the limit is another one. Yields the limit that held before;
    0 stands for none.
    """
    if not _is_main_thread() or not hasattr(signal, "pthread_kill") or not (limit or _interrupting):
        yield 0.0
    elif _interrupting is not None:
        watchdog, before = _interrupting, limit_here(None)
        watchdog.limit = limit or math.inf
        watchdog.on_look()
        try:
            yield before
        finally:
            watchdog.limit = before or math.inf
    else:
        with _interrupter(limit or math.inf, on_stuck or _log, on_look):
            yield 0.0


@contextmanager
def _interrupter(limit: float, on_stuck: Callable[[str], None], on_look: Callable[[], None]) -> Iterator[None]:
    global _interrupting
    main = threading.get_ident()
    watchdog = Watchdog(limit, lambda what: signal.pthread_kill(main, signal.SIGURG), on_stuck, on_look)

    def interrupt(signal_number: int, frame: FrameType | None) -> None:
        if watchdog.hung is not None and _is_on_stack(watchdog.hung, frame):
            raise TookTooLong(watchdog.limit, describe(watchdog.hung))

    before, _interrupting = signal.signal(signal.SIGURG, interrupt), watchdog
    watchdog.start()
    try:
        yield
    finally:
        _interrupting = None
        watchdog.stop()
        if _is_main_thread():
            signal.signal(signal.SIGURG, before)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_on_stack(call: FrameType, frame: FrameType | None) -> bool:
    while frame is not None and frame is not call:
        frame = frame.f_back
    return frame is call


def _log(what: str) -> None:
    LOG.error(
        "%s and cannot be interrupted, as it is in compiled code. Only the process can be ended; backend='processes' "
        "does that by itself",
        what,
    )
