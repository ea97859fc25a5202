"""``--live``: the page beside a run, and what it is told."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.output.interface import Interface
from tightrope.cli.progress.bars import StagePace, progress_line
from tightrope.cli.progress.journey import Journey
from tightrope.errors import UsageError
from tightrope.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from tightrope.live.page_process import LivePage


@contextmanager
def wanted_page(interface: Interface, folder: Path, *, wanted: bool, port: int | None) -> Iterator[LivePage | None]:
    """The page of a run folder, if one is wanted; its address is printed."""
    if not wanted:
        if port is not None:
            raise UsageError(f"--port {port} is the port of the live page; use it with --live")
        yield None
        return
    from tightrope.live import page_process

    with page_process.live_page(folder, port) as page:
        interface.notice(f"Live: {page.url}")
        try:
            yield page
        finally:
            page.end("The command has ended.")


def telling(page: LivePage | None, show: ProgressCallback | None, stages: Mapping[str, int]) -> ProgressCallback | None:
    """A callback that tells the page too."""
    if page is None:
        return show
    pace, journey = StagePace(), Journey(stages)

    def tell(progress: Progress) -> None:
        anew = pace.restarts(progress)
        page.tell(progress_line(progress, pace), journey.share(progress), at_once=anew)
        if show is not None:
            show(progress)

    return tell


def without_page(command: str) -> str:
    """A command without what only concerns its live page: a run is the same with it and without."""
    kept: list[str] = []
    words = iter(shlex.split(command))
    for word in words:
        if word == "--port":
            next(words, None)
        elif word != "--live" and not word.startswith("--port="):
            kept.append(word)
    return shlex.join(kept)
