"""Demonstrations from Minari data sets."""

from __future__ import annotations

import pytest

import tightrope as tr
from tightrope.errors import UsageError
from tightrope.references.minari import minari_traces

# Minari asks for authors and permalinks.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

WAY = (1, 1, 2, 1, 2, 2)


def write_dataset(name, seeds):
    """A data set of FrozenLake episodes, written without the libraries that recording needs."""
    import gymnasium as gym
    import minari
    from minari.data_collector import EpisodeBuffer

    steps = len(WAY)
    buffers = [
        EpisodeBuffer(
            id=index,
            seed=seed,
            observations=[0, 4, 8, 9, 13, 14, 15],
            actions=list(WAY),
            rewards=[0.0] * (steps - 1) + [1.0],
            terminations=[False] * (steps - 1) + [True],
            truncations=[False] * steps,
        )
        for index, seed in enumerate(seeds)
    ]
    return minari.create_dataset_from_buffers(
        name, buffers, env=gym.make("FrozenLake-v1", is_slippery=False), data_format="hdf5"
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def task():
    return tr.make_task("FrozenLake-v1", is_slippery=False)


def test_episodes_become_demonstrations(folder, task):
    write_dataset("toy/lake-v0", seeds=[7, None, 2**63 + 5])
    traces = minari_traces(folder / "toy" / "lake-v0", task)
    assert [(trace.seed, trace.actions) for trace in traces] == [(7, WAY), (2**63 + 5, WAY)]
    assert minari_traces("toy/lake-v0", task) == traces
    reference = tr.search(task, "demonstration", demonstration="minari:toy/lake-v0").reference
    assert reference.actions == traces[0]
    assert reference.proven > 0


def test_huge_seeds_survive_both_kinds_of_trace_files(tmp_path):
    trace = tr.ActionTrace("lake", 2**63 + 5, WAY)
    for name in ("demo.json", "demo.npz"):
        tr.write_traces(tmp_path / name, [trace])
        assert tr.read_traces(tmp_path / name) == [trace]


def test_episodes_without_seeds_cannot_be_replayed(folder, task):
    write_dataset("toy/lake-v0", seeds=[None])
    with pytest.raises(UsageError, match="has a reset seed"):
        minari_traces("toy/lake-v0", task)


def test_a_missing_dataset_is_not_downloaded(folder, task):
    with pytest.raises(UsageError, match="not on this machine"):
        minari_traces("toy/other-v0", task)
