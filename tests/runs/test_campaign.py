from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.networks import cell_network
from tests.runs.conftest import CONFIG
from tightrope.agents import load_agent
from tightrope.errors import UsageError
from tightrope.progress import Progress
from tightrope.references import demonstrate
from tightrope.runs.campaign import run_campaign, working_on
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.questions.assembly import report_results
from tightrope.runs.run import Run, open_run
from tightrope.runs.storage import layout
from tightrope.runs.storage.store import EpisodeStore
from tightrope.tasks import make_task
from tightrope.tracefiles import read_traces, write_traces


def findings(folder: Path) -> dict[str, Any]:
    """Everything a run found, without what it cost."""
    run = open_run(folder)
    assert not [path for path in run.manifest.artefacts if run.outdated(path)]
    return {path: _timeless(json.loads((folder / path).read_text())) for path in run.manifest.artefacts}


def whats_outdated(run: Run) -> dict[str, str]:
    """The results that say nothing about the run any more, and what changed."""
    changes = {path: run.outdated(path) for path in run.manifest.artefacts}
    return {path: change.name for path, change in changes.items() if change is not None}


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
    manifest = json.loads((undisturbed / "run.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["command"] == "tightrope run campaign.yaml"
    assert (manifest["config"]["seed"], manifest["task"]["seed"]) == (0, 0)
    assert set(manifest["machine"]) == {"system", "processor", "cores"}
    assert manifest["task"]["options"] == {"is_slippery": "True"}
    assert set(manifest["agents"]) == {"zigzag", "careful"}
    assert {"python", "gymnasium", "numpy"} <= set(manifest["versions"])
    result = manifest["artefacts"]["2-safety/zigzag/simple.json"]
    assert result["cost"]["counters"]["steps_executed"] > 0
    assert result["settings"]["safety.repetitions"] == 5
    assert [source["name"] for source in result["sources"]][0::6] == ["the task", "agent zigzag"]
    assert open_run(undisturbed).manifest.cost.seconds > 0


def test_the_same_run_again_repeats_nothing(undisturbed: Path) -> None:
    before = findings(undisturbed)
    store = EpisodeStore(undisturbed / "episodes.sqlite")
    episodes = len(store)
    manifest = open_run(undisturbed).manifest
    run_campaign(CONFIG, undisturbed)
    assert findings(undisturbed) == before
    assert len(store) == episodes
    assert open_run(undisturbed).manifest == manifest, "what made the run, and what it cost, stays on record"
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
        fingerprints.append(open_run(tmp_path / "run").agents["agent"].fingerprint)
    assert [record.getMessage()[:50] for record in caplog.records] == [
        "agent 'agent' is not the one this run tested befor"
    ], "once, and not at all where nothing changed"
    assert fingerprints[0] != fingerprints[1] == fingerprints[2]
    assert open_run(tmp_path / "run").agents["agent"].earlier == (fingerprints[0],)


def test_what_an_earlier_version_of_an_agent_did_is_not_shown_as_the_agents(tmp_path: Path) -> None:
    file, folder = tmp_path / "agent.onnx", tmp_path / "run"
    config = CampaignConfig.model_validate({**CONFIG.model_dump(), "agents": [{"source": str(file)}]})
    cell_network(file, 16, 4, seed=0)
    run_campaign(config, folder)
    cell_network(file, 16, 4, seed=1)
    only_one = config.safety.changed(suites=("simple",), control=False)
    changed = config.model_copy(update={"safety": only_one})
    with working_on(folder, changed, joins=True) as pipeline, pipeline.engine() as engine:
        pipeline.safety(engine)
    (run,) = report_results([open_run(folder)]).runs
    assert [suite.name for suite in run.suites] == ["simple"]
    assert run.performance == {}
    assert run.fuzzing is not None, "the fuzz traces do not depend on the agent"
    assert "agent agent changed since" in run.status
    for path in ("2-safety/agent/interval-1.json", "2-safety/agent/random.json", "4-performance/agent.json"):
        assert path in run.status


def searched_again(folder: Path, **search: Any) -> Run:
    config = CONFIG.model_copy(update={"agents": (), "search": CONFIG.search.changed(**search)})
    with working_on(folder, config, joins=True) as pipeline:
        pipeline.search()
    return open_run(folder)


def test_what_was_found_from_another_reference_is_not_shown(undisturbed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    other = demonstrated(tmp_path / "other.json")
    run = searched_again(folder, method="demonstration", demonstration=other, probe_steps=0)
    assert run.reference is not None
    assert run.safety == {}
    assert run.fuzzing is None
    assert run.performance == {}
    assert set(whats_outdated(run).values()) == {"the reference"}


def test_what_was_tested_at_other_boundary_states_is_not_shown(undisturbed: Path, tmp_path: Path) -> None:
    """More probing finds other boundary states on the same way."""
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    run = searched_again(folder, probe_steps=0)
    assert run.safety == {}
    assert set(whats_outdated(run).values()) == {"the boundary states"}
    assert {path[0] for path in whats_outdated(run)} == {"2"}
    assert run.fuzzing is not None, "the way itself is the same"
    assert set(run.performance) == {"zigzag", "careful"}


def test_what_is_found_again_as_it_was_makes_nothing_outdated(undisturbed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    before = open_run(folder).manifest.artefacts
    run = searched_again(folder, seconds=300.0)
    assert run.manifest.artefacts[layout.SEARCH] != before[layout.SEARCH], "it was searched again"
    assert whats_outdated(run) == {}


def test_a_search_that_finds_nothing_leaves_no_reference_behind(undisturbed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    run = searched_again(folder, steps=1, method="dfs", references=1)
    assert run.search is not None
    assert run.search.reference is None
    assert run.reference is None
    assert not (folder / layout.REFERENCE).exists()
    outdated = whats_outdated(run)
    assert outdated.pop(layout.OTHERS) == "the way that was found"
    assert set(outdated.values()) == {"the reference"}


def test_what_was_compared_with_other_fuzz_traces_is_not_shown(undisturbed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    assert len(open_run(folder).performance) == 2
    fewer = CONFIG.fuzzing.changed(generations=2)
    config = CONFIG.model_copy(update={"fuzzing": fewer, "agents": ()})
    with working_on(folder, config, joins=True) as pipeline, pipeline.engine() as engine:
        pipeline.fuzzing(engine)
    run = open_run(folder)
    assert run.performance == {}
    assert set(whats_outdated(run).values()) == {"the fuzz traces"}
    assert run.safety


def test_a_step_with_settings_of_its_own_leaves_the_results_of_other_agents(undisturbed: Path, tmp_path: Path) -> None:
    """Each result says how it was asked for; what counts is whether what it is about is still the same."""
    folder = Path(shutil.copytree(undisturbed, tmp_path / "run"))
    before = open_run(folder).safety["simple"]
    third = CONFIG.agents[0].changed(name="third")
    shorter = CONFIG.safety.changed(suites=("simple",), length=7, repetitions=2, control=False)
    config = CONFIG.model_copy(update={"agents": (third,), "safety": shorter})
    with working_on(folder, config, joins=True) as pipeline, pipeline.engine() as engine:
        pipeline.safety(engine)
    run = open_run(folder)
    assert whats_outdated(run) == {}
    assert {name: run.safety["simple"][name] for name in before} == before
    assert run.safety["simple"]["third"].length == 7


def test_a_file_that_is_not_the_one_that_was_written_is_not_believed(undisturbed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    expected = findings(folder)
    file = folder / "2-safety" / "zigzag" / "simple.json"
    file.write_text(file.read_text().replace('"fail"', '"pass"'))
    (folder / "4-performance" / "careful.json").unlink()
    (run,) = report_results([open_run(folder)]).runs
    assert "zigzag" not in {suite.agent for suite in run.suites if suite.name == "simple"}
    assert "because its file changed since: 2-safety/zigzag/simple.json, 4-performance/careful.json" in run.status
    run_campaign(CONFIG, folder)
    assert findings(folder) == expected


def test_results_whose_episodes_are_gone_are_not_believed(undisturbed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    expected = findings(folder)
    (folder / "episodes.sqlite").unlink()
    run = open_run(folder)
    assert run.safety == {}
    causes = set(whats_outdated(run).values())
    assert {cause for cause in causes if not cause.startswith("the result of")} == {"its episodes"}
    run_campaign(CONFIG, folder)
    assert findings(folder) == expected


def demonstrated(file: Path) -> Path:
    task = make_task(CONFIG.task, **CONFIG.options)
    trace = demonstrate(task, load_agent("tests.sample_agents:careful", task), episodes=200)
    assert trace is not None
    write_traces(file, [trace])
    return file


def test_another_demonstration_in_the_same_file_is_another_reference(undisturbed: Path, tmp_path: Path) -> None:
    reference = open_run(undisturbed).reference
    assert reference is not None
    found, (other,) = reference.actions, read_traces(demonstrated(tmp_path / "other.json"))
    assert other.id != found.id
    file = tmp_path / "trace.json"
    search = CONFIG.search.changed(method="demonstration", demonstration=file, probe_steps=0)
    config = CONFIG.model_copy(update={"agents": (), "search": search})

    def searched() -> str:
        with working_on(tmp_path / "run", config, joins=True) as pipeline:
            reference = pipeline.search().reference
        assert reference is not None
        return reference.actions.id

    for trace in (found, other):
        write_traces(file, [trace])
        assert searched() == trace.id
    file.unlink()
    assert searched() == other.id


def test_a_lost_step_is_judged_again_from_the_stored_episodes(undisturbed: Path, tmp_path: Path) -> None:
    before = findings(undisturbed)
    (undisturbed / "2-safety" / "zigzag" / "simple.json").unlink()
    run_campaign(CONFIG, undisturbed)
    assert findings(undisturbed) == before
    again = open_run(undisturbed).manifest.artefacts["2-safety/zigzag/simple.json"]
    assert again.cost.counters["steps_executed"] == 0


def test_executions_that_raised_are_tried_again_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that ran out of memory, a full disk: what stood in the way may be gone."""
    performance = CONFIG.performance.changed(tests=1)
    agent = CONFIG.agents[0].changed(source="tests.sample_agents:moody")
    config = CONFIG.model_copy(update={"agents": (agent,), "performance": performance})
    monkeypatch.setenv("MOOD", "bad")
    whole = run_campaign(config, tmp_path / "run")
    assert whole.safety["simple"]["zigzag"].errors
    monkeypatch.setenv("MOOD", "good")
    whole = run_campaign(config, tmp_path / "run")
    assert not whole.safety["simple"]["zigzag"].errors
    (robust,) = open_run(tmp_path / "run").performance.values()
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
    bold = careful.changed(name="bold", epsilon=0.5)
    before = findings(folder)
    run_campaign(CONFIG.model_copy(update={"agents": (bold, zigzag, careful)}), folder)
    after = findings(folder)
    # Why it fails is told over all suites together.
    assert {name: after[name] for name in before if not name.endswith(".why.json")} == {
        name: found for name, found in before.items() if not name.endswith(".why.json")
    }
    assert {Path(name).name for name in set(after) - set(before) if name.startswith("4")} == {"bold.json"}
    assert "bold" in (folder / "report" / "results.json").read_text()


def test_a_suite_can_join_a_finished_run_and_what_is_left_out_is_said(
    undisturbed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    before = findings(folder)
    suites = (*CONFIG.safety.suites, "coverage:2")
    safety = CONFIG.safety.changed(suites=suites)
    run_campaign(CONFIG.model_copy(update={"safety": safety}), folder)
    after = findings(folder)
    # Why it fails is told over all suites together.
    assert {name: after[name] for name in before if not name.endswith(".why.json")} == {
        name: found for name, found in before.items() if not name.endswith(".why.json")
    }
    assert {Path(name).name for name in set(after) - set(before) if "careful" in name} == {"coverage-2.json"}
    caplog.clear()
    run_campaign(CONFIG.model_copy(update={"agents": CONFIG.agents[1:]}), folder)
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == ["agent zigzag, suite coverage:2"]


def test_an_agent_that_keeps_its_name_must_stay_what_it_was(undisturbed: Path) -> None:
    zigzag, careful = CONFIG.agents
    other = CONFIG.model_copy(update={"agents": (zigzag, careful.changed(epsilon=0.5))})
    with pytest.raises(UsageError, match=r"agents\.careful\.epsilon was 0\.2, now 0\.5.*other names"):
        run_campaign(other, undisturbed)


def test_agents_whose_results_would_share_a_file_are_refused(tmp_path: Path) -> None:
    """Not here, but where the file system takes capitals for small letters."""
    agents = tuple(CONFIG.agents[0].changed(name=name) for name in ("late", "Late"))
    with pytest.raises(UsageError, match="two agents are named 'late' and 'Late', which share a file name"):
        run_campaign(CONFIG.model_copy(update={"agents": agents}), tmp_path / "run")


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[2J"])
def test_an_agent_whose_name_cannot_be_printed_is_refused(tmp_path: Path, name: str) -> None:
    agents = (CONFIG.agents[0].changed(name=name),)
    with pytest.raises(UsageError, match="an agent's name is one line of printable text"):
        run_campaign(CONFIG.model_copy(update={"agents": agents}), tmp_path / "run")


def test_a_gate_changes_no_result_and_so_is_no_other_configuration(undisturbed: Path) -> None:
    safety = CONFIG.safety.changed(max_fail=0.0)
    whole = run_campaign(CONFIG.model_copy(update={"safety": safety}), undisturbed)
    assert {gate.passed for gate in whole.gates} == {False}
    run_campaign(CONFIG, undisturbed)


@pytest.mark.parametrize(
    ("suite", "told"),
    [("simpel", "Did you mean 'simple'"), ("coverage:0", "must be 1 or more"), ("interval:-1", "must be 0 or more")],
)
def test_a_suite_that_cannot_be_made_is_told_before_the_search(tmp_path: Path, suite: str, told: str) -> None:
    safety = CONFIG.safety.changed(suites=(suite,))
    with pytest.raises(UsageError, match=told):
        run_campaign(CONFIG.model_copy(update={"safety": safety}), tmp_path / "run")
    assert not list((tmp_path / "run" / "1-search").iterdir())


def test_where_the_work_is_done_does_not_matter(undisturbed: Path, tmp_path: Path) -> None:
    config = CampaignConfig.model_validate({**CONFIG.model_dump(), "execution": {"backend": "processes", "workers": 2}})
    run_campaign(config, tmp_path / "run")
    assert findings(tmp_path / "run") == findings(undisturbed)


def test_no_reference_is_a_result(tmp_path: Path) -> None:
    config = CampaignConfig.model_validate(
        {**CONFIG.model_dump(), "search": {"method": "dfs", "steps": 3, "seconds": None, "references": 1}}
    )
    whole = run_campaign(config, tmp_path / "run")
    assert whole.reference is None
    assert whole.report_path.exists()


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
    run = open_run(tmp_path / "run")
    assert run.reference is None
    assert run.search is not None, "what the search found is kept"
    assert layout.REFERENCE in list(run.missing())


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
