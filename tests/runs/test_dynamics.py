"""A run in which randomness is met late does everything again as stochastic, and remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.run import open_run
from tightrope.runs.storage.store import EpisodeStore
from tightrope.simulation.conformance import deep_walks

CONFIG = CampaignConfig.model_validate(
    {
        "task": "tests.execution.late_randomness:late_slip",
        "agents": [{"source": "tests.runs.far:forward", "name": "forward"}],
        "plain": {"episodes": 20},
        "search": {"probe_steps": 0, "steps": 20_000, "references": 1},
        "safety": {"suites": ["simple"], "repetitions": 4, "length": 40, "control": False},
        "fuzzing": {"enabled": False},
        "performance": {"enabled": False},
        "execution": {"backend": "inline"},
        "report": {"videos": 0},
    }
)


@pytest.fixture(autouse=True)
def short_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check's own deep walks would come to the slip."""
    monkeypatch.setattr(deep_walks, "MOST_STEPS", 0)


def executed(folder: Path) -> list[Any]:
    store = EpisodeStore(folder / "episodes.sqlite")
    try:
        return [episode for episode in store.all() if episode.rollout.agent == "forward"]
    finally:
        store.close()


def test_a_run_with_a_late_slip_executes_everything_and_remembers(tmp_path: Path) -> None:
    run = run_campaign(CONFIG, tmp_path)
    result = run.safety["simple"]["forward"]
    assert all(len(case.episodes) == 4 and not case.deterministic for case in result.cases)
    assert open_run(tmp_path).manifest.task.stochastic
    episodes = executed(tmp_path)
    plain = [episode for episode in episodes if not episode.rollout.start.actions]
    assert len(plain) == 20
    assert len(episodes) - len(plain) >= 4 * len(result.cases)
    assert len({episode.outcome for episode in plain}) == 2, "what was played before the slip was met, too"
    assert not any(episode.deterministic for episode in episodes)
    again = run_campaign(CONFIG, tmp_path).safety["simple"]["forward"]
    assert [case.verdicts for case in again.cases] == [case.verdicts for case in result.cases]
    assert len(executed(tmp_path)) == len(episodes), "nothing was run again"


def test_what_was_found_before_it_was_seen_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search's own doubts are switched off, so that it is the agent's episodes that meet the slip."""
    monkeypatch.setattr("tightrope.simulation.opening.WarySimulator.has_drawn", lambda simulator: False)
    whole = run_campaign(CONFIG, tmp_path)
    result = whole.safety["simple"]["forward"]
    assert all(len(case.episodes) == 4 and not case.deterministic for case in result.cases)
    assert result.suite.reference.reseeds, "the reference, too, was looked for anew"
    assert not any(episode.deterministic for episode in executed(tmp_path)), "what was executed once is forgotten"
