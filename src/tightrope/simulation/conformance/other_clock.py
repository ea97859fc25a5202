"""Another time of day for this process, to see who looks at it."""

from __future__ import annotations

import datetime
import time
from typing import Any


def shift_clock(seconds: int) -> None:
    """Set every clock of Python's library that tells the date ahead; clocks that only measure go on as they were.

    What compiled code asks the operating system is not reached.
    """
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + seconds * 1_000_000_000
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _told(getattr(time, name)))
    strftime, asctime, localtime = time.strftime, time.asctime, time.localtime
    time.strftime = lambda form, moment=None: strftime(form, localtime() if moment is None else moment)
    time.asctime = lambda moment=None: asctime(localtime() if moment is None else moment)
    datetime.date = _later(datetime.date, today=_today)  # type: ignore[misc]
    datetime.datetime = _later(datetime.datetime, today=_today, now=_now, utcnow=_utcnow)  # type: ignore[misc]


def _told(function: Any) -> Any:
    """The function with the shifted time where it is asked for the present."""
    return lambda moment=None: function(time.time() if moment is None else moment)


def _later(real: Any, **methods: Any) -> Any:
    """The class with other class methods; whatever is of the real class is of this one, too."""

    class LikeTheReal(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, real)

        def __subclasscheck__(cls, subclass: Any) -> bool:
            return issubclass(subclass, real)

    own: dict[str, Any] = {name: classmethod(method) for name, method in methods.items()}
    return LikeTheReal(
        real.__name__, (real,), {"__module__": real.__module__, "__qualname__": real.__qualname__, **own}
    )


def _today(kind: Any) -> Any:
    return kind.fromtimestamp(time.time())


def _now(kind: Any, tz: Any = None) -> Any:
    return kind.fromtimestamp(time.time(), tz)


def _utcnow(kind: Any) -> Any:
    return kind.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)
