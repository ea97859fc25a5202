"""A process that was started for a purpose ends when whoever started it does, however that one ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

SECONDS_BETWEEN_LOOKS = 1.0
PR_SET_PDEATHSIG = 1


def end_with(parent: int, *, by_kernel: bool = True) -> None:
    """Have this process killed when its parent is gone.

    Linux does it even while compiled code holds the interpreter, but takes the thread that started this process for
    the parent: ``by_kernel`` is for those started by a main thread. Elsewhere a thread looks every second.
    """
    if by_kernel and sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_look_after, args=(parent,), name="parent", daemon=True).start()
    # It may have gone before anybody looked.
    _leave_if_alone(parent)


def _look_after(parent: int) -> None:
    while True:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        _leave_if_alone(parent)


def _leave_if_alone(parent: int) -> None:
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
