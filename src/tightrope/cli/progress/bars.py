"""How far the work has come: bars on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tightrope.cli.progress.journey import Journey
from tightrope.guards.text import one_line
from tightrope.progress import Progress, ProgressCallback

SECONDS_BETWEEN_LINES = 5.0
"""Without a terminal, progress is a plain line every so often: enough to see life in a log, not enough to fill it."""


class StagePace:
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

    def __init__(self, stages: Mapping[str, int] | None = None) -> None:
        self._pace, self._journey = StagePace(), Journey(stages) if stages else None
        self._printed = 0.0

    def __call__(self, progress: Progress) -> None:
        """Print a line if it is time for one."""
        anew = self._pace.restarts(progress)
        share = None if self._journey is None else self._journey.share(progress)
        last = progress.total is not None and progress.finished >= progress.total
        if not (anew or last) and time.monotonic() - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._printed = time.monotonic()
        whole = "" if share is None else f"[{_percent(share):>4}] "
        print(f"{whole}{progress_line(progress, self._pace)}", file=sys.stderr, flush=True)


def progress_line(progress: Progress, pace: StagePace) -> str:
    """A report in one line."""
    parts = [count_text(progress), progress.note, pace.time_left(progress)]
    return one_line(": ".join(filter(None, (progress.stage, ", ".join(part for part in parts if part)))))


@contextmanager
def bars(console: Any, stages: Mapping[str, int] | None = None) -> Iterator[ProgressCallback]:
    """Progress for terminals: one bar for all of the work, and beside it what is being done."""
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    # The sign that turns and the clock show life where nothing can be counted, as in a check.
    columns = (
        SpinnerColumn(finished_text=" "),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[share]:>4}", table_column=Column(min_width=4, no_wrap=True)),
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
    )
    with Bars(*columns, console=console, expand=True) as shown:
        journey, pace = Journey(stages), StagePace()
        only = shown.add_task("", total=None, share="")

        def callback(progress: Progress) -> None:
            anew = pace.restarts(progress)
            share = journey.share(progress)
            shown.update(
                only,
                description=progress_line(progress, pace),
                share="" if share is None else _percent(share),
                total=None if share is None else 1.0,
                completed=share or 0.0,
                refresh=anew,
            )

        yield callback
        shown.update(only, description="done", share="100 %", total=1.0, completed=1.0)


def count_text(progress: Progress) -> str:
    """How many of how many; nothing where nothing was done yet and nobody knows how much there is."""
    if progress.total is None:
        return f"{progress.finished:,}" if progress.finished else ""
    return f"{progress.finished:,}/{progress.total:,}"


def _percent(share: float) -> str:
    # What is not done is not told as done.
    return f"{int(100 * share)} %"
