"""Escapes and references as data sets, read back by those who would learn from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope.errors import NotReproducible, UsageError
from tightrope.tasks import make_task
from tightrope.training.datasets import write_npz
from tightrope.training.demonstrations import demonstrations

# Minari asks for authors and permalinks.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LAKE = {"is_slippery": False}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """An agent that always goes right falls into holes that others walk around."""
    out = tmp_path_factory.mktemp("lake") / "run"
    config = tr.CampaignConfig(
        task="FrozenLake-v1",
        options=LAKE,
        agents=[{"source": "agents/gallery/frozenlake-early.onnx", "name": "early"}],
        safety={"suites": ["coverage:1"], "length": 20, "control": 0},
        fuzzing={"enabled": False},
        performance={"enabled": False},
        plain={"episodes": 0},
        report={"videos": 0},
        execution={"backend": "inline"},
    )
    return tr.run_campaign(config, out)


def expected(run):
    (result,) = (run.safety["coverage:1"]["early"],)
    return {case.case.prefix.then(case.witness).id for case in result.cases if case.fails and case.witness}


def ends_well(run):
    found = [reference.actions.id for reference in run.references if reference.trace.outcome == "goal"]
    assert 1 < len(found) < len(run.references), "others are runs of the agent that stand about or were lost"
    return found


def test_minari_reads_what_the_run_knows(run, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    assert run_command(["export", str(run.path), "--minari", "lake/escapes-v0"]) == 0
    dataset = minari.load_dataset("lake/escapes-v0")
    about = list(dataset.storage.get_episode_metadata(range(dataset.total_episodes)))
    assert {str(one["trace"]) for one in about if one["kind"] == "escape"} == expected(run)
    ways = [str(one["trace"]) for one in about if one["kind"] == "reference"]
    assert ways == ends_well(run)
    assert expected(run)
    for episode, told in zip(dataset.iterate_episodes(), about, strict=True):
        env = make_task("FrozenLake-v1", **LAKE).make_env()
        env.reset(seed=int(told["reset_seed"]))
        assert len(episode.observations) == len(episode.actions) + 1 == len(episode.rewards) + 1
        # From where it begins, the environment answers to its actions as the data set says.
        env.unwrapped.s = int(episode.observations[0])
        for action, seen, reward, ended in zip(
            episode.actions, episode.observations[1:], episode.rewards, episode.terminations, strict=True
        ):
            observation, earned, terminated, _, _ = env.step(int(action))
            assert (observation, earned, terminated) == (int(seen), float(reward), bool(ended))
            assert not (terminated and earned == 0), "an escape that falls into a hole"


def test_npz_has_the_same_steps(run, tmp_path):
    assert run_command(["export", str(run.path), "--npz", str(tmp_path / "escapes.npz"), "--agent", "early"]) == 0
    with np.load(tmp_path / "escapes.npz", allow_pickle=False) as columns:
        header = json.loads(str(columns["header"]))
        data = {name: columns[name] for name in columns.files if name != "header"}
    assert len({len(column) for column in data.values()}) == 1
    assert len(set(data["episode"].tolist())) == len(header["episodes"]) == len(expected(run)) + len(ends_well(run))
    same = data["episode"][1:] == data["episode"][:-1]
    assert np.array_equal(data["observations"][1:][same], data["next_observations"][:-1][same])
    last = header["episodes"][-1]
    assert (last["kind"], data["rewards"][-1], bool(data["terminations"][-1])) == ("reference", 1.0, True)


def test_wrong_use_is_named(run, tmp_path, capsys):
    assert run_command(["export", str(run.path)]) == 2
    assert "--minari NAME, --npz FILE" in capsys.readouterr().err
    assert run_command(["export", str(run.path), "--npz", str(tmp_path / "x.npz"), "--agent", "late"]) == 2
    with pytest.raises(UsageError, match="nothing to demonstrate"):
        write_npz(tmp_path / "x.npz", run.task, [])


def test_a_way_that_leads_elsewhere_now_is_not_exported(run):
    slippery = make_task("FrozenLake-v1", is_slippery=False, map_name="8x8")
    with pytest.raises(NotReproducible, match="no longer leads there"):
        list(demonstrations(slippery, [], [run.reference]))


def test_observations_with_parts_have_a_column_each(tmp_path):
    task = make_task("MiniGrid-LavaGapS5-v0")
    reference = tr.search(task, probe=False).reference
    found = list(demonstrations(task, [], [reference]))
    write_npz(tmp_path / "grid.npz", task, found)
    with np.load(tmp_path / "grid.npz", allow_pickle=False) as columns:
        assert columns["observations.image"].shape == (len(reference), 7, 7, 3)
        assert columns["observations.mission"].dtype.kind == "U"
