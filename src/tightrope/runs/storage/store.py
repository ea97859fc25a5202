"""Finished episodes in SQLite, and an engine that never runs again what is there."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from tightrope.agents.agent import Agent
from tightrope.errors import FormatError
from tightrope.execution import Engine, Episode, Rollout
from tightrope.execution.episode_codec import episode_from_json, episode_to_json
from tightrope.files import DAMAGE, json_bytes, parse_json
from tightrope.files.content import in_words
from tightrope.files.limits import STORED_VALUE
from tightrope.simulation import RandomnessMet
from tightrope.tasks.task import Task
from tightrope.trace import content_id
from tightrope.tracefiles import trace_from_json, trace_to_json

SCHEMA_VERSION = 2
TABLES = {("table", "traces"), ("table", "episodes"), ("index", "episodes_by_start")}
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names another file, which SQLite deletes once it has used the journal."""
NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
"""What SQLite meets when the disk is full, or a file may not grow."""
Result = TypeVar("Result")

SCHEMA = """
create table if not exists traces (id text primary key, content text not null) without rowid;
create table if not exists episodes (
    id text primary key, start text not null, agent text, rollout text not null, content blob not null,
    raised integer not null
) without rowid;
create index if not exists episodes_by_start on episodes (start);
"""
WHAT_TO_DO = "Remove the file: what was judged from it is run again"


def episode_id(rollout: Rollout, agent: str | None, task: Mapping[str, str]) -> str:
    """What a rollout shows, by all that it depends on: ``agent`` and ``task`` are fingerprints."""
    return content_id(rollout.identifier(agent=agent), dict(task))


class EpisodeStore:
    """Episodes by what was run. Each is committed when it is added, so that a killed run keeps what was finished."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        _require_own_journal(path)
        self._known_traces: set[str] = set()
        try:
            self.connection = _only_read(path) if read_only else sqlite3.connect(path, isolation_level=None)
            self._open(read_only=read_only)
        except sqlite3.DatabaseError as error:
            self.close()
            raise self._refusal(error) from error

    def _open(self, *, read_only: bool) -> None:
        # A schema is a program, too: triggers and views of whoever made the file.
        self.connection.execute("pragma trusted_schema = off")
        found = set(self.connection.execute("select type, name from sqlite_master where sql is not null"))
        if not found <= TABLES:
            raise sqlite3.DatabaseError(f"it holds the {' '.join(min(found - TABLES))}")
        version = self.connection.execute("pragma user_version").fetchone()[0]
        # Zero is what a run leaves that was killed while it made the file.
        if version not in (0, SCHEMA_VERSION):
            self.close()
            age, advice = ("a newer", "upgrade to read it") if version > SCHEMA_VERSION else ("an earlier", WHAT_TO_DO)
            raise FormatError(f"{self.path} was written by {age} tightrope (schema {version}); {advice}")
        if read_only:
            return
        # In WAL mode a commit survives the death of the process without waiting for the disk.
        self.connection.execute("pragma journal_mode = wal")
        self.connection.execute("pragma synchronous = normal")
        self.connection.executescript(SCHEMA)
        self.connection.execute(f"pragma user_version = {SCHEMA_VERSION}")

    def add(self, identifier: str, episode: Episode) -> None:
        """Store an episode; one that is there already stays, unless it raised."""
        start = episode.rollout.start
        if start.id not in self._known_traces:
            content = json.dumps(trace_to_json(start))
            self._ask("insert or ignore into traces values (?, ?)", (start.id, content))
            self._known_traces.add(start.id)
        self._ask(
            "insert into episodes values (?, ?, ?, ?, ?, ?) on conflict (id) do update set "
            "content = excluded.content, raised = excluded.raised where episodes.raised",
            (
                identifier,
                start.id,
                episode.rollout.agent,
                json.dumps(_rollout_values(episode.rollout)),
                zlib.compress(json_bytes(episode_to_json(episode)), 1),
                episode.error is not None,
            ),
        )

    def get(self, identifier: str, rollout: Rollout) -> Episode | None:
        """The stored episode of a rollout, or None."""
        rows = self._ask("select content from episodes where id = ?", (identifier,))
        return self._read(_episode, rollout, *rows[0]) if rows else None

    def all(self) -> Iterator[Episode]:
        """Every stored episode, with the rollout that made it."""
        return self.sample(-1)

    def sample(self, number: int) -> Iterator[Episode]:
        """So many episodes, always the same ones; their ids are hashes, so they are any."""
        rows = self._ask(
            "select rollout, traces.content, episodes.content from episodes join traces "
            "on traces.id = episodes.start where not raised order by episodes.id limit ?",
            (number,),
        )
        for rollout, trace, content in rows:
            yield self._read(_episode, self._read(_rollout, rollout, trace), content)

    def _read(self, read: Callable[..., Result], *columns: Any) -> Result:
        """What a row says, or the error that names the file."""
        try:
            return read(*columns)
        except (FormatError, zlib.error, *DAMAGE) as error:
            raise FormatError(
                f"{self.path} is damaged: an episode in it cannot be read ({error}). {WHAT_TO_DO}"
            ) from error

    def clear(self) -> None:
        """Forget all episodes."""
        self._ask("delete from episodes")

    def __len__(self) -> int:
        return int(self._ask("select count(*) from episodes where not raised")[0][0])

    def _ask(self, command: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """The answer of the database, or the error that names its file."""
        try:
            return self.connection.execute(command, values).fetchall()
        except (sqlite3.Error, *DAMAGE) as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> Exception:
        """What to tell the user. A file that only lacks room is a good one, and must not be removed."""
        if getattr(error, "sqlite_errorcode", None) in NO_ROOM:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        return FormatError(f"{self.path} cannot be used ({error}). {WHAT_TO_DO}")

    def close(self) -> None:
        """Close the file."""
        if hasattr(self, "connection"):
            self.connection.close()


class RememberingEngine(Engine):
    """An engine that answers from the store where it can, and stores what it had to run."""

    def __init__(
        self,
        store: EpisodeStore,
        task: Task,
        agents: Mapping[str, Agent],
        on_stochastic: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> None:
        super().__init__(task, agents, **options)
        self.store = store
        self._on_stochastic = on_stochastic
        self.remembered = 0
        """Episodes that were answered from the store."""
        self.added = 0
        """Episodes that were run and stored."""

    def run(self, rollouts: Iterable[Rollout], *, on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Run what is not stored yet; the result is the same as if everything had been run."""
        rollouts = list(rollouts)
        results: dict[str, Episode] = {}
        missing = []
        for rollout in rollouts:
            episode = self.store.get(self._identifier(rollout), rollout)
            # An error is not a result: it is told, and tried again by the next run.
            if episode is None or episode.error is not None:
                missing.append(rollout)
                continue
            self.remembered += 1
            results[rollout.id] = episode
            if on_episode is not None:
                on_episode(episode)

        def keep(episode: Episode) -> None:
            self.store.add(self._identifier(episode.rollout), episode)
            self.added += episode.error is None
            if on_episode is not None:
                on_episode(episode)

        for episode in super().run(missing, on_episode=keep):
            results[episode.rollout.id] = episode
        return [results[rollout.id] for rollout in rollouts]

    def expect(self, rollouts: Iterable[Rollout]) -> None:
        """Say what will be asked for later; what is stored needs no worker."""
        super().expect([one for one in rollouts if self.store.get(self._identifier(one), one) is None])

    def turn_stochastic(self, met: RandomnessMet) -> None:
        """Take the task for stochastic, and forget the episodes that were executed once for many."""
        super().turn_stochastic(met)
        self.store.clear()
        self._on_stochastic()

    def _identifier(self, rollout: Rollout) -> str:
        agent = None if rollout.agent is None else self.agents[rollout.agent].fingerprint
        return episode_id(rollout, agent, self.task.fingerprint)


def _only_read(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, and needs no right to."""
    address = path.resolve().as_uri()
    try:
        # Not opened as one to read from: such a connection leaves its notes behind, since it may not remove them.
        connection = sqlite3.connect(f"{address}?mode=rw", uri=True, isolation_level=None)
        connection.execute("pragma query_only = on")
        connection.execute("select 1 from sqlite_master")
    except sqlite3.OperationalError:
        # In a folder that nobody may write to, SQLite cannot keep the notes by which it would share the file.
        connection = sqlite3.connect(f"{address}?immutable=1", uri=True)
    return connection


def _rollout_values(rollout: Rollout) -> dict[str, Any]:
    return {part.name: getattr(rollout, part.name) for part in fields(rollout) if part.name != "start"}


def _rollout(rollout: str, trace: str) -> Rollout:
    values = {name: _tuples(value) for name, value in parse_json(rollout, "a rollout").items()}
    return Rollout(start=trace_from_json(parse_json(trace, "a trace")), **values)


def _episode(rollout: Rollout, content: bytes) -> Episode:
    return episode_from_json(rollout, parse_json(_unpacked(content), "an episode"))


def _unpacked(content: bytes) -> bytes:
    """A compressed value; how much it unpacks to is not known before."""
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(content, STORED_VALUE)
    if not unpacker.eof:
        raise ValueError(f"a value is cut off, or unpacks to more than {in_words(STORED_VALUE)}")
    return unpacked


def _require_own_journal(path: Path) -> None:
    """Refuse a journal that names a file outside of the database: SQLite would delete that file on opening this one."""
    journal = Path(f"{path.resolve()}-journal")
    if journal.is_file():
        with journal.open("rb") as file:
            file.seek(max(0, journal.stat().st_size - len(SUPER_JOURNAL)))
            if file.read() == SUPER_JOURNAL:
                raise FormatError(f"{journal} names other files and was not written by tightrope; remove it")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
