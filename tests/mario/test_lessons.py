from pathlib import Path

import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope_mario.training.lessons import STEPS_BEFORE
from tightrope_mario.training.starts import saved_states, starts_from

pytest.importorskip("stable_retro")
pytest.importorskip("onnxruntime")

FOLDER = Path(__file__).parents[2] / "agents" / "mario"


@pytest.fixture
def agents(tmp_path):
    """One late agent, and an early one that nothing is looked up for."""
    for name, copy in (("1-1-dense-2-moves-early", "late"), ("1-1-dense-2-moves-early", "early")):
        (tmp_path / f"1-1-dense-2-moves-{copy}.onnx").write_bytes((FOLDER / f"{name}.onnx").read_bytes())
    return tmp_path


def test_lessons_lie_on_other_ways_than_the_tested_one_and_before_losses(agents, tmp_path):
    small = ["--games", "1", "--references", "1", "--places", "5", "--steps", "4000"]
    told = ["--agents", str(agents), "--level", "1-1", "--out", str(tmp_path / "lessons")]
    assert run_command(["mario", "lessons", *told, *small]) == 0
    (written,) = (tmp_path / "lessons").iterdir()
    assert written.name == "1-1-dense-2-moves-late.json"
    traces = tr.read_traces(written)
    tested = tr.search(tr.make_task("mario", actions="combined"), "dfs", seed=0, probe=False).reference.actions
    *shared, late, early = traces
    assert shared
    assert not any(trace.actions == tested.actions[: len(trace)] for trace in shared if len(trace) > 100)
    assert len(late) - len(early) == STEPS_BEFORE[1] - STEPS_BEFORE[0]
    assert late.actions[: len(early)] == early.actions
    assert len(saved_states("1-1", starts_from(written, "1-1", "combined").ways, None)) == len(traces)


def test_a_level_without_late_agents_is_named(agents, tmp_path, capsys):
    told = ["--agents", str(agents), "--level", "4-4", "--out", str(tmp_path / "lessons")]
    assert run_command(["mario", "lessons", *told]) == 2
    assert "trained on 4-4" in capsys.readouterr().err
    assert not (tmp_path / "lessons").exists()
