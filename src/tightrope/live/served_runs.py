"""The run folders that are served, and how far each has come."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tightrope.runs.storage.folder import LOCK, MANIFEST

DEPTH = 6
"""Folders below each other that are looked through."""
MOST_FOLDERS, MOST_RUNS = 20_000, 1_000
"""Looked at, and listed: somebody may ask for the whole of their home."""
SECONDS_BETWEEN_LOOKS = 2.0
PARTS = (MANIFEST, "report/results.json")
"""A run shows something else when one of these files is another one."""


@dataclass(frozen=True, kw_only=True)
class ServedRun:
    """One run folder under the name by which it is asked for."""

    id: str
    path: Path
    name: str
    """Its path below the folder that is served."""
    trust: bool = False
    """Whether its run.json may say which code to import for its task."""

    @property
    def version(self) -> str:
        """Changes whenever the run has more to show, and when whoever wrote it has gone."""
        known = [self.process is None, *(_state(self.path / part) for part in PARTS)]
        return hashlib.sha256(repr(known).encode()).hexdigest()[:16]

    @property
    def process(self) -> int | None:
        """The process that wrote it last, if there still is one."""
        try:
            with (self.path / LOCK).open() as file:
                number = int(file.read(20))
            os.kill(number, 0)
        except PermissionError:
            return number
        except (OSError, ValueError, OverflowError):
            return None
        return number if number > 0 else None


@dataclass(kw_only=True)
class ServedRuns:
    """The run folders below a folder; links are not followed."""

    root: Path
    depth: int = DEPTH
    trust: bool = False
    running: Path | None = None
    """The run that this is served beside: there from the beginning, and trusted, as whoever began it is."""
    _found: Mapping[str, ServedRun] = field(default_factory=dict)
    _looked: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self) -> Mapping[str, ServedRun]:
        """The run folders by their ids, in the order of their names; looked for anew every few seconds."""
        with self._lock:
            if time.monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
                found = map(self._place, self._paths())
                self._found = {place.id: place for place in sorted(found, key=lambda place: place.name)}
                self._looked = time.monotonic()
            return self._found

    def _paths(self) -> set[Path]:
        own = set() if self.running is None else {self.running}
        return own.union(run_folders(self.root, self.depth))

    def _place(self, path: Path) -> ServedRun:
        name = path.name if path == self.root else path.relative_to(self.root).as_posix()
        identifier = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        shown = name.encode("utf-8", "replace").decode()
        return ServedRun(id=identifier, path=path, name=shown, trust=self.trust or path == self.running)


def run_folders(root: Path, depth: int = DEPTH) -> Iterator[Path]:
    """The run folders at or below a folder; none are looked for inside of one, behind links or in hidden folders."""
    waiting, looked, found = [(root, 0)], 0, 0
    while waiting and looked < MOST_FOLDERS and found < MOST_RUNS:
        folder, level = waiting.pop(0)
        looked += 1
        inside = _entries(folder)
        if any(entry.name == MANIFEST and entry.is_file(follow_symlinks=False) for entry in inside):
            found += 1
            yield folder
        elif level < depth:
            waiting += [(folder / entry.name, level + 1) for entry in inside if _is_worth_a_look(entry)]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_worth_a_look(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
