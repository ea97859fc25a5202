"""``tightrope run`` as a process: what it holds, what it says, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WORKER = b"worker_process"
"""What stands in the command line of a worker process."""


class Unclear(Exception):
    """A command ended as it must not, or in words that say nothing."""


class Memory(NamedTuple):
    """Bytes in use at a moment; what processes share is counted for each of them."""

    command: int
    workers: int


class Command:
    """The command, while it runs."""

    def __init__(self, settings: Path, folder: Path, said: Path) -> None:
        self.said = said
        # Whoever was started in the background ignores Ctrl-C, and so would all that it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with said.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tightrope", "run", str(settings), "--out", str(folder), "--quiet"],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stderr=log,
                stdout=log,
            )

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def family(self) -> list[int]:
        """The command and all processes below it, parents first."""
        parents = dict(_parents())
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    def workers(self) -> list[int]:
        """The processes in which episodes are played."""
        return [pid for pid in self.family() if WORKER in _words(pid)]

    def memory(self) -> Memory:
        """What its processes hold at this moment."""
        workers = set(self.workers())
        return Memory(
            command=sum(_resident(pid) for pid in self.family() if pid not in workers),
            workers=sum(map(_resident, workers)),
        )

    def wait(self, seconds: float) -> None:
        """For so long, or until it ends."""
        end = time.monotonic() + seconds
        while self.runs and time.monotonic() < end:
            time.sleep(0.05)

    def require_end(self, *codes: int, saying: str = "", within: float | None = 600) -> bool:
        """Wait for its end: with one of these codes, in clear words, and with nobody left behind."""
        family = self.family()
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise Unclear(f"did not end within {within} s: {self.told()}") from None
        told = self.told()
        unclear = "fault of tightrope" in told or "Traceback" in told
        if code not in codes or unclear or (code > 0 and saying not in told):
            raise Unclear(f"ended with {code}, {codes} expected, and said: {told or '(nothing)'}")
        _require_gone(family)
        return True

    def told(self) -> str:
        """All that it has said."""
        return self.said.read_text(errors="replace")


def send(pid: int, number: signal.Signals) -> None:
    """A signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _require_gone(family: list[int], seconds: float = 15) -> None:
    """A worker never outlives the command."""
    end = time.monotonic() + seconds
    while alive := [pid for pid in family if b"tightrope" in _words(pid)]:
        if time.monotonic() > end:
            raise Unclear(f"{len(alive)} processes are left behind: {[_words(pid) for pid in alive]}")
        time.sleep(0.05)


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
