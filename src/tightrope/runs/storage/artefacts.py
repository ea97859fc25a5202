"""What a run stores: each thing with its place, what it is made from, and how it is written.

One rule says whether a stored thing is still valid: what it would be made from now is what it was made from, and its
file is the one that was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tightrope.runs.configuration.config import default_of
from tightrope.runs.storage.manifest import Entry, Source

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Codec(Generic[T]):
    """How a value is written to a file, read again, and told from others."""

    write: Callable[[T], Mapping[str, Any]]
    read: Callable[[Any], T]
    ids: Callable[[T], Mapping[str, str]] = field(default=lambda value: {})
    """Content ids of what others are made from, by name."""
    errors: Callable[[T], int] = field(default=lambda value: 0)
    """Executions behind it that raised."""


@dataclass(frozen=True, kw_only=True)
class Artefact(Generic[T]):
    """One thing that a run stores."""

    path: str
    """Within the run folder."""
    settings: Mapping[str, Any]
    """How it is asked for: plain values by their names in the configuration."""
    sources: tuple[Source, ...]
    """What it is made from, the first cause first."""
    codec: Codec[T]


@dataclass(frozen=True, kw_only=True)
class ChangedInput:
    """An input that is not what it was."""

    name: str
    was: Any
    now: Any
    setting: bool
    """Whether it is a setting, which people chose, and not something made."""

    def __str__(self) -> str:
        return f"{self.name} was {self.was!r}, now {self.now!r}" if self.setting else f"{self.name} changed"


def changes(entry: Entry, settings: Mapping[str, Any], sources: tuple[Source, ...]) -> Iterator[ChangedInput]:
    """In which of its inputs a stored thing differs from what is asked for now; none: it is valid.

    What was made before there was a setting was made as by its default.
    """
    for name in {**entry.settings, **settings}:
        was, now = (told[name] if name in told else default_of(name) for told in (entry.settings, settings))
        if was != now:
            yield ChangedInput(name=name, was=was, now=now, setting=True)
    known = {source.name: source.id for source in entry.sources}
    for source in sources:
        if known.get(source.name) != source.id:
            yield ChangedInput(name=source.name, was=known.get(source.name), now=source.id, setting=False)


def checksum(content: bytes) -> str:
    """What tells a file from any other."""
    return hashlib.sha256(content).hexdigest()
