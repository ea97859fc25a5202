"""Networks in 8 bits: another file, which says how often it does the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import tightrope as tr
from tests.agents.networks import Graph, dense_network, gaussian_network, picture_network
from tests.agents.tasks import FRAMES, MOVES, TORQUES, VECTOR, noise_task
from tightrope.agents import arithmetic_of
from tightrope.agents.formats.onnx import OnnxFile
from tightrope.agents.networks.batch_invariance import ALL_SIZES
from tightrope.agents.objects.fingerprints import file_fingerprint
from tightrope.agents.spaces import spaces_of
from tightrope.cli import run_command
from tightrope.errors import AgentError, MissingExtra
from tightrope.evaluation.quantising import EPISODES, KEPT, MEASURED

CARTPOLE, LAKE = (Path(f"agents/gallery/{name}.onnx") for name in ("cartpole-late", "frozenlake-early"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    task = noise_task(FRAMES, MOVES, one_per_process=True)
    original = picture_network(folder / "original.onnx", 4, metadata={"algorithm": "double DQN"})
    return task, original, tr.quantise_agent(task, original, folder / "small.onnx")


def test_the_new_file_is_an_agent_that_says_what_it_is(pictures):
    task, original, found = pictures
    metadata = OnnxFile(Path(found.file)).metadata
    assert metadata["algorithm"] == "double DQN"
    assert metadata["made_from"] == file_fingerprint(original)
    agent = tr.load_agent(found.file, task)
    assert arithmetic_of(agent) == metadata["arithmetic"] == found.sentence()
    assert arithmetic_of(tr.load_agent(original, task)) == ""
    assert tr.load_agent(original, task).fingerprint != agent.fingerprint
    assert file_fingerprint(Path(found.file)) != metadata["made_from"]


def test_its_layers_are_in_8_bits_and_the_file_is_smaller(pictures):
    _, original, found = pictures
    assert Path(found.file).stat().st_size < original.stat().st_size / 3


def test_the_share_is_what_counting_gives(pictures):
    task, original, found = pictures
    assert found.equal_actions.n == EPISODES - MEASURED
    assert 0 < found.observations <= KEPT * found.equal_actions.n
    before, after = (tr.load_agent(source, task) for source in (original, found.file))
    observations = spaces_of(task).sample_observations(300)
    nothing = [None] * len(observations)
    same = np.equal(*(agent.act(observations, nothing, nothing, nothing).actions for agent in (before, after)))
    assert found.equal_actions.low <= same.mean() <= found.equal_actions.high
    assert same.mean() < 1, "it is another agent"


def test_what_it_answers_does_not_hang_on_the_batch(pictures):
    task, _, found = pictures
    assert tuple(tr.load_agent(found.file, task).block_sizes) == ALL_SIZES


def test_the_same_file_comes_out_again(pictures, tmp_path):
    task, original, found = pictures
    again = tr.quantise_agent(task, original, tmp_path / "again.onnx")
    assert (again.equal_actions, again.observations) == (found.equal_actions, found.observations)
    assert Path(again.file).read_bytes() == Path(found.file).read_bytes()


def test_masked_actions_are_compared_among_those_that_are_allowed(tmp_path):
    task = noise_task(VECTOR, MOVES, masked=True, one_per_process=True)
    found = tr.quantise_agent(task, dense_network(tmp_path / "moves.onnx", 5, 4), tmp_path / "small.onnx")
    assert found.equal_actions.value == 1, "one action is allowed at a time"


@pytest.mark.parametrize(
    ("task", "make", "message"),
    [
        (
            noise_task(VECTOR, TORQUES, one_per_process=True),
            lambda path: gaussian_network(path, 5, 2),
            "more than choose",
        ),
        (noise_task(VECTOR, MOVES, one_per_process=True), lambda path: one_layer(path), "no layer"),
    ],
)
def test_what_cannot_be_compared_or_has_nothing_to_gain_is_refused(task, make, message, tmp_path):
    with pytest.raises(AgentError, match=message):
        tr.quantise_agent(task, make(tmp_path / "network.onnx"), tmp_path / "small.onnx")


def one_layer(path):
    graph = Graph()
    return graph.save(path, {"scores": (graph.dense("observation", 5, 4, relu=False), ["n", 4])}, shape=["n", 5])


def test_other_sources_and_targets_are_refused(tmp_path):
    task = tr.make_task("CartPole-v1")
    with pytest.raises(AgentError, match=r"only networks in \.onnx files"):
        tr.quantise_agent(task, "tests.sample_agents:zigzag", tmp_path / "small.onnx")
    with pytest.raises(AgentError, match=r"ends in \.onnx"):
        tr.quantise_agent(task, CARTPOLE, tmp_path / "small.bin")


def test_on_the_command_line_and_in_a_run(tmp_path, capsys, caplog):
    small, lake = tmp_path / "small.onnx", ["FrozenLake-v1", "--set", "is_slippery=false"]
    assert run_command(["quantise", *lake, "--agent", str(LAKE), "--out", str(small), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["observations"] > 0
    assert 0.5 < told["equal_actions"]["value"] <= 1
    config = tr.CampaignConfig(
        task="FrozenLake-v1",
        options={"is_slippery": False},
        agents=[{"source": str(small)}],
        safety={"suites": ["simple"], "length": 20, "control": 0},
        fuzzing={"enabled": False},
        performance={"enabled": False},
        plain={"episodes": 2},
        report={"videos": 0},
        execution={"backend": "inline"},
    )
    run = tr.run_campaign(config, tmp_path / "run")
    said = OnnxFile(small).metadata["arithmetic"]
    assert said in caplog.text
    assert run.agents["small"].arithmetic == said
    assert said in (tmp_path / "run" / "report" / "index.html").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "run" / "report" / "results.json").read_text(encoding="utf-8"))
    assert results["runs"][0]["agents"][0]["arithmetic"] == said


def test_a_missing_library_is_told_before_anything_is_played(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    played = []
    with pytest.raises(MissingExtra, match=r"tightrope\[int8\]"):
        tr.quantise_agent(tr.make_task("CartPole-v1"), CARTPOLE, tmp_path / "out.onnx", on_progress=played.append)
    assert not played
