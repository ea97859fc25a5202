"""The pictures of a fail and of its escape, on one sheet: cells that a page shows one after the other, exactly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.errors import TightropeError
from tightrope.explanation import CloseUp, Explanation
from tightrope.explanation.closeup import escape_of
from tightrope.report.films.images import sheet_bytes
from tightrope.report.films.video import Picture, record
from tightrope.report.results import Results, RunResults
from tightrope.safety import FailureGroup
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace, content_id

COLUMNS = 10
"""Cells in a row of a sheet."""
WIDEST = 264
"""Wider pictures are made smaller: two stand side by side."""
SIZE = re.compile(r"\.(\d+)x(\d+)$")


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A group of failures that can be played: fail and escape."""

    run: RunResults
    agent: str
    group: FailureGroup
    explanation: Explanation
    close_up: CloseUp

    @property
    def name(self) -> str:
        """The same for the same pictures, whenever they are made."""
        shown = [self.explanation.trace.id, *(trace.id for trace in self._escape), len(self.close_up.fail)]
        parts = f"{self.run.name}-{self.agent}-why-{content_id(shown, self.close_up.fail[0].depth)[:12]}"
        return re.sub(r"[^\w.-]+", "-", parts).strip("-")

    @property
    def shared(self) -> int:
        """Moments that both have, the decision's included."""
        return sum(each.depth <= (self.close_up.decision or 0) for each in self.close_up.escape)

    @property
    def cells(self) -> tuple[list[int], list[int]]:
        """For each moment of the fail and of the escape the number of its picture on the sheet."""
        fail, escape = len(self.close_up.fail), len(self.close_up.escape)
        return list(range(fail)), [*range(self.shared), *range(fail, fail + escape - self.shared)]

    @property
    def _escape(self) -> tuple[ActionTrace, ...]:
        escape = escape_of(self.explanation)
        return () if escape is None else (escape,)

    def frames(self, task: Task) -> list[Picture]:
        """The pictures of the fail, then those of the escape after the decision; none where nothing can be seen."""
        fail, escape = self.close_up.fail, self.close_up.escape
        frames = _recorded(task, self.explanation.trace, fail[0].depth, fail[-1].depth)
        if frames and escape:
            frames += _recorded(task, self._escape[0], escape[0].depth, escape[-1].depth)[self.shared :]
        return frames


def scenes(run: RunResults) -> Iterator[Scene]:
    """Every group of failures that somebody has looked at closely, agent by agent, the most important first."""
    for agent, groups in run.groups.items():
        for group in groups:
            if group.explanation is not None and group.close_up is not None:
                why, seen = group.explanation, group.close_up
                yield Scene(run=run, agent=agent, group=group, explanation=why, close_up=seen)


def draw_sheets(
    results: Results, tasks: Sequence[Task], wanted: int, *, on_sheet: Callable[[], None] | None = None
) -> dict[str, bytes]:
    """File name → content of the sheets of at most so many groups; the first group of each agent first."""
    by_label = {task.label: task for task in tasks}
    sheets: dict[str, bytes] = {}
    for scene in _in_turn(results):
        task = by_label.get(scene.run.task.label)
        if task is None or len(sheets) >= wanted:
            continue
        try:
            frames = [_smaller(frame) for frame in scene.frames(task)]
        except TightropeError:
            continue
        if not frames:
            del by_label[task.label]
            continue
        height, width = frames[0].shape[:2]
        content, suffix = sheet_bytes(_sheet(frames))
        sheets[f"{scene.name}.{width}x{height}{suffix}"] = content
        if on_sheet is not None:
            on_sheet()
    return sheets


def sheet_sizes(files: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Of file names without ending: the name of the scene → width and height of its pictures."""
    found = ((stem, SIZE.search(stem)) for stem in files)
    return {stem[: size.start()]: (int(size[1]), int(size[2])) for stem, size in found if size is not None}


def _in_turn(results: Results) -> Iterator[Scene]:
    ranked: dict[int, list[Scene]] = {}
    for run in results.runs:
        counts: dict[str, int] = {}
        for scene in scenes(run):
            rank = counts.setdefault(scene.agent, 0)
            counts[scene.agent] += 1
            ranked.setdefault(rank, []).append(scene)
    for rank in sorted(ranked):
        yield from ranked[rank]


def _recorded(task: Task, trace: ActionTrace, first: int, last: int) -> list[Picture]:
    frames, _ = record(task, trace.prefix(last), first=first, expect=None)
    return frames


def _smaller(frame: Picture) -> Picture:
    """A picture that is narrow enough: each pixel the mean of those it stands for."""
    times = -(-frame.shape[1] // WIDEST)
    if times == 1:
        return frame
    height, width = (size // times for size in frame.shape[:2])
    parts = frame[: height * times, : width * times].reshape(height, times, width, times, 3)
    return np.asarray(parts.mean(axis=(1, 3)).round(), dtype=np.uint8)


def _sheet(frames: Sequence[Picture]) -> Picture:
    height, width = frames[0].shape[:2]
    rows = -(-len(frames) // COLUMNS)
    sheet = np.zeros((rows * height, min(COLUMNS, len(frames)) * width, 3), np.uint8)
    for index, frame in enumerate(frames):
        top, left = index // COLUMNS * height, index % COLUMNS * width
        sheet[top : top + height, left : left + width] = frame[:height, :width]
    return sheet
