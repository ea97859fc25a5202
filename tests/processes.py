"""What processes there are, read from /proc while they come and go."""

from __future__ import annotations

from pathlib import Path


def children(process: int) -> list[int]:
    return [int(child) for child in _read(process, f"task/{process}/children").split()]


def family(process: int) -> list[int]:
    """A process and all that it has started, the latest last."""
    return [process, *(member for child in children(process) for member in family(child))]


def runs(process: int | str) -> bool:
    return _status(process)[:1] not in ([], ["Z"])


def processor_time(process: int | str) -> list[str]:
    return _status(process)[11:13]


def _status(process: int | str) -> list[str]:
    return _read(process, "stat").rpartition(")")[2].split()


def _read(process: int | str, name: str) -> str:
    """Nothing of a process that has gone: it may go between looking and opening, and between opening and reading."""
    try:
        return Path(f"/proc/{process}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
