"""What is read back from a run, without its agents: cases, replays, comparisons."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.conftest import CONFIG
from tightrope.errors import NotReproducible, UnknownName, UsageError
from tightrope.execution import Episode
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.report import results_to_json
from tightrope.runs.campaign import working_on
from tightrope.runs.questions.assembly import report_results, run_results
from tightrope.runs.questions.comparison import compare_runs
from tightrope.runs.questions.replaying import find_case, stored_fails, verify_replay
from tightrope.runs.run import Run, open_run
from tightrope.runs.storage.artefacts import checksum
from tightrope.runs.storage.layout import SEARCH
from tightrope.runs.suitefile import working_on_suite
from tightrope.safety import judge_suite, make_suite


@pytest.fixture
def stored(undisturbed: Path, tmp_path: Path) -> Run:
    """A run whose agents can no longer be loaded."""
    folder = shutil.copytree(undisturbed, tmp_path / "stored")
    manifest = json.loads((folder / "run.json").read_text())
    for agent in manifest["agents"].values():
        agent["settings"]["source"] = "gone.onnx"
    (folder / "run.json").write_text(json.dumps(manifest))
    return open_run(folder)


@pytest.fixture
def failed(stored: Run) -> Episode:
    return stored_fails(stored)[0].episode()


def test_fails_are_listed_once_and_the_worst_first(stored: Run) -> None:
    fails = stored_fails(stored)
    assert len({(failed.result.case.id, failed.agent) for failed in fails}) == len(fails)
    survivable = [failed.result.fail_frequency.value for failed in fails if failed.result.survivable != "no"]
    assert survivable == sorted(survivable, reverse=True)
    assert {failed.agent for failed in stored_fails(stored, agent="careful")} == {"careful"}


def test_of_fails_that_are_as_frequent_one_with_an_escape_comes_first(
    stored: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On CartPole most cases are undecided, and the one that was told to be watched had no way out to be seen."""
    first = stored_fails(stored)[0]
    result = stored.safety[first.suite][first.agent]
    undecided = replace(first.result, survival=Survival(survivable=Survivability.UNKNOWN))
    twin = replace(first.result, case=replace(first.result.case, prefix=first.result.case.prefix.then([0])))
    cases = (undecided, twin)
    monkeypatch.setattr(Run, "safety", {first.suite: {first.agent: replace(result, cases=cases)}})
    listed = [each.result.survivable for each in stored_fails(stored)]
    assert listed == [Survivability.YES, Survivability.UNKNOWN]


def test_a_stored_fail_is_replayed_without_the_agent(stored: Run, failed: Episode) -> None:
    verify_replay(stored, failed)


def test_the_keys_that_an_archive_search_saw_are_its_cells(stored: Run) -> None:
    """It expands the same cell many times."""
    file = stored.path / SEARCH
    found = json.loads(file.read_text())
    found["stats"] |= {"cells": 7, "expansions": 99}
    file.write_text(json.dumps(found))
    entry = stored.manifest.artefacts[SEARCH].model_copy(update={"checksum": checksum(file.read_bytes())})
    stored.save(artefacts={**stored.manifest.artefacts, SEARCH: entry})
    (run,) = results_to_json(report_results([open_run(stored.path)]))["runs"]
    assert run["search"]["visited"] == 7


def test_actions_without_a_name_are_shown_as_they_are(stored: Run) -> None:
    task = stored.task.with_options(action_names=("left", "down"))
    assert stored.reference is not None
    suite = make_suite("coverage:1", stored.reference, task=task)
    result = judge_suite(suite, (), agent="zigzag", repetitions=1, length=1)
    (shown,) = replace(run_results(stored), task=task, safety={"coverage:1": {"zigzag": result}}).suites
    assert {case.label for case in shown.cases} == {"left", "down", "2", "3"}


def test_the_command_that_replays_a_fail_is_one_for_a_shell(stored: Run) -> None:
    result = stored.safety["simple"]["zigzag"]
    named = replace(result, agent="2-moves late (sparse)")
    (shown,) = replace(run_results(stored), safety={"simple": {named.agent: named}}).suites
    command = next(case.replay for case in shown.cases if case.replay)
    assert shlex.split(command)[-2:] == ["--agent", "2-moves late (sparse)"]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("the situation at hand-over differs at step", lambda failed: {"checksum": (failed.checksum or 0) + 1}),
        ("the reward differs at step", lambda failed: {"rewards": (*failed.rewards[:-1], failed.rewards[-1] + 1)}),
        ("the outcome differs at step", lambda failed: {"outcome": Outcome.GOAL}),
    ],
)
def test_a_replay_that_leads_elsewhere_is_told(stored: Run, failed: Episode, what: str, change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotReproducible, match=f"no longer leads to that situation: {what}"):
        verify_replay(stored, replace(failed, **change(failed)))


def test_a_replay_that_ends_too_early_is_told(stored: Run, failed: Episode) -> None:
    longer = replace(failed, actions=(*failed.actions, 0), rewards=(*failed.rewards, 0.0))
    with pytest.raises(NotReproducible, match="the episode's length differs"):
        verify_replay(stored, longer)


def test_cases_are_found_by_how_their_id_begins(stored: Run) -> None:
    wanted = stored_fails(stored)[0]
    found = find_case(stored, wanted.result.case.id[:12], agent=wanted.agent)
    assert found.result.case.id == wanted.result.case.id
    with pytest.raises(UsageError, match="executions 0 … 4, not 5"):
        found.episode(5)
    assert found.episode(1) == found.result.episodes[1]


def test_what_cannot_be_found_is_told(stored: Run) -> None:
    with pytest.raises(UsageError, match="lists the fails"):
        find_case(stored, "")
    with pytest.raises(UnknownName, match="Did you mean 'zigzag'"):
        find_case(stored, "0", agent="zigzig")
    with pytest.raises(UnknownName, match="suite in this run"):
        find_case(stored, "0", suite="coverage:9")


def test_two_agents_of_one_run_are_compared_suite_by_suite(stored: Run) -> None:
    comparisons = compare_runs(stored, stored)
    assert set(comparisons) == {"simple", "interval:1"}
    assert (comparisons["simple"].agent_a, comparisons["simple"].agent_b) == ("zigzag", "careful")
    turned = compare_runs(stored, stored, "careful", "zigzag")["simple"]
    assert turned.difference.value == pytest.approx(-(comparisons["simple"].difference.value or 0))


def test_what_cannot_be_compared_is_told(stored: Run) -> None:
    with pytest.raises(UnknownName, match="agent in this run"):
        compare_runs(stored, stored, "nobody")
    with pytest.raises(UsageError, match="with itself"):
        compare_runs(stored, stored, "zigzag", "zigzag")
    with pytest.raises(UsageError, match="which agents"):
        compare_runs(stored, stored, "zigzag")


def test_a_run_without_results_says_how_to_make_them(stored: Run, tmp_path: Path) -> None:
    with working_on(tmp_path / "empty", CONFIG.model_copy(update={"agents": ()})):
        pass
    with pytest.raises(UsageError, match=r"empty has no safety results to compare; .* safety .*empty --agent"):
        compare_runs(stored, open_run(tmp_path / "empty"), "zigzag")
    started = shutil.copytree(stored.path, tmp_path / "started")
    shutil.rmtree(started / "2-safety")
    with pytest.raises(UsageError, match="started has no safety results of careful to compare"):
        compare_runs(stored, open_run(started), "zigzag", "careful")


def test_a_report_needs_no_agents(stored: Run) -> None:
    (run,) = report_results([stored]).runs
    assert [agent.name for agent in run.agents] == ["zigzag", "careful"]
    assert run.status == "finished"
    assert run.command == "tightrope run campaign.yaml"


def test_a_suite_file_is_a_run_of_one_suite(undisturbed: Path, tmp_path: Path) -> None:
    file = undisturbed / "2-safety" / "simple.suite.json"
    changes = {"agents": CONFIG.agents, "safety": CONFIG.safety, "execution": CONFIG.execution}
    with (
        working_on_suite(file, tmp_path / "run", trust=False, **changes) as pipeline,
        pipeline.engine() as engine,
    ):
        results = pipeline.safety(engine)
    assert list(results) == ["simple"]
    again = open_run(tmp_path / "run").safety
    assert again == results
    expected = open_run(undisturbed).safety["simple"]["zigzag"]
    assert again["simple"]["zigzag"].fail_frequency == expected.fail_frequency
