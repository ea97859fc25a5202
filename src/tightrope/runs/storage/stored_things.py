"""Artefacts of a run folder: each is read once, and one rule says whether it is still valid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tightrope.errors import FormatError
from tightrope.execution import Episode
from tightrope.files import DAMAGE, json_bytes, parse_json, read_content, require_fields, write_whole
from tightrope.files.limits import JSON_FILE
from tightrope.runs.storage import layout
from tightrope.runs.storage.artefacts import Artefact, ChangedInput, Codec, changes, checksum
from tightrope.runs.storage.episode_results import LostEpisode
from tightrope.runs.storage.folder import RunFolder
from tightrope.runs.storage.manifest import Cost, Entry, Manifest, Source, write_manifest
from tightrope.safety import TestCase

T = TypeVar("T")

FILE, EPISODES = "its file", "its episodes"
"""What makes a stored thing invalid although it would be made from the same again."""


class StoredThings:
    """What run.json knows to be stored, and what it was made from."""

    def __init__(self, folder: RunFolder, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._values: dict[str, Any] = {}
        self._lost: dict[str, str] = {}
        """Stored things that were read and are not what they were, and in what."""
        self._judged: tuple[Any, dict[str, ChangedInput | None]] = (None, {})
        """Which stored things are outdated, as long as run.json and what is lost stay the same."""

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    def is_current(self, artefact: Artefact[T]) -> bool:
        """Whether a thing is stored, and would be made from the same now."""
        entry = self.manifest.artefacts.get(artefact.path)
        if entry is None or artefact.path in self._lost:
            return False
        return not any(changes(entry, artefact.settings, artefact.sources))

    def get(self, artefact: Artefact[T]) -> T | None:
        """A stored thing, if it is still valid."""
        return self._read(artefact.path, artefact.codec) if self.is_current(artefact) else None

    def put(self, artefact: Artefact[T], value: T, cost: Cost) -> None:
        """Store a thing, with what it was made from."""
        content = json_bytes(artefact.codec.write(value))
        (self.path / artefact.path).parent.mkdir(parents=True, exist_ok=True)
        # A run that is killed between the two has a file that run.json does not believe.
        write_whole(self.path / artefact.path, content)
        entry = Entry(
            checksum=checksum(content),
            ids=dict(artefact.codec.ids(value)),
            settings=dict(artefact.settings),
            sources=artefact.sources,
            cost=cost,
            errors=artefact.codec.errors(value),
        )
        self._values[artefact.path] = value
        self._lost.pop(artefact.path, None)
        self.save(artefacts={**self.manifest.artefacts, artefact.path: entry})

    def remove(self, path: str) -> None:
        """Let go of a stored thing."""
        self._values.pop(path, None)
        self.save(artefacts={name: entry for name, entry in self.manifest.artefacts.items() if name != path})
        (self.path / path).unlink(missing_ok=True)

    def stored(self, path: str, codec: Codec[T]) -> T | None:
        """What a stored file holds, if it is still valid for what is in the run now."""
        return None if self.outdated(path) is not None else self._read(path, codec)

    def outdated(self, path: str) -> ChangedInput | None:
        """Why a stored thing says nothing about the run any more, by the first cause; None: it is valid."""
        try:
            return self._judgement(path, ())
        except RecursionError as error:
            raise FormatError(f"{self.folder.manifest_path}: {path} depends on too many files to follow") from error

    def _judgement(self, path: str, asked: tuple[str, ...]) -> ChangedInput | None:
        """Whether something is outdated, found out once for each: a forged run.json could ask for it for ever."""
        state = (self.manifest, len(self._lost))
        if self._judged[0] is None or self._judged[0][0] is not state[0] or self._judged[0][1] != state[1]:
            self._judged = (state, {})
        known = self._judged[1]
        if path not in known:
            if path in asked:
                raise FormatError(
                    f"{self.folder.manifest_path} says that {path} is made from itself, which is impossible"
                )
            known[path] = self._change(path, (*asked, path))
        return known[path]

    def _change(self, path: str, asked: tuple[str, ...]) -> ChangedInput | None:
        entry = self.manifest.artefacts.get(path)
        if entry is None or path in self._lost:
            return ChangedInput(name=self._lost.get(path, FILE), was="there", now="lost", setting=False)
        now = tuple(source.model_copy(update={"id": self._now(source, asked)}) for source in entry.sources)
        return next(changes(entry, entry.settings, now), None)

    def source(self, name: str, path: str | None = None) -> Source:
        """Something as it is now, for what is made from it."""
        return Source(name=name, path=path, id=self._now(Source(name=name, path=path, id=None)))

    def save(self, **changed: Any) -> None:
        """Change what run.json says."""
        self.manifest = self.manifest.model_copy(update=changed)
        write_manifest(self.folder.manifest_path, self.manifest)

    def renewed(self, artefact: Artefact[T]) -> Artefact[T]:
        """A thing to be stored, made from what there is now."""
        sources = (source.model_copy(update={"id": self._now(source)}) for source in artefact.sources)
        return replace(artefact, sources=tuple(sources))

    def _now(self, source: Source, asked: tuple[str, ...] = ()) -> str | None:
        """The present id of something that a stored thing was made from."""
        if source.path is not None:
            entry = self.manifest.artefacts.get(source.path)
            if entry is None or self._judgement(source.path, asked) is not None:
                return None
            return entry.ids.get(source.name)
        if source.name == layout.TASK:
            return self.manifest.task.id
        agents = {layout.agent_source(name): agent.fingerprint for name, agent in self.manifest.agents.items()}
        return agents.get(source.name, source.id)

    def _read(self, path: str, codec: Codec[T]) -> T | None:
        """What a file holds, read once; None when it is not the file that was written."""
        if path not in self._values and path not in self._lost:
            try:
                content = read_content(self.path / path, JSON_FILE)
                if checksum(content) != self.manifest.artefacts[path].checksum:
                    raise FileNotFoundError
                value = codec.read(parse_json(content, path))
                require_fields(value, believed=(Episode, TestCase))
                self._values[path] = value
            except FileNotFoundError:
                self._lost[path] = FILE
            except LostEpisode:
                self._lost[path] = EPISODES
            except DAMAGE as error:
                raise FormatError(f"{self.path / path} is damaged ({type(error).__name__}: {error})") from error
        stored: T | None = self._values.get(path)
        return stored
