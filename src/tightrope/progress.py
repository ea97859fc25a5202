"""How far long work has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Progress:
    """One report from long work."""

    stage: str
    """What is being done: "search", "safety", "fuzzing", "performance"…"""
    finished: int
    total: int | None
    """How many there will be; None when that is not known."""
    note: str = ""
    """A few words on the latest findings."""


ProgressCallback: TypeAlias = Callable[[Progress], None]
