from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tightrope.agents import Answer
from tightrope.errors import FormatError
from tightrope.execution import Engine, Rollout
from tightrope.runs.store import EpisodeStore, RememberingEngine
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
