"""References as files: everything comes back, nothing else is accepted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import tightrope as tr
from tightrope.errors import FormatError
from tightrope.testing import corridor_task


@pytest.fixture
def reference():
    task = corridor_task(20, (4, 9, 15), slip=0.2)
    return tr.search(task, "archive", seed=1).reference


def test_round_trip(reference, tmp_path):
    tr.save_reference(reference, tmp_path / "a.json")
    loaded = tr.load_reference(tmp_path / "a.json")
    assert loaded.actions == reference.actions
    assert loaded.checksums == reference.checksums
    assert loaded.trace.rewards == reference.trace.rewards
    assert loaded.trace.outcome is tr.Outcome.GOAL
    assert loaded.probing == reference.probing
    assert loaded.search_actions == reference.search_actions
    for ours, theirs in zip(reference.boundary_states, loaded.boundary_states, strict=True):
        assert (ours.depth, ours.actions, ours.proven) == (theirs.depth, theirs.actions, theirs.proven)
        assert (ours.evidence, ours.successors) == (theirs.evidence, theirs.successors)
        assert theirs.key.text == repr(ours.key)
    tr.save_reference(loaded, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    ("method", "whose"),
    [
        ("failing run of late 2 after left held for 3 steps", ("late 2", True)),
        ("run of late, old", ("late, old", False)),
    ],
)
def test_whose_run_it_is_comes_back_whatever_the_agent_is_called(reference, tmp_path, method, whose):
    agent, by_failing = whose
    tr.save_reference(replace(reference, method=method, agent=agent, by_failing=by_failing), tmp_path / "a.json")
    loaded = tr.load_reference(tmp_path / "a.json")
    assert (loaded.method, loaded.agent, loaded.by_failing) == (method, *whose)


@pytest.mark.parametrize(
    ("method", "whose"),
    [
        ("dfs", (None, False)),
        ("run of late", ("late", False)),
        ("run of late with 5% random actions, which does not reach the goal", ("late", False)),
        ("failure of late", ("late", True)),
        ("failure of late 2 after left held for 3 steps", ("late 2", True)),
    ],
)
def test_files_that_say_it_in_words_alone_are_read(reference, tmp_path, method, whose):
    path = tmp_path / "a.json"
    tr.save_reference(reference, path)
    content = json.loads(path.read_text()) | {"method": method}
    del content["agent"], content["by_failing"]
    path.write_text(json.dumps(content))
    loaded = tr.load_reference(path)
    assert (loaded.agent, loaded.by_failing) == whose


def test_a_loaded_reference_can_be_probed(reference, tmp_path):
    tr.save_reference(reference, tmp_path / "a.json")
    task = corridor_task(20, (4, 9, 15), slip=0.2)
    probed = tr.probe_boundary(task, tr.load_reference(tmp_path / "a.json"), seed=1)
    assert probed.depths == reference.depths


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "Update tightrope"),
        ({"format": "tightrope/suite"}, "'tightrope/reference' is needed"),
        ({"rewards": []}, "damaged"),
        ({"trace": {"task": "x"}}, "damaged"),
        ({"boundary_states": [{}]}, "damaged"),
    ],
)
def test_what_is_not_a_reference_is_refused(reference, tmp_path, change, message):
    path = tmp_path / "a.json"
    tr.save_reference(reference, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FormatError, match=message):
        tr.load_reference(path)


def test_half_a_file_is_refused(reference, tmp_path):
    path = tmp_path / "a.json"
    tr.save_reference(reference, path)
    path.write_text(path.read_text()[:100])
    with pytest.raises(FormatError, match="not a JSON file"):
        tr.load_reference(path)


@pytest.mark.parametrize("depth", [-1, 99])
def test_a_boundary_state_beside_the_way_is_refused(reference, tmp_path, depth):
    path = tmp_path / "a.json"
    tr.save_reference(reference, path)
    content = json.loads(path.read_text())
    content["boundary_states"][0]["depth"] = depth
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match="damaged"):
        tr.load_reference(path)
