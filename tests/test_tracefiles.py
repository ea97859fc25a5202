"""Action traces as files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from tightrope.errors import FormatError, UsageError

numbers = st.integers(-5, 50) | st.floats(-2, 2, width=32)
actions = st.integers(0, 11) | st.lists(numbers, min_size=1, max_size=3).map(tuple)
traces = st.builds(
    tr.ActionTrace,
    st.sampled_from(["corridor", "mario(level='1-1')"]),
    st.integers(0, 2**31 - 1),
    st.lists(actions, max_size=6).map(tuple),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**31 - 1)), max_size=2).map(tuple),
)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_round_trip(tmp_path_factory, suffix):
    path = tmp_path_factory.mktemp("traces") / f"traces{suffix}"

    @settings(max_examples=60, deadline=None)
    @given(st.lists(traces, max_size=4))
    def check(content):
        tr.write_traces(path, content)
        read = tr.read_traces(path)
        assert read == content
        assert [trace.id for trace in read] == [trace.id for trace in content]

    check()


def test_npz_is_small_and_needs_no_pickle(tmp_path):
    rng = np.random.default_rng(0)
    many = [tr.ActionTrace("mario", 0, tuple(rng.integers(0, 2, 300).tolist())) for _ in range(1000)]
    tr.write_traces(tmp_path / "many.npz", many)
    assert (tmp_path / "many.npz").stat().st_size < 100_000
    with np.load(tmp_path / "many.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"\.json or \.npz"):
        tr.write_traces(tmp_path / "traces.pkl", [])
    with pytest.raises(UsageError, match=r"\.json or \.npz"):
        tr.read_traces(tmp_path / "traces.pkl")


def test_newer_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "traces.json"
    path.write_text(json.dumps({"format": "tightrope/traces", "version": 2, "traces": []}))
    with pytest.raises(FormatError, match="Update tightrope"):
        tr.read_traces(path)
    path.write_text(json.dumps({"format": "tightrope/traces", "version": 1, "traces": [{"task": "x"}]}))
    with pytest.raises(FormatError, match="damaged"):
        tr.read_traces(path)
    path.write_text("[]")
    with pytest.raises(FormatError, match="holds a JSON list"):
        tr.read_traces(path)
    broken = tmp_path / "traces.npz"
    broken.write_bytes(b"PK not an archive")
    with pytest.raises(FormatError, match="not an npz file"):
        tr.read_traces(broken)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("actions", np.array([0.0, np.nan])),
        ("actions", np.array([1, 2**63], dtype=np.uint64)),
        ("actions", np.array([str(2**64), "1"])),
        ("actions", np.array(["NaN", "1"])),
        ("actions", np.array(["[1e999]", "1"])),
        ("actions", np.array([True, False])),
        ("reseeds", np.array([[np.inf, 1.0]])),
        ("reseeds", np.array([[0, 2**63]], np.uint64)),
    ],
)
def test_what_no_trace_holds_is_refused_when_it_is_read_and_not_when_it_is_written(tmp_path, field, value):
    """Two actions and one reseed, in columns as an npz file has them."""
    path = tmp_path / "traces.npz"
    columns = {"task": np.array(["t"]), "seed": np.array(["1"]), "length": np.array([2]), "reseed_count": np.array([1])}
    columns |= {"actions": np.array([1, 2]), "reseeds": np.array([[0, 5]]), field: value}
    np.savez(path, header=np.array('{"format": "tightrope/traces", "version": 1}'), **columns)
    with pytest.raises(FormatError, match=r"traces\.npz is not an npz file of action traces"):
        tr.read_traces(path)
