"""The progress line of a search."""

from __future__ import annotations

import time

from tightrope.budget import Meter
from tightrope.progress import Progress, ProgressCallback
from tightrope.search.result import SearchStats

SECONDS_BETWEEN_REPORTS = 0.2


class ProgressLine:
    """Reports depth, deepest, unsafe hits and speed, a few times a second."""

    def __init__(self, callback: ProgressCallback | None, total_steps: int | None) -> None:
        self._callback = callback
        self._total = total_steps
        self._due = time.monotonic()

    def update(self, meter: Meter, stats: SearchStats, depth: int) -> None:
        """Report, if it is time to."""
        if self._callback is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + SECONDS_BETWEEN_REPORTS
        speed = f", {meter.steps / meter.seconds:,.0f} steps/s" if meter.steps and meter.seconds else ""
        cells = f", {stats.cells} cells" if stats.cells else ""
        note = f"depth {depth}, deepest {stats.deepest}, {stats.unsafe_hits} unsafe{cells}{speed}"
        self._callback(Progress("search", meter.steps, self._total, note))
