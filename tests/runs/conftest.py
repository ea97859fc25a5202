"""One small run that several tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.config import CampaignConfig

CONFIG = CampaignConfig.model_validate(
    {
        "task": "FrozenLake-v1",
        "options": {"is_slippery": True},
        "agents": [
            {"source": "tests.sample_agents:zigzag", "name": "zigzag"},
            {"source": "tests.sample_agents:careful", "name": "careful", "epsilon": 0.2},
        ],
        "search": {"probe_steps": 500, "references": 3, "reference_steps": 2_000},
        "safety": {"suites": ["simple", "interval:1"], "repetitions": 5, "length": 20, "explain_steps": 10_000},
        "fuzzing": {"generations": 6, "population": 12},
        "performance": {"tests": 3, "episodes": 3, "step_width": 4},
        "execution": {"backend": "inline"},
        "report": {"videos": 0},
    }
)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert run_campaign(CONFIG, folder, command="tightrope run campaign.yaml").reference is not None
    return folder
