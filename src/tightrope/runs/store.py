"""Finished episodes in SQLite, and an engine that never runs again what is there."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tightrope.agents.agent import Agent
from tightrope.errors import FormatError
from tightrope.execution import Engine, Episode, Rollout
from tightrope.files import DAMAGE, parse_json
from tightrope.files.content import in_words
from tightrope.files.limits import STORED_VALUE
from tightrope.outcome import Outcome
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace, content_id

SCHEMA_VERSION = 1
TABLES = {("table", "traces"), ("table", "episodes"), ("index", "episodes_by_start")}
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names another file, which SQLite deletes once it has used the journal."""
Result = TypeVar("Result")

SCHEMA = """
create table if not exists traces (id text primary key, content text not null) without rowid;
create table if not exists episodes (
    id text primary key, start text not null, agent text, rollout text not null, summary text not null,
    actions blob not null, rewards blob not null, keys blob, positions blob
) without rowid;
create index if not exists episodes_by_start on episodes (start);
"""


class EpisodeStore:
    """Episodes by what was run. Each is committed when it is added, so that a killed run keeps what was finished."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        _require_own_journal(path)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self._known_traces: set[str] = set()
        try:
            self._open(path)
        except sqlite3.DatabaseError as error:
            self.connection.close()
            raise FormatError(
                f"{path} cannot be used ({error}). If it is damaged, remove it: finished steps stay, and what they do "
                f"not hold is run again"
            ) from error

    def _open(self, path: Path) -> None:
        version = self.connection.execute("pragma user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            self.connection.close()
            raise FormatError(f"{path} was written by a newer tightrope (schema {version}); upgrade to read it")
        # A schema is a program, too: triggers and views of whoever made the file.
        self.connection.execute("pragma trusted_schema = off")
        strange = set(self.connection.execute("select type, name from sqlite_master where sql is not null")) - TABLES
        if strange:
            raise sqlite3.DatabaseError(f"it holds the {' '.join(min(strange))}")
        # In WAL mode a commit survives the death of the process without waiting for the disk.
        self.connection.execute("pragma journal_mode = wal")
        self.connection.execute("pragma synchronous = normal")
        self.connection.executescript(SCHEMA)
        self.connection.execute(f"pragma user_version = {SCHEMA_VERSION}")

    def add(self, identifier: str, episode: Episode) -> None:
        """Store an episode; one that is there already stays."""
        start = episode.rollout.start
        if start.id not in self._known_traces:
            content = json.dumps([start.task, start.seed, start.actions, start.reseeds])
            self.connection.execute("insert or ignore into traces values (?, ?)", (start.id, content))
            self._known_traces.add(start.id)
        self.connection.execute(
            "insert or ignore into episodes values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                identifier,
                start.id,
                episode.rollout.agent,
                _rollout_text(episode.rollout),
                _summary_text(episode),
                zlib.compress(json.dumps(episode.actions).encode(), 1),
                zlib.compress(np.asarray(episode.rewards, dtype=np.float64).tobytes(), 1),
                _packed(episode.keys),
                _packed(episode.positions),
            ),
        )

    def get(self, identifier: str, rollout: Rollout) -> Episode | None:
        """The stored episode of a rollout, or None."""
        row = self.connection.execute(
            "select summary, actions, rewards, keys, positions from episodes where id = ?", (identifier,)
        ).fetchone()
        return None if row is None else self._read(_episode, rollout, *row)

    def all(self) -> Iterable[Episode]:
        """Every stored episode, with the rollout that made it."""
        return self.sample(-1)

    def sample(self, number: int) -> Iterable[Episode]:
        """So many episodes, always the same ones; their ids are hashes, so they are any."""
        rows = self.connection.execute(
            "select rollout, content, summary, actions, rewards, keys, positions "
            "from episodes join traces on traces.id = episodes.start order by episodes.id limit ?",
            (number,),
        )
        for rollout_text, trace_text, *rest in rows:
            yield self._read(_episode, self._read(_rollout, rollout_text, trace_text), *rest)

    def _read(self, read: Callable[..., Result], *columns: Any) -> Result:
        """What a row says, or the error that names the file."""
        try:
            return read(*columns)
        except (FormatError, zlib.error, *DAMAGE) as error:
            raise FormatError(
                f"{self.path} is damaged: an episode in it cannot be read ({error}). Remove the file: finished steps "
                f"stay, and what they do not hold is run again"
            ) from error

    def __len__(self) -> int:
        return int(self.connection.execute("select count(*) from episodes").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


class RememberingEngine(Engine):
    """An engine that answers from the store where it can, and stores what it had to run."""

    def __init__(self, store: EpisodeStore, task: Task, agents: Mapping[str, Agent], **options: Any) -> None:
        super().__init__(task, agents, **options)
        self.store = store
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
            if episode is None:
                missing.append(rollout)
                continue
            self.remembered += 1
            results[rollout.id] = episode
            if on_episode is not None:
                on_episode(episode)

        def keep(episode: Episode) -> None:
            # An error is not a result: it is told, and tried again by the next run.
            if episode.error is None:
                self.store.add(self._identifier(episode.rollout), episode)
                self.added += 1
            if on_episode is not None:
                on_episode(episode)

        for episode in super().run(missing, on_episode=keep):
            results[episode.rollout.id] = episode
        return [results[rollout.id] for rollout in rollouts]

    def _identifier(self, rollout: Rollout) -> str:
        agent = None if rollout.agent is None else self.agents[rollout.agent].fingerprint
        return content_id(rollout.id, agent, dict(self.task.fingerprint))


def _rollout_text(rollout: Rollout) -> str:
    return json.dumps(
        [
            rollout.agent, rollout.actions, rollout.length, rollout.seed, rollout.fixed_prefix, rollout.record_keys,
            rollout.record_positions,
        ]
    )  # fmt: skip


def _rollout(rollout_text: str, trace_text: str) -> Rollout:
    task, seed, actions, reseeds = _tuples(parse_json(trace_text, "a trace"))
    agent, played, length, rollout_seed, fixed_prefix, record_keys, record_positions = _tuples(
        parse_json(rollout_text, "a rollout")
    )
    return Rollout(
        start=ActionTrace(task, seed, actions, reseeds),
        agent=agent,
        actions=played,
        length=length,
        seed=rollout_seed,
        fixed_prefix=fixed_prefix,
        record_keys=record_keys,
        record_positions=record_positions,
    )


def _summary_text(episode: Episode) -> str:
    return json.dumps(
        [
            episode.prefix_steps, episode.prefix_reward, episode.prefix_outcome, episode.outcome, episode.reseeds,
            episode.checksum, episode.deterministic,
        ]
    )  # fmt: skip


def _episode(
    rollout: Rollout, summary: str, actions: bytes, rewards: bytes, keys: bytes | None, positions: bytes | None
) -> Episode:
    prefix_steps, prefix_reward, prefix_outcome, outcome, reseeds, checksum, deterministic = parse_json(
        summary, "an episode"
    )
    return Episode(
        rollout=rollout,
        prefix_steps=prefix_steps,
        prefix_reward=prefix_reward,
        prefix_outcome=Outcome(prefix_outcome),
        outcome=Outcome(outcome),
        actions=_tuples(parse_json(_unpacked(actions), "its actions")),
        rewards=tuple(np.frombuffer(_unpacked(rewards), dtype=np.float64).tolist()),
        reseeds=_tuples(reseeds),
        checksum=checksum,
        keys=None if keys is None else np.frombuffer(_unpacked(keys), dtype=np.uint64),
        positions=None if positions is None else np.frombuffer(_unpacked(positions)).reshape(-1, 2),
        deterministic=deterministic,
    )


def _packed(array: Any) -> bytes | None:
    return None if array is None else zlib.compress(np.ascontiguousarray(array).tobytes(), 1)


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
                raise FormatError(f"{journal} names other files and is none of tightrope's; remove it")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
