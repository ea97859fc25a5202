"""Agents whose weights lie in files beside the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

import tightrope as tr
from tests.agents.networks import dense_network
from tests.agents.tasks import MOVES, VECTOR, noise_task
from tightrope.agents.formats.onnx_files import external_files
from tightrope.errors import AgentError, FormatError, UsageError
from tightrope.testing.agent_contract import ask, walk

TASK = noise_task(VECTOR, MOVES)


def with_weights_outside(path: Path, seed: int = 0, location: str = "agent.onnx.data") -> Path:
    """The network of ``dense_network`` as `torch.onnx.export(external_data=True)` would write it."""
    model = onnx.load(dense_network(path, 5, 4, seed=seed))
    (path.parent / location).unlink(missing_ok=True)
    onnx.save_model(model, path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def elsewhere(model: Any, location: str) -> Any:
    """All tensors say that their numbers lie at a location."""
    for tensor in external_data_helper._get_all_tensors(model):
        external_data_helper.set_external_data(tensor, location, 0, len(tensor.raw_data))
        tensor.ClearField("raw_data")
    return model


def test_it_answers_like_the_model_in_one_file_from_any_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ask(tr.load_agent(dense_network(tmp_path / "whole.onnx", 5, 4), TASK), walk(TASK)).actions
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "deep").mkdir()
    path = with_weights_outside(tmp_path / "models" / "agent.onnx", location="deep/weights")
    for folder in (tmp_path, tmp_path / "models", tmp_path / "models" / "deep"):
        monkeypatch.chdir(folder)
        agent = tr.load_agent(os.path.relpath(path), TASK)
        assert ask(agent, walk(TASK)).actions == expected
    monkeypatch.chdir("/")
    assert ask(cloudpickle.loads(cloudpickle.dumps(agent)), walk(TASK)).actions == expected


def test_retrained_weights_are_another_agent(tmp_path: Path) -> None:
    path = with_weights_outside(tmp_path / "agent.onnx")
    model, before = path.read_bytes(), tr.load_agent(path, TASK)
    with_weights_outside(path, seed=1)
    assert path.read_bytes() == model, "only the file beside it differs"
    after = tr.load_agent(path, TASK)
    assert before.fingerprint != after.fingerprint
    with pytest.raises(AgentError, match="has changed since agent 'agent' was loaded"):
        cloudpickle.loads(cloudpickle.dumps(before))
    with_weights_outside(path, seed=0)
    assert tr.load_agent(path, TASK).fingerprint == before.fingerprint


def test_a_link_to_a_model_is_read_under_its_own_name(tmp_path: Path) -> None:
    """Caches of downloads keep files under their hashes and link to them by name."""
    (tmp_path / "blobs").mkdir()
    dense_network(tmp_path / "blobs" / "0f3a", 5, 4)
    (tmp_path / "agent.onnx").symlink_to("blobs/0f3a")
    assert tr.load_agent(tmp_path / "agent.onnx", TASK).name == "agent"


@pytest.mark.parametrize(
    "location", ["../secret", "{}/secret", "a/../../secret", "link", "C:\\secret", "\\\\h\\secret"]
)
def test_weights_outside_of_the_folder_are_not_read(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "downloaded"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(os.urandom(4096))
    (folder / "link").symlink_to(tmp_path / "secret")
    model = onnx.load(dense_network(folder / "agent.onnx", 5, 4))
    (folder / "agent.onnx").write_bytes(elsewhere(model, location.format(tmp_path)).SerializeToString())
    with pytest.raises(AgentError, match=r"which is outside its folder|there is no such file beside it"):
        tr.load_agent(folder / "agent.onnx", TASK)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    path = with_weights_outside(tmp_path / "agent.onnx")
    (tmp_path / "agent.onnx.data").unlink()
    with pytest.raises(AgentError, match=r"keeps weights in 'agent\.onnx\.data', but there is no such file"):
        tr.load_agent(path, TASK)


def test_a_name_that_no_file_can_have_is_a_missing_file(tmp_path: Path) -> None:
    model = onnx.load(dense_network(tmp_path / "agent.onnx", 5, 4))
    (tmp_path / "agent.onnx").write_bytes(elsewhere(model, "a" * 3000).SerializeToString())
    with pytest.raises(AgentError, match="there is no such file beside it"):
        tr.load_agent(tmp_path / "agent.onnx", TASK)


def test_a_network_without_outputs_is_told(tmp_path: Path) -> None:
    model = onnx.load(dense_network(tmp_path / "agent.onnx", 5, 4))
    del model.graph.output[:]
    (tmp_path / "agent.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(FormatError, match=r"agent\.onnx (cannot be read as an agent|is not an \.onnx file)"):
        tr.load_agent(tmp_path / "agent.onnx", TASK)


def outside(name: str) -> Any:
    tensor = numpy_helper.from_array(np.ones(4, np.float32), name)
    external_data_helper.set_external_data(tensor, name)
    tensor.ClearField("raw_data")
    return tensor


def test_weights_are_found_wherever_a_model_can_keep_them(tmp_path: Path) -> None:
    constant = helper.make_node("Constant", [], ["c"], value=outside("in-a-node"))
    branch = helper.make_graph([constant], "branch", [], [], [outside("in-a-branch")])
    choice = helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=branch)
    several = helper.make_node("Custom", ["x"], ["z"])
    several.attribute.append(helper.make_attribute("many", [outside("in-a-list"), outside("in-a-list-too")]))
    sparse = helper.make_sparse_tensor(outside("sparse-values"), outside("sparse-places"), [8])
    graph = helper.make_graph([choice, several], "g", [], [], [outside("weight")], sparse_initializer=[sparse])
    function = helper.make_function("own", "F", [], ["c"], [constant], [helper.make_opsetid("", 17)])
    model = helper.make_model(graph, functions=[function])
    names = ["in-a-branch", "in-a-list", "in-a-list-too", "in-a-node", "sparse-places", "sparse-values", "weight"]
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in external_files(tmp_path / "m.onnx")] == names


def test_names_in_a_model_that_are_no_locations_are_left_alone(tmp_path: Path) -> None:
    path = dense_network(tmp_path / "m.onnx", 5, 4, metadata={"location": "../elsewhere"})
    assert external_files(path) == []


def test_any_damaged_model_is_a_format_error_and_ends_soon(tmp_path: Path) -> None:
    """Bytes changed at random: whatever comes out, nothing outside of the folder is read and nothing else is raised."""
    whole = with_weights_outside(tmp_path / "agent.onnx").read_bytes()
    rng, path, refused = np.random.default_rng(0), tmp_path / "damaged.onnx", 0
    for _ in range(400):
        damaged = bytearray(whole[: rng.integers(1, len(whole))] if rng.random() < 0.3 else whole)
        for place in rng.integers(0, len(damaged), 1 + int(rng.integers(4))):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            assert all(found.is_relative_to(tmp_path) for found in external_files(path))
        except (FormatError, AgentError):
            refused += 1
    assert refused > 50


def test_a_file_that_is_no_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "agent.onnx").write_bytes(b"\x0f" * 100)
    with pytest.raises(UsageError, match=r"agent\.onnx is not an \.onnx file"):
        tr.load_agent(tmp_path / "agent.onnx", TASK)


def test_the_kind_of_number_that_says_outside_is_not_needed(tmp_path: Path) -> None:
    """ONNX Runtime reads a tensor from outside by its `data_location`; a location alone is counted all the same."""
    tensor = outside("w")
    tensor.data_location = TensorProto.DEFAULT
    (tmp_path / "w").touch()
    model = helper.make_model(helper.make_graph([], "g", [], [], [tensor]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert [path.name for path in external_files(tmp_path / "m.onnx")] == ["w"]
