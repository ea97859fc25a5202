from __future__ import annotations

import json
from pathlib import Path

import pytest

from tightrope.cli import run_command

GALLERY = Path(__file__).parents[2] / "agents" / "gallery"


@pytest.mark.parametrize(("limit", "code"), [("0.99", 0), ("0.001", 1)])
def test_the_gate_is_on_the_upper_limit(limit, code, capsys) -> None:
    arguments = ["risk", "FrozenLake-v1", "--set", "is_slippery=true", "--agent", "tests.sample_agents:careful"]
    assert run_command([*arguments, "--steps", "2000", "--backend", "inline", "--json", "--max-risk", limit]) == code
    (risk,) = json.loads(capsys.readouterr().out)
    assert risk["agent"] == "careful"
    assert 0 < risk["probability"]["low"] < risk["probability"]["high"] < 0.99
    assert 1900 <= risk["cost"] <= 2020


def test_the_gate_is_told_as_every_other(capsys) -> None:
    arguments = ["risk", "FrozenLake-v1", "--set", "is_slippery=true", "--agent", "tests.sample_agents:careful"]
    assert run_command([*arguments, "--steps", "500", "--backend", "inline", "--max-risk", "1e-6"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "gate FAILED: careful, in use: upper limit of the probability that an episode ends unsafe" in said
    assert "is above the allowed 1e-06" in said


def test_an_agent_is_needed(capsys) -> None:
    assert run_command(["risk", "FrozenLake-v1"]) == 2
    assert "which agent?" in capsys.readouterr().err


def test_a_run_teaches_the_guide(tmp_path, capsys) -> None:
    lake, agent = ["FrozenLake-v1", "--set", "is_slippery=true"], ["--agent", str(GALLERY / "frozenlake-late.onnx")]
    assert run_command(["search", *lake, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    options = ["--suite", "simple", "--episodes", "30", "--backend", "inline", "--quiet"]
    assert run_command(["safety", str(tmp_path / "run"), *agent, *options]) == 0
    capsys.readouterr()
    asked = [*lake, *agent, "--length", "8", "--steps", "8000", "--backend", "inline", "--json"]
    assert run_command(["risk", *asked, "--learn-from", str(tmp_path / "run")]) == 0
    (risk,) = json.loads(capsys.readouterr().out)
    assert risk["cost"] <= 8080
    assert risk["guide"] == "learned from what was given"
