"""A run plays a sample of its own episodes again in other processes, and stops by name where they differ."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.far import GOAL
from tightrope.errors import NotReproducible
from tightrope.execution import Engine, Rollout
from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.questions.comparison import compare_runs
from tightrope.runs.run import open_run
from tightrope.runs.steps.cross_check import expected_episode
from tightrope.simulation import cross_check
from tightrope.testing import RandomAgent, corridor_task
from tightrope.trace import ActionTrace


def config(*, strange: bool) -> CampaignConfig:
    return CampaignConfig.model_validate(
        {
            "task": "tests.runs.far:far",
            "options": {"strange": strange},
            "agents": [{"source": "tests.runs.far:forward", "name": "forward"}],
            "search": {"references": 1},
            "safety": {"suites": ["simple"], "repetitions": 3, "length": 40},
            "fuzzing": {"enabled": False},
            "performance": {"enabled": False},
            "execution": {"backend": "inline"},
            "report": {"videos": 0},
        }
    )


def entry(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "run.json").read_text())["cross_check"])


def test_a_run_records_how_much_was_cross_checked(tmp_path: Path) -> None:
    run_campaign(config(strange=False), tmp_path)
    recorded = entry(tmp_path)
    assert recorded["episodes"] >= 6, "the reference and at least five episodes"
    assert recorded["steps"] >= recorded["episodes"] * GOAL // 2
    assert recorded["processes"] == 2
    assert recorded["of"] >= 5
    assert not recorded["skipped"]


def test_a_place_too_rare_for_the_check_stops_the_run_by_name_and_for_good(tmp_path: Path) -> None:
    told = r"was played again in another process, and reward differs at step 21: "
    with pytest.raises(NotReproducible, match=told):
        run_campaign(config(strange=True), tmp_path)
    assert "reward differs at step 21" in entry(tmp_path)["failed"]
    with pytest.raises(NotReproducible, match=f"cannot be continued. Start a new run with --out.*{told}"):
        run_campaign(config(strange=True), tmp_path)


def at_once(config: CampaignConfig) -> CampaignConfig:
    """Without plain episodes, so that nothing is played again before there are results."""
    return CampaignConfig.model_validate({**config.model_dump(), "plain": {"episodes": 0}})


def test_nobody_judges_by_the_episodes_of_a_run_that_was_stopped(tmp_path: Path) -> None:
    for strange in (True, False):
        with nullcontext() if not strange else pytest.raises(NotReproducible):
            run_campaign(at_once(config(strange=strange)), tmp_path / ("strange" if strange else "sound"))
    stopped, sound = open_run(tmp_path / "strange", trust=True), open_run(tmp_path / "sound", trust=True)
    assert stopped.safety["simple"], "results were stored before it was stopped"
    for pair in ((stopped, sound), (sound, stopped)):
        with pytest.raises(NotReproducible, match="its episodes cannot be judged"):
            compare_runs(*pair)
        with pytest.raises(NotReproducible, match="its episodes cannot be judged"):
            report_results(pair)


def test_an_episode_is_expected_as_it_was_with_its_randomness() -> None:
    task = corridor_task(length=20, holes=(7, 13), slip=0.2)
    trace = ActionTrace(task.label, 0, (0, 0, 0), ((1, 5),))
    rollouts = [
        Rollout(start=trace, agent="walker", length=10, seed=seed, fixed_prefix=fixed, record_keys=keys)
        for seed in range(3)
        for fixed in (True, False)
        for keys in (True, False)
    ]
    with Engine(task, {"walker": RandomAgent((0, 1))}) as engine:
        episodes = engine.run(rollouts)
    checked = cross_check(task, [expected_episode(episode) for episode in episodes])
    assert checked.episodes == len(rollouts)
    assert checked.steps == sum(len(episode.trace) for episode in episodes)
    played = next(episode for episode in episodes if episode.rewards)
    wrong = replace(played, rewards=(*played.rewards[:-1], 7.0))
    told = rf"episode of agent 'walker' that begins after 3 actions \(rollout {played.rollout.id}\) .*instead of 7\.0"
    with pytest.raises(NotReproducible, match=told):
        cross_check(task, [expected_episode(wrong)])
