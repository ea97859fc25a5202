"""The progress line of a search."""

from __future__ import annotations

import time

from tightrope.budget import Meter
from tightrope.progress import Progress, ProgressCallback
from tightrope.references.result import SearchStats

SECONDS_BETWEEN_REPORTS = 0.2


class ProgressLine:
    """Reports speed, depth, unsafe hits and how much of the budget is used, a few times a second.

    ``meter`` is that of the whole search: a method that gets a share of it says how far the whole has come.
    """

    def __init__(self, callback: ProgressCallback | None, meter: Meter) -> None:
        self._callback = callback
        self._meter = meter
        self._due = time.monotonic()

    def update(self, stats: SearchStats, depth: int) -> None:
        """Report, if it is time to."""
        if self._callback is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + SECONDS_BETWEEN_REPORTS
        seconds, budget = self._meter.seconds, self._meter.budget
        parts = [
            f"{seconds:.0f} of {budget.seconds:,.0f} s" if budget.seconds is not None else "",
            f"{stats.steps / seconds:,.0f} steps/s" if seconds else "",
            f"depth {depth}, deepest {stats.deepest}, {stats.unsafe_hits} unsafe",
            f"{stats.cells} cells" if stats.cells else "",
        ]
        note = ", ".join(part for part in parts if part)
        self._callback(Progress("search", stats.steps, budget.steps, note))
