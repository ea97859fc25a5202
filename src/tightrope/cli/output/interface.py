"""How commands speak: lines, tables, errors, progress, and JSON for machines."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from tightrope.display import plainly
from tightrope.guards.text import one_line, visible
from tightrope.progress import ProgressCallback

if TYPE_CHECKING:
    from rich.text import Text

EVERYWHERE = {
    "--quiet": "or -q, print results only",
    "--json": "print one JSON object instead of tables",
    "--debug": "show the traceback of an error",
    "--no-color": "no colours",
}
"""Flags that every command takes, wherever they stand on the line."""
SHORT = {"-q": "--quiet"}

MAY_STAND_ALONE = {"--fail-if-worse": ("on-these-cases", "in-general")}
"""Options that take one of these values, or none, which is the first."""

COPIED = ": tightrope "
"""A line that ends in a command is left to the terminal to fold: it is copied, and a line end in it would run half."""

AROUND = 3
"""Columns of the terminal that a column of a table takes beside its words."""
LOG_WIDTH = 140
"""Without a terminal there is no width to keep to: tables in logs are not folded."""


@dataclass(frozen=True)
class Interface:
    """What the user asked of the output."""

    quiet: bool = False
    as_json: bool = False
    debug: bool = False
    color: bool = True
    command: str = ""
    """The whole command as it was given; a run remembers what made it."""
    output: TextIO | None = None
    """Where results for machines go; None: to standard output."""

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> tuple[Interface, list[str]]:
        """Take the flags known everywhere out of the arguments."""
        end = arguments.index("--") if "--" in arguments else len(arguments)
        arguments = [SHORT.get(argument, argument) for argument in arguments[:end]] + arguments[end:]
        flags = {argument for argument in arguments[:end] if argument in EVERYWHERE}
        rest = [argument for argument in arguments[:end] if argument not in EVERYWHERE]
        rest = _with_values(rest) + arguments[end:]
        interface = cls(
            quiet="--quiet" in flags,
            as_json="--json" in flags,
            debug="--debug" in flags,
            color="--no-color" not in flags and not os.environ.get("NO_COLOR"),
            command=shlex.join(["tightrope", *rest]),
            output=sys.stdout,
        )
        return interface, rest

    def say(self, text: str = "", *, markup: bool = False) -> None:
        """Print one line to the user; without ``markup``, brackets are brackets."""
        if not self.as_json:
            from rich.text import Text

            line = plainly(one_line(text))
            _print_line(self._console(), Text.from_markup(line, emoji=False) if markup else Text(line))

    def remark(self, text: str) -> None:
        """Print what is left out with --quiet."""
        if not self.quiet:
            self.say(text)

    def error(self, text: str) -> None:
        """Print an error, to stderr."""
        from rich.text import Text

        console = self._console(stderr=True)
        first, *others = visible(text).split("\n")
        _print_line(console, Text.assemble(("error:", "bold red"), f" {first}"))
        # What is quoted may have lines of its own; set in, none of them passes for one of tightrope's.
        for line in others:
            _print_line(console, Text(f"  {line}"))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, apart: bool = False) -> None:
        """Print a table; numbers to the right. Cells are plain values or rich texts.

        ``apart``: where words would be cut, one table for each value of the first column.
        """
        if self.as_json:
            return
        console = self._console()
        if not console.is_terminal and not os.environ.get("COLUMNS"):
            console.width = LOG_WIDTH
        texts = [[one_line(column), *(str(_cell(row[at])) for row in rows)] for at, column in enumerate(columns)]
        room = console.width - AROUND * len(columns) - 1
        if apart and sum(map(_longest_word, texts)) > room:
            for first in dict.fromkeys(row[0] for row in rows):
                self.table(f"{title}: {first}", columns[1:], [row[1:] for row in rows if row[0] == first])
            return
        console.print(_drawn(title, columns, rows, _widths(texts, room)))

    def notice(self, text: str) -> None:
        """Print what is no result, to stderr, also with --json."""
        self._console(stderr=True).print(one_line(text), highlight=False, markup=False, soft_wrap=True)

    def flush(self) -> None:
        """See to it that what was printed is there, before a command that does not end by itself."""
        for stream in (self.output, sys.stdout):
            if stream is not None:
                stream.flush()

    def data(self, content: Any) -> None:
        """Print the result for machines; only with --json."""
        if self.as_json:
            (self.output or sys.stdout).write(json.dumps(content, indent=1, default=str, allow_nan=False) + "\n")

    @contextmanager
    def machines_only(self) -> Iterator[None]:
        """With --json, what anybody else prints, such as an agent, goes to stderr instead of between the results."""
        with redirect_stdout(sys.stderr) if self.as_json else nullcontext():
            yield

    @contextmanager
    def progress(self, stages: Mapping[str, int] | None = None) -> Iterator[ProgressCallback | None]:
        """A callback that shows progress: a bar on a terminal, plain lines elsewhere, nothing when quiet.

        ``stages``: what will be done, in order, and how often each, where that is known.
        """
        from tightrope.cli.progress.bars import PlainLines, bars

        if self.quiet:
            yield None
        elif self._console(stderr=True).is_terminal:
            with bars(self._console(stderr=True), stages) as callback:
                yield callback
        else:
            yield PlainLines(stages)

    def _console(self, *, stderr: bool = False) -> Any:
        from rich.console import Console

        return Console(
            stderr=stderr, emoji=False, no_color=not self.color, force_terminal=None if self.color else False
        )


def _print_line(console: Any, text: Text) -> None:
    """Print one line; on a terminal it is folded between words, and what follows is set in. Logs keep it whole."""
    from rich.text import Text

    line = text.plain
    inset = len(line) - len(line.lstrip()) + 2
    width = console.width - inset
    longest = max(map(len, line.split()), default=0)
    if not console.is_terminal or COPIED in line or longest > width:
        console.print(text, highlight=False, soft_wrap=True)
        return
    words = text[inset - 2 :] if inset > 2 else text
    for number, part in enumerate(words.wrap(console, width)):
        part.rstrip()
        console.print(Text(" " * (inset - 2 if number == 0 else inset)) + part, highlight=False, soft_wrap=True)


def _with_values(arguments: list[str]) -> list[str]:
    """Give the options that may stand alone their value, so that none takes the next argument for it."""
    given, rest = list[str](), list(arguments)
    while rest:
        argument = rest.pop(0)
        values = MAY_STAND_ALONE.get(argument, ())
        if values:
            argument += "=" + (rest.pop(0) if rest and rest[0] in values else values[0])
        given.append(argument)
    return given


_current = Interface()


def use_interface(interface: Interface) -> None:
    """Make this the interface of the commands that follow."""
    global _current
    _current = interface


def current_interface() -> Interface:
    """The interface of the command that is running."""
    return _current


def _drawn(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], widths: Sequence[int] | None) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(one_line(title)), title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for index, column in enumerate(columns):
        values = [row[index] for row in rows if row[index] is not None]
        numeric = bool(values) and all(isinstance(value, int | float) for value in values)
        width = None if widths is None else widths[index]
        table.add_column(Text(one_line(column)), justify="right" if numeric else "left", width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _widths(texts: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """How wide each column is where not all lines fit: no word is cut, and who needs most gets what is left.

    None: all fits, or the words alone are too wide, and the library sees to it.
    """
    least, most = [_longest_word(column) for column in texts], [max(map(len, column)) for column in texts]
    if sum(most) <= room or sum(least) > room:
        return None
    widths = least
    while sum(widths) < room:
        needy = max(range(len(widths)), key=lambda at: most[at] - widths[at])
        widths[needy] += 1
    return widths


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def _cell(value: Any) -> Any:
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if value is None:
        return Text("no data", style="dim")
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return Text(one_line(str(value)))
