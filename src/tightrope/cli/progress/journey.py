"""How much of a command's whole work is done: its stages come in a known order, each so many times."""

from __future__ import annotations

from collections.abc import Mapping

from tightrope.progress import Progress

WEIGHTS = {"plain episodes": 2.0, "search": 4.0, "probing": 4.0, "references": 8.0, "survival": 2.0, "safety": 2.0,
           "explanations": 5.0, "fuzzing": 3.0, "report": 10.0, "checks": 0.0, "cross-check": 0.0}  # fmt: skip
"""Roughly how long a stage takes beside others; those without weight come between others and move nothing."""
TOGETHER = ({"survival", "safety"}, {"fuzzing", "fuzzing control", "performance"})
"""Stages that take turns: none of them is over because another has begun."""


class Journey:
    """Where a command is on its way; what was there already counts as done once something later begins."""

    def __init__(self, stages: Mapping[str, int] | None = None) -> None:
        self._times = dict(stages or {})
        self._done = dict.fromkeys(self._times, 0.0)
        self._rounds: dict[str, int] = {}
        self._latest: dict[str, Progress] = {}
        self._share = 0.0

    def share(self, progress: Progress) -> float | None:
        """Take note of a report; the share of all work that is done by then, or of the stage where all is not known."""
        if not self._times:
            return min(1.0, progress.finished / progress.total) if progress.total else None
        if self._weight(progress.stage):
            self._note(progress)
            whole = sum(map(self._weight, self._times))
            done = sum(self._weight(stage) * share for stage, share in self._done.items())
            # Work that is done once more, since randomness was met, does not take back what was told.
            self._share = max(self._share, min(1.0, done / whole))
        return self._share

    def _weight(self, stage: str) -> float:
        return WEIGHTS.get(stage, 1.0) * self._times.get(stage, 0)

    def _note(self, progress: Progress) -> None:
        stage, before = progress.stage, self._latest.get(progress.stage)
        if before is None or progress.finished < before.finished or (before.total and not progress.total):
            self._rounds[stage] = self._rounds.get(stage, 0) + 1
        self._latest[stage] = progress
        for other in self._times:
            if other == stage:
                break
            if not any({other, stage} <= turns for turns in TOGETHER):
                self._done[other] = 1.0
        within = min(1.0, progress.finished / progress.total) if progress.total else 0.0
        self._done[stage] = min(1.0, (self._rounds[stage] - 1 + within) / self._times[stage])
