"""Folders of checkpoints, in the order of training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tightrope.agents.sources.checkpoints import checkpoints_in, training_step
from tightrope.errors import UsageError


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("rl_model_250000_steps.zip", 250000),
        ("ppo_CartPole-v1_0010.onnx", 10),
        ("best.zip", None),
        ("v2.onnx", 2),
        ("ppo-900k", 900_000),
        ("ppo-1.5M.zip", 1_500_000),
        ("dqn 5mlp", 5),
    ],
)
def test_names_tell_the_training_step(name: str, step: int | None) -> None:
    assert training_step(name) == step


def test_numbers_order_as_numbers_and_other_files_are_left_out(tmp_path: Path) -> None:
    for name in ("ppo_900_steps.zip", "ppo_10000_steps.zip", "ppo_2000_steps.zip", "log.csv"):
        (tmp_path / name).write_bytes(b"")
    assert [path.stem for path in checkpoints_in(tmp_path)] == ["ppo_900_steps", "ppo_2000_steps", "ppo_10000_steps"]


def test_names_without_numbers_order_as_names(tmp_path: Path) -> None:
    for name in ("b.onnx", "a.onnx", "c-3.onnx"):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in checkpoints_in(tmp_path)] == ["a.onnx", "b.onnx", "c-3.onnx"]


def test_a_folder_without_agents_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no agent file"):
        checkpoints_in(tmp_path)
