"""The run folder: where everything found, measured and believed is kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from tightrope.errors import RunLocked, UsageError
from tightrope.files.content import require_no_links
from tightrope.files.writing import DRAFT
from tightrope.runs.storage.layout import STEPS

MANIFEST, LOCK = "run.json", ".lock"
BEGINNINGS = {*STEPS, LOCK, MANIFEST + DRAFT}
"""What a run that was killed before its first run.json leaves behind."""


class RunFolder:
    """A folder with ``run.json``, one folder for each step, the episodes and the report."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create_or_open(cls, path: str | PathLike[str]) -> RunFolder:
        """An existing run, or a new one in an empty or missing folder."""
        folder = cls(Path(path))
        require_no_links(folder.path)
        if folder.manifest_path.exists():
            return folder
        if folder.path.exists() and any(path.name not in BEGINNINGS for path in folder.path.iterdir()):
            raise UsageError(
                f"{folder.path} is neither empty nor a run folder (it has no run.json); choose another with --out"
            )
        for step in STEPS:
            (folder.path / step).mkdir(parents=True, exist_ok=True)
        return folder

    @classmethod
    def open(cls, path: str | PathLike[str]) -> RunFolder:
        """An existing run."""
        folder = cls(Path(path))
        require_no_links(folder.path)
        if not folder.manifest_path.exists():
            raise UsageError(
                f"{folder.path} is not a run folder: it has no run.json. `tightrope run … --out` makes one"
            )
        return folder

    @property
    def manifest_path(self) -> Path:
        """Where run.json is."""
        return self.path / MANIFEST

    @property
    def episodes_path(self) -> Path:
        """Where the episodes are."""
        return self.path / "episodes.sqlite"

    @property
    def report_path(self) -> Path:
        """Where the report is, or will be."""
        return self.path / "report" / "index.html"

    def clear(self) -> None:
        """Remove everything but the lock, which whoever clears a run holds."""
        for path in self.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Keep other processes from writing this run; the lock ends with this process, however it ends.

        A run that another process writes is refused, or with ``wait`` waited for.
        """
        import fcntl

        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / LOCK).open("a+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                handle.seek(0)
                raise RunLocked(
                    f"{self.path} is being written by process {handle.read().strip() or 'unknown'}; "
                    f"wait for it to end, or choose another folder with --out"
                ) from None
            handle.seek(0)
            handle.truncate()
            handle.write(str(os.getpid()))
            handle.flush()
            yield
