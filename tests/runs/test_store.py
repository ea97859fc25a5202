from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tightrope.agents import Answer
from tightrope.errors import FormatError
from tightrope.execution import Engine, Rollout
from tightrope.runs.storage.store import NO_ROOM, EpisodeStore, RememberingEngine
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace


class Walker:
    name = "walker"
    fingerprint = "walker-1"
    deterministic = True
    recurrent = False

    def act(self, observations, memories, generators, masks):
        return Answer([0] * len(observations), memories)


def rollouts(task, agent=None) -> list[Rollout]:
    prefixes = [(), (0,), (0, 0, 1), (1, 0)]
    starts = [ActionTrace(task.label, 0, prefix) for prefix in prefixes]
    if agent is None:
        return [Rollout(start=start, actions=(0, 1, 1, 1), record_keys=True, seed=3) for start in starts]
    return [Rollout(start=start, agent=agent, length=4, seed=5) for start in starts]


def test_an_episode_comes_back_as_it_was(tmp_path: Path) -> None:
    task = corridor_task(slip=0.3)
    store = EpisodeStore(tmp_path / "episodes.sqlite")
    with Engine(task) as engine:
        episodes = engine.run(rollouts(task))
    for episode in episodes:
        store.add(episode.rollout.id, episode)
    store.close()
    reopened = EpisodeStore(tmp_path / "episodes.sqlite")
    for episode in episodes:
        again = reopened.get(episode.rollout.id, episode.rollout)
        assert again == episode
        assert np.array_equal(again.keys, episode.keys)
    assert {episode.rollout for episode in reopened.all()} == {episode.rollout for episode in episodes}
    reopened.close()


def test_nothing_stored_is_run_again(tmp_path: Path) -> None:
    task = corridor_task()
    store = EpisodeStore(tmp_path / "episodes.sqlite")
    first = RememberingEngine(store, task, {"walker": Walker()})
    expected = first.run(rollouts(task, "walker"))
    first.close()

    second = RememberingEngine(store, task, {"walker": Walker()})
    seen = []
    assert second.run(rollouts(task, "walker"), on_episode=seen.append) == expected
    assert second.remembered == len(expected) == len(seen)
    assert second.counters.steps_executed == 0
    second.close()
    store.close()


def test_what_is_stored_is_not_expected_of_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = corridor_task()
    store = EpisodeStore(tmp_path / "episodes.sqlite")
    work, named = rollouts(task, "walker"), []
    monkeypatch.setattr(Engine, "expect", lambda self, rollouts: named.extend(rollouts))
    with RememberingEngine(store, task, {"walker": Walker()}) as engine:
        engine.run(work[:2])
        engine.expect(work)
    assert named == work[2:]
    store.close()


def test_another_agent_of_the_same_name_is_not_answered_from_the_store(tmp_path: Path) -> None:
    task = corridor_task()
    store = EpisodeStore(tmp_path / "episodes.sqlite")
    first = RememberingEngine(store, task, {"walker": Walker()})
    first.run(rollouts(task, "walker"))
    first.close()
    other = Walker()
    other.fingerprint = "walker-2"
    second = RememberingEngine(store, task, {"walker": other})
    second.run(rollouts(task, "walker"))
    assert second.remembered == 0
    second.close()
    store.close()


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "episodes.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(FormatError, match="newer"):
        EpisodeStore(path)


def test_a_damaged_store_is_told_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "episodes.sqlite"
    path.write_bytes(b"half of a copy" * 100)
    with pytest.raises(
        FormatError, match=r"episodes\.sqlite cannot be used \(file is not a database\).*Remove the file"
    ):
        EpisodeStore(path)


@pytest.mark.parametrize("code", NO_ROOM)
def test_a_full_disk_is_not_taken_for_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Whoever followed the advice to remove a damaged file would lose all episodes for want of room."""
    path = tmp_path / "episodes.sqlite"
    EpisodeStore(path).close()
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = code

    def write_nothing(store: EpisodeStore, *, read_only: bool) -> None:
        raise full

    monkeypatch.setattr(EpisodeStore, "_open", write_nothing)
    with pytest.raises(OSError, match="No space left on device") as told:
        EpisodeStore(path)
    assert told.value.filename == str(path)


def test_a_database_that_may_not_grow_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = EpisodeStore(tmp_path / "episodes.sqlite")
    pages = store.connection.execute("pragma page_count").fetchone()[0]
    store.connection.execute(f"pragma max_page_count = {pages + 2}")
    store._ask("insert into traces values ('kept', 'x')")
    with pytest.raises(OSError, match="No space left on device"):
        store._ask("insert into traces values (?, ?)", ("large", "x" * 100_000))
    store.close()
    with closing(EpisodeStore(tmp_path / "episodes.sqlite")) as again:
        assert again._ask("select id from traces") == [("kept",)]
