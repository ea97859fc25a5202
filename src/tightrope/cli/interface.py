"""How commands speak: consoles, progress, tables, errors and exit codes."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from tightrope.errors import TightropeError, UsageError
from tightrope.progress import Progress, ProgressCallback

PASSED, GATE_FAILED, WRONG_USE, NOTHING_JUDGED, INTERRUPTED = 0, 1, 2, 3, 130

EVERYWHERE = {
    "--quiet": "print results only",
    "--json": "print one JSON object instead of tables",
    "--debug": "show the traceback of an error",
    "--no-color": "no colours",
}
"""Flags that every command takes, wherever they stand on the line."""

SECONDS_BETWEEN_LINES = 5.0
"""Without a terminal, progress is a plain line every so often: enough to see life in a log, not enough to fill it."""


LOG_WIDTH = 140
"""Without a terminal there is no width to keep to: tables in logs are not folded."""


@dataclass(frozen=True)
class Interface:
    """What the user asked of the output."""

    quiet: bool = False
    as_json: bool = False
    debug: bool = False
    color: bool = True

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> tuple[Interface, list[str]]:
        """Take the flags known everywhere out of the arguments."""
        end = arguments.index("--") if "--" in arguments else len(arguments)
        flags = {argument for argument in arguments[:end] if argument in EVERYWHERE}
        rest = [argument for argument in arguments[:end] if argument not in EVERYWHERE] + arguments[end:]
        color = "--no-color" not in flags and not os.environ.get("NO_COLOR")
        return cls("--quiet" in flags, "--json" in flags, "--debug" in flags, color), rest

    def say(self, text: str = "") -> None:
        """Print to the user, with rich markup."""
        if not self.as_json:
            self._console().print(text, highlight=False)

    def remark(self, text: str) -> None:
        """Print what is left out with --quiet."""
        if not self.quiet:
            self.say(text)

    def error(self, text: str) -> None:
        """Print an error, to stderr."""
        self._console(stderr=True).print(f"[bold red]error:[/] {_escaped(text)}", highlight=False, soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table; numbers to the right."""
        if self.as_json:
            return
        from rich import box
        from rich.table import Table

        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
        for index, column in enumerate(columns):
            numeric = all(isinstance(row[index], int | float) for row in rows) and bool(rows)
            table.add_column(column, justify="right" if numeric else "left")
        for row in rows:
            table.add_row(*(_cell(value) for value in row))
        console = self._console()
        if not console.is_terminal:
            console.width = LOG_WIDTH
        console.print(table)

    def data(self, content: Any) -> None:
        """Print the result for machines; only with --json."""
        if self.as_json:
            sys.stdout.write(json.dumps(content, indent=1, default=str, allow_nan=False) + "\n")

    @contextmanager
    def progress(self) -> Iterator[ProgressCallback | None]:
        """A callback that shows progress: bars on a terminal, plain lines elsewhere, nothing when quiet."""
        if self.quiet:
            yield None
        elif self._console(stderr=True).is_terminal:
            with _bars(self._console(stderr=True)) as callback:
                yield callback
        else:
            yield _PlainLines()

    def _console(self, *, stderr: bool = False) -> Any:
        from rich.console import Console

        return Console(stderr=stderr, no_color=not self.color, force_terminal=None if self.color else False)


_current = Interface()


def use_interface(interface: Interface) -> None:
    """Make this the interface of the commands that follow."""
    global _current
    _current = interface


def current_interface() -> Interface:
    """The interface of the command that is running."""
    return _current


def verb(command: Callable[..., int]) -> Callable[..., None]:
    """Make a command of a function that returns an exit code; its errors become one paragraph and a code."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> None:
        interface = current_interface()
        try:
            code = command(*arguments, **options)
        except TightropeError as error:
            if interface.debug:
                raise
            interface.error(str(error))
            code = WRONG_USE if isinstance(error, UsageError) else NOTHING_JUDGED
        except KeyboardInterrupt:
            interface.error("interrupted; what was finished is kept, and the same command continues")
            code = INTERRUPTED
        raise typer.Exit(code)

    return wrapped


class _PlainLines:
    """Progress for logs."""

    def __init__(self) -> None:
        self.started: dict[str, float] = {}
        self.printed = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        first = progress.stage not in self.started
        last = progress.total is not None and progress.finished >= progress.total
        self.started.setdefault(progress.stage, now)
        if not (first or last) and now - self.printed < SECONDS_BETWEEN_LINES:
            return
        self.printed = now
        total = "" if progress.total is None else f"/{progress.total}"
        left = _time_left(progress, now - self.started[progress.stage])
        parts = [f"{progress.stage}: {progress.finished}{total}", progress.note, left]
        print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)


@contextmanager
def _bars(console: Any) -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=28),
        TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Bars(*columns, console=console, transient=False) as bars:
        known: dict[str, Any] = {}

        def callback(progress: Progress) -> None:
            if progress.stage not in known:
                known[progress.stage] = bars.add_task(progress.stage, total=progress.total, note="")
            bars.update(
                known[progress.stage], completed=progress.finished, total=progress.total, note=_escaped(progress.note)
            )

        yield callback


def _time_left(progress: Progress, elapsed: float) -> str:
    if not progress.total or not progress.finished or progress.finished >= progress.total:
        return ""
    seconds = elapsed / progress.finished * (progress.total - progress.finished)
    return f"about {seconds:.0f} s left" if seconds < 120 else f"about {seconds / 60:.0f} min left"


def _cell(value: Any) -> str:
    if value is None:
        return "[dim]no data[/]"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
