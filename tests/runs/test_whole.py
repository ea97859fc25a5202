from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.networks import cell_network
from tests.runs.conftest import CONFIG
from tightrope.agents import load_agent
from tightrope.errors import UsageError
from tightrope.progress import Progress
from tightrope.references import demonstrate, save_reference
from tightrope.runs.assembly import assemble, stored_fuzzing, stored_performance, stored_safety
from tightrope.runs.campaign import Campaign
from tightrope.runs.config import CampaignConfig
from tightrope.runs.folder import RunFolder
from tightrope.runs.pipeline import run_campaign
from tightrope.runs.present import outdated_steps
from tightrope.runs.recording import record_step
from tightrope.runs.steps import step_files
from tightrope.runs.store import EpisodeStore
from tightrope.tasks import make_task
from tightrope.tracefiles import write_traces


def findings(folder: Path) -> dict[str, Any]:
    """Everything a run found, without what it cost."""
    return {name: _timeless(step["content"]) for name, step in step_files(RunFolder.open(folder)).items()}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if key != "seconds"}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def test_the_run_folder_holds_the_four_steps_and_the_report(undisturbed: Path) -> None:
    for name in ("run.json", "1-search/reference.json", "2-safety/simple.suite.json", "3-fuzzing/fuzzing.json"):
        assert (undisturbed / name).exists()
    assert (undisturbed / "4-performance" / "careful.json").exists()
    assert "<html" in (undisturbed / "report" / "index.html").read_text()
    results = json.loads((undisturbed / "report" / "results.json").read_text())
    assert "zigzag" in json.dumps(results)


def test_run_json_records_what_is_needed_to_believe_the_result(undisturbed: Path) -> None:
    manifest = RunFolder.open(undisturbed).manifest()
    assert manifest["status"] == "finished"
    assert manifest["command"] == "tightrope run campaign.yaml"
    assert (manifest["seed"], manifest["reset_seed"]) == (0, 0)
    assert set(manifest["machine"]) == {"system", "processor", "cores"}
    assert manifest["task"]["options"] == {"is_slippery": "True"}
    assert set(manifest["agents"]) == {"zigzag", "careful"}
    assert {"python", "gymnasium", "numpy"} <= set(manifest["versions"])
    assert manifest["counters"]["steps_executed"] > 0
    assert set(manifest["suites"]) == {"simple", "interval:1", "random"}
    assert "3-fuzzing/fuzzing.json" in manifest["durations"]


def test_the_same_run_again_repeats_nothing(undisturbed: Path) -> None:
    before = findings(undisturbed)
    store = EpisodeStore(undisturbed / "episodes.sqlite")
    episodes = len(store)
    manifest = RunFolder.open(undisturbed).manifest()
    run_campaign(CONFIG, undisturbed)
    assert findings(undisturbed) == before
    assert len(store) == episodes
    assert RunFolder.open(undisturbed).manifest() == manifest, "what made the run, and what it cost, stays on record"
    store.close()


def test_an_agent_trained_further_is_tested_again_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "agent.onnx"
    config = CampaignConfig.model_validate(
        {**CONFIG.model_dump(), "agents": [{"source": str(file)}], "fuzzing": {"enabled": False}}
    )
    fingerprints = []
    for seed in (0, 1, 1):
        cell_network(file, 16, 4, seed=seed)
        run_campaign(config, tmp_path / "run")
        fingerprints.append(RunFolder.open(tmp_path / "run").manifest()["agents"]["agent"])
    assert [record.getMessage()[:50] for record in caplog.records] == [
        "agent 'agent' is not the one this run tested befor"
    ], "once, and not at all where nothing changed"
    manifest = RunFolder.open(tmp_path / "run").manifest()
    assert fingerprints[0] != fingerprints[1] == fingerprints[2]
    assert manifest["replaced_agents"] == {"agent": [fingerprints[0]]}


def test_what_an_earlier_version_of_an_agent_did_is_not_shown_as_the_agents(tmp_path: Path) -> None:
    file, folder = tmp_path / "agent.onnx", tmp_path / "run"
    config = CampaignConfig.model_validate({**CONFIG.model_dump(), "agents": [{"source": str(file)}]})
    cell_network(file, 16, 4, seed=0)
    run_campaign(config, folder)
    cell_network(file, 16, 4, seed=1)
    only_one = config.safety.model_copy(update={"suites": ("simple",), "control": False})
    campaign = Campaign(config.model_copy(update={"safety": only_one}), RunFolder.open(folder))
    with campaign.engine() as engine:
        campaign.safety_step(engine)
    record_step(campaign, "safety tested")

    stored = Campaign(
        CampaignConfig.model_validate(RunFolder.open(folder).manifest()["config"]), RunFolder.open(folder)
    )
    with stored.engine(agents={}) as engine:
        (run,) = assemble([(stored, engine)]).runs
    assert [suite.suite for suite in run.suites] == ["simple"]
    assert run.performance == ()
    assert run.fuzzing is not None, "the fuzz traces do not depend on the agent"
    assert "agent agent has changed since" in run.status
    for path in ("2-safety/agent/interval-1.json", "2-safety/agent/random.json", "4-performance/agent.json"):
        assert path in run.status


def test_what_was_found_from_another_reference_is_not_shown(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    reference = folder / "1-search" / "reference.json"
    content = json.loads(reference.read_text())
    content["trace"]["seed"] = 1
    reference.write_text(json.dumps(content))
    campaign = Campaign(CONFIG, RunFolder.open(folder))
    assert stored_safety(campaign) == {}
    assert stored_fuzzing(campaign) is None
    assert stored_performance(campaign) == []


def test_what_was_tested_at_other_boundary_states_is_not_shown(undisturbed: Path, tmp_path: Path) -> None:
    """More probing finds other boundary states on the same way."""
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    campaign = Campaign(CONFIG, RunFolder.open(folder))
    reference = campaign.reference()
    fewer = replace(reference, boundary_states=reference.boundary_states[1:])
    save_reference(fewer, folder / "1-search" / "reference.json")
    assert set(outdated_steps(campaign, step_files(campaign.folder)).values()) == {"the boundary states"}
    assert stored_safety(campaign) == {}


def test_a_search_that_finds_nothing_leaves_no_reference_behind(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    hopeless = CONFIG.search.model_copy(update={"steps": 1, "method": "dfs"})
    campaign = Campaign(CONFIG.model_copy(update={"search": hopeless}), RunFolder.open(folder))
    assert campaign.search_step()["found"] is False
    assert campaign.reference_id is None
    assert set(outdated_steps(campaign, step_files(campaign.folder)).values()) == {"the reference"}


def test_what_was_compared_with_other_fuzz_traces_is_not_shown(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    campaign = Campaign(
        CONFIG.model_copy(update={"fuzzing": CONFIG.fuzzing.model_copy(update={"generations": 2})}),
        RunFolder.open(folder),
    )
    assert len(stored_performance(campaign)) == 2
    with campaign.engine() as engine:
        campaign.fuzzing_step(engine)
    assert stored_performance(campaign) == []
    assert stored_safety(campaign)


def test_another_demonstration_in_the_same_file_is_another_reference(undisturbed: Path, tmp_path: Path) -> None:
    found = Campaign(CONFIG, RunFolder.open(undisturbed)).reference().actions
    task = make_task(CONFIG.task, **CONFIG.options)
    other = demonstrate(task, load_agent("tests.sample_agents:careful", task), episodes=200)
    assert other is not None
    assert other.id != found.id
    file = tmp_path / "trace.json"
    search = CONFIG.search.model_copy(update={"method": "demonstration", "demonstration": file, "probe_steps": 0})
    campaign = Campaign(CONFIG.model_copy(update={"search": search}), RunFolder.create_or_open(tmp_path / "run"))
    for trace in (found, other):
        write_traces(file, [trace])
        campaign.search_step()
        assert campaign.reference_id == trace.id
    file.unlink()
    campaign.search_step()
    assert campaign.reference_id == other.id


def test_a_lost_step_is_judged_again_from_the_stored_episodes(undisturbed: Path, tmp_path: Path) -> None:
    before = findings(undisturbed)
    (undisturbed / "2-safety" / "zigzag" / "simple.json").unlink()
    run_campaign(CONFIG, undisturbed)
    assert findings(undisturbed) == before
    again = step_files(RunFolder.open(undisturbed))["2-safety/zigzag/simple.json"]
    assert again["counters"]["steps_executed"] == 0


def test_executions_that_raised_are_tried_again_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that ran out of memory, a full disk: what stood in the way may be gone."""
    performance = CONFIG.performance.model_copy(update={"tests": 1})
    agent = CONFIG.agents[0].model_copy(update={"source": "tests.sample_agents:moody"})
    config = CONFIG.model_copy(update={"agents": (agent,), "performance": performance})
    monkeypatch.setenv("MOOD", "bad")
    whole = run_campaign(config, tmp_path / "run")
    assert whole.safety["simple"]["zigzag"].errors
    monkeypatch.setenv("MOOD", "good")
    whole = run_campaign(config, tmp_path / "run")
    assert not whole.safety["simple"]["zigzag"].errors
    (robust,) = stored_performance(Campaign(config, RunFolder.open(tmp_path / "run")))
    assert robust.points
    assert not any(point.errors for point in robust.points)


def test_a_folder_of_another_configuration_is_refused(undisturbed: Path) -> None:
    other = CONFIG.model_copy(update={"seed": 7})
    with pytest.raises(UsageError, match=r"seed was 0, now 7.*--out"):
        run_campaign(other, undisturbed)


def test_an_agent_can_join_a_finished_run_and_what_is_known_is_not_run_again(undisturbed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    zigzag, careful = CONFIG.agents
    bold = careful.model_copy(update={"name": "bold", "epsilon": 0.5})
    before = findings(folder)
    run_campaign(CONFIG.model_copy(update={"agents": (bold, zigzag, careful)}), folder)
    after = findings(folder)
    assert {name: after[name] for name in before} == before
    assert {Path(name).name for name in set(after) - set(before) if name.startswith("4")} == {"bold.json"}
    assert "bold" in (folder / "report" / "results.json").read_text()


def test_a_suite_can_join_a_finished_run_and_what_is_left_out_is_said(
    undisturbed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    before = findings(folder)
    suites = (*CONFIG.safety.suites, "coverage:2")
    safety = CONFIG.safety.model_copy(update={"suites": suites})
    run_campaign(CONFIG.model_copy(update={"safety": safety}), folder)
    after = findings(folder)
    assert {name: after[name] for name in before} == before
    assert {Path(name).name for name in set(after) - set(before) if "careful" in name} == {"coverage-2.json"}
    caplog.clear()
    run_campaign(CONFIG.model_copy(update={"agents": CONFIG.agents[1:]}), folder)
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == ["agent zigzag, suite coverage:2"]


def test_an_agent_that_keeps_its_name_must_stay_what_it_was(undisturbed: Path) -> None:
    zigzag, careful = CONFIG.agents
    other = CONFIG.model_copy(update={"agents": (zigzag, careful.model_copy(update={"epsilon": 0.5}))})
    with pytest.raises(UsageError, match=r"agents\.careful\.epsilon was 0\.2, now 0\.5.*other names"):
        run_campaign(other, undisturbed)


def test_agents_whose_results_would_share_a_file_are_refused(tmp_path: Path) -> None:
    agents = tuple(CONFIG.agents[0].model_copy(update={"name": name}) for name in ("a b", "a-b"))
    with pytest.raises(UsageError, match="two agents are named 'a b' and 'a-b', which share a file name"):
        run_campaign(CONFIG.model_copy(update={"agents": agents}), tmp_path / "run")


def test_a_gate_changes_no_result_and_so_is_no_other_configuration(undisturbed: Path) -> None:
    safety = CONFIG.safety.model_copy(update={"max_fail": 0.0})
    whole = run_campaign(CONFIG.model_copy(update={"safety": safety}), undisturbed)
    assert {gate.passed for gate in whole.gates} == {False}
    run_campaign(CONFIG, undisturbed)


@pytest.mark.parametrize(
    ("suite", "told"),
    [("simpel", "Did you mean 'simple'"), ("coverage:0", "must be 1 or more"), ("interval:-1", "must be 0 or more")],
)
def test_a_suite_that_cannot_be_made_is_told_before_the_search(tmp_path: Path, suite: str, told: str) -> None:
    safety = CONFIG.safety.model_copy(update={"suites": (suite,)})
    with pytest.raises(UsageError, match=told):
        run_campaign(CONFIG.model_copy(update={"safety": safety}), tmp_path / "run")
    assert not list((tmp_path / "run" / "1-search").iterdir())


def test_where_the_work_is_done_does_not_matter(undisturbed: Path, tmp_path: Path) -> None:
    config = CampaignConfig.model_validate({**CONFIG.model_dump(), "execution": {"backend": "processes", "workers": 2}})
    run_campaign(config, tmp_path / "run")
    assert findings(tmp_path / "run") == findings(undisturbed)


def test_no_reference_is_a_result(tmp_path: Path) -> None:
    config = CampaignConfig.model_validate(
        {**CONFIG.model_dump(), "search": {"method": "dfs", "steps": 3, "seconds": None}}
    )
    whole = run_campaign(config, tmp_path / "run")
    assert not whole.found_reference
    assert whole.report.exists()


@pytest.mark.parametrize("stage", ["search", "safety", "fuzzing", "fuzzing control", "performance"])
def test_ctrl_c_ends_a_run_at_whatever_it_does_and_the_same_command_continues(
    stage: str, undisturbed: Path, tmp_path: Path
) -> None:
    seen = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress.stage)
        if progress.stage == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_campaign(CONFIG, tmp_path / "run", on_progress=interrupt)
    assert seen.count(stage) == 1
    assert seen[-1] == stage
    run_campaign(CONFIG, tmp_path / "run")
    assert findings(tmp_path / "run") == findings(undisturbed)


@pytest.mark.parametrize("method", ["dfs", "archive"])
def test_ctrl_c_while_boundary_states_are_probed_is_not_taken_for_the_end_of_it(method: str, tmp_path: Path) -> None:
    config = CampaignConfig.model_validate({**CONFIG.model_dump(), "search": {"method": method}})
    probed = []

    def interrupt(progress: Progress) -> None:
        if progress.stage == "probing":
            probed.append(progress)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_campaign(config, tmp_path / "run", on_progress=interrupt)
    assert len(probed) == 1
    assert not (tmp_path / "run" / "1-search" / "search.json").exists()


def test_a_run_killed_at_twenty_random_moments_ends_as_an_undisturbed_one(undisturbed: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(20)
    expected = findings(undisturbed)
    context = multiprocessing.get_context("fork")
    started = time.monotonic()
    run_campaign(CONFIG, tmp_path / "timed")
    longest = time.monotonic() - started
    kills, round_number = 0, 0
    while kills < 20:
        folder = tmp_path / f"run-{round_number}"
        process = context.Process(target=run_campaign, args=(CONFIG, folder))
        process.start()
        process.join(timeout=float(rng.uniform(0.02, longest)))
        if process.exitcode is None:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            kills += 1
        else:
            assert process.exitcode == 0
            assert findings(folder) == expected
            round_number += 1
    run_campaign(CONFIG, tmp_path / f"run-{round_number}")
    assert findings(tmp_path / f"run-{round_number}") == expected
