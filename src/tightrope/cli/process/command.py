"""What makes a command of a function: its errors become one paragraph and an exit code."""

from __future__ import annotations

import errno
import functools
import traceback
from collections.abc import Callable
from typing import Any

import typer
from pydantic import ValidationError

from tightrope.cli.output.interface import current_interface
from tightrope.cli.process import supervision
from tightrope.cli.process.exit_codes import INTERRUPTED, NOTHING_JUDGED, WRONG_USE
from tightrope.errors import TightropeError, UsageError
from tightrope.guards.faults import TookTooLong, misdeed
from tightrope.guards.watchdog import STEP_TIMEOUT, limit_here, time_limited

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE)
"""What the system says when a disk is full, or nobody reads any more."""


def verb(command: Callable[..., int]) -> Callable[..., None]:
    """Make a command of a function that returns an exit code; its errors become one paragraph and a code.

    Args:
        command: The function; its arguments become the command's.
    """

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            # Whoever knows of another limit sets it inside this one.
            with time_limited(STEP_TIMEOUT, _end_stuck, _show_life):
                code = command(*arguments, **options)
        except KeyboardInterrupt as interruption:
            # Only who works in a run folder can promise that anything is kept.
            current_interface().error(f"interrupted; {str(interruption) or 'the same command starts again'}")
            code = INTERRUPTED
        except BaseException as error:
            code = _told(error)
        raise typer.Exit(code)

    return wrapped


def _show_life() -> None:
    supervision.show_life(limit_here(None))


def _end_stuck(what: str) -> None:
    """Say what cannot be interrupted, and end this process."""
    current_interface().error(
        f"{what} (--step-timeout) and cannot be interrupted, as it is in compiled code; the process is ended, and "
        f"nothing was judged. With --backend processes a worker is ended instead, and the rest goes on; a search "
        f"has none"
    )
    supervision.end_now(NOTHING_JUDGED)


def _told(error: BaseException) -> int:
    """Say what went wrong, in one paragraph; returns the exit code."""
    interface = current_interface()
    if interface.debug:
        traceback.print_exc()
    if isinstance(error, TightropeError):
        interface.error(str(error))
        return WRONG_USE if isinstance(error, UsageError) else NOTHING_JUDGED
    if isinstance(error, ValidationError):
        interface.error("\n".join(map(_broken_rule, error.errors())))
        return WRONG_USE
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        where = "the results" if error.filename is None else error.filename
        interface.error(
            f"{where} could not be written ({error.strerror}); free some space, and the same command continues"
        )
        return NOTHING_JUDGED
    if isinstance(error, OSError) and error.filename is not None:
        interface.error(f"{error.filename}: {error.strerror}")
        return WRONG_USE
    if isinstance(error.__context__, BrokenPipeError):
        # `| head`: the console gives up by leaving, and what it says of that would read as a fault of the agent's.
        interface.error("the program that reads this output stopped before the end; the results are kept")
        return NOTHING_JUDGED
    if not isinstance(error, Exception):
        interface.error(f"{_origin(error)} {misdeed(error)}, so nothing was judged")
        return NOTHING_JUDGED
    interface.error(
        f"unexpected {type(error).__name__}: {error}. This is a fault of tightrope or of a library it uses; the same "
        f"command with --debug shows where"
    )
    return NOTHING_JUDGED


def _origin(error: BaseException) -> str:
    """Where something was raised, or which call it was."""
    if isinstance(error, TookTooLong):
        return error.what
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{place.filename}, line {place.lineno},"


def _broken_rule(item: Any) -> str:
    name = " ".join(map(str, item["loc"])).replace("_", " ")
    return f"{name} is {item['input']!r}: {item['msg'][0].lower()}{item['msg'][1:]}"
