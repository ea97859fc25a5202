"""How far the work has come: bars on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tightrope.guards.text import one_line
from tightrope.progress import Progress, ProgressCallback

SECONDS_BETWEEN_LINES = 5.0
"""Without a terminal, progress is a plain line every so often: enough to see life in a log, not enough to fill it."""


class Pace:
    """How fast a stage goes. A stage that begins anew, as safety does with each suite, is measured anew."""

    def __init__(self) -> None:
        self._latest: dict[str, Progress] = {}
        self._began: dict[str, float] = {}

    def restarts(self, progress: Progress) -> bool:
        """Take note of a report; whether it is the first of its stage, or of another round of it."""
        before = self._latest.get(progress.stage)
        anew = before is None or progress.finished < before.finished or progress.total != before.total
        self._latest[progress.stage] = progress
        if anew:
            self._began[progress.stage] = time.monotonic()
        return anew

    def time_left(self, progress: Progress) -> str:
        """An estimate in words; empty where there is nothing to estimate from."""
        if not progress.total or not progress.finished or progress.finished >= progress.total:
            return ""
        elapsed = time.monotonic() - self._began[progress.stage]
        seconds = elapsed / progress.finished * (progress.total - progress.finished)
        if seconds < 1:
            return ""
        return f"about {seconds:.0f} s left" if seconds < 120 else f"about {seconds / 60:.0f} min left"


class PlainLines:
    """Progress for logs: the beginning and the end of each stage, and a line now and then between."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._printed = 0.0

    def __call__(self, progress: Progress) -> None:
        """Print a line if it is time for one."""
        anew = self._pace.restarts(progress)
        last = progress.total is not None and progress.finished >= progress.total
        if not (anew or last) and time.monotonic() - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._printed = time.monotonic()
        print(told(progress, self._pace), file=sys.stderr, flush=True)


def told(progress: Progress, pace: Pace) -> str:
    """A report in one line."""
    parts = [f"{progress.stage}: {_count(progress)}", progress.note, pace.time_left(progress)]
    return one_line(", ".join(part for part in parts if part))


@contextmanager
def bars(console: Any) -> Iterator[ProgressCallback]:
    """Progress for terminals: a bar for each stage."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    # On a narrow terminal the bar gives way: a search, which has the longest notes, has no end to draw it to.
    columns = (
        TextColumn("{task.description:<15}", table_column=Column(min_width=15, no_wrap=True)),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]:>11}", table_column=Column(min_width=11, no_wrap=True)),
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
    )
    with Bars(*columns, console=console, transient=False) as shown:
        pace = Pace()
        known: dict[str, Any] = {}

        def callback(progress: Progress) -> None:
            if progress.stage not in known:
                _end_open_stages(shown)
                known[progress.stage] = shown.add_task(progress.stage, total=progress.total, note="", count="", left="")
            pace.restarts(progress)
            shown.update(
                known[progress.stage],
                completed=progress.finished,
                total=progress.total,
                count=_count(progress),
                left=pace.time_left(progress),
                note=one_line(progress.note),
            )

        yield callback


def _end_open_stages(shown: Any) -> None:
    """A stage of unknown length, as the search is, has ended when the next one begins."""
    for task in shown.tasks:
        if task.total is None:
            shown.update(task.id, total=max(task.completed, 1), completed=max(task.completed, 1))


def _count(progress: Progress) -> str:
    return f"{progress.finished:,}" if progress.total is None else f"{progress.finished:,}/{progress.total:,}"
