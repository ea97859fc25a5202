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
from tightrope.outcome import Outcome
from tightrope.runs.assembly import assemble, stored_safety, suite_result
from tightrope.runs.campaign import Campaign
from tightrope.runs.comparison import compare_runs
from tightrope.runs.folder import RunFolder
from tightrope.runs.replaying import find_case, stored_falls, verify_replay
from tightrope.runs.suitefile import SuiteCampaign
from tightrope.safety import judge_suite, load_suite, make_suite


@pytest.fixture
def campaign(undisturbed: Path) -> Campaign:
    """A run whose agents can no longer be loaded."""
    gone = tuple(agent.model_copy(update={"source": "gone.onnx"}) for agent in CONFIG.agents)
    return Campaign(CONFIG.model_copy(update={"agents": gone}), RunFolder.open(undisturbed))


@pytest.fixture
def fall(campaign: Campaign) -> Episode:
    return stored_falls(campaign)[0].episode()


def test_falls_are_listed_once_and_the_worst_first(campaign: Campaign) -> None:
    falls = stored_falls(campaign)
    assert len({(fall.result.case.id, fall.agent) for fall in falls}) == len(falls)
    survivable = [fall.result.fail_frequency.value for fall in falls if fall.result.survivable != "no"]
    assert survivable == sorted(survivable, reverse=True)
    assert {fall.agent for fall in stored_falls(campaign, agent="careful")} == {"careful"}


def test_a_stored_fall_is_replayed_without_the_agent(campaign: Campaign, fall: Episode) -> None:
    verify_replay(campaign, fall)


def test_the_keys_that_an_archive_search_saw_are_its_cells(undisturbed: Path, tmp_path: Path) -> None:
    """It expands the same cell many times."""
    shutil.copytree(undisturbed, tmp_path / "run")
    file = tmp_path / "run" / "1-search" / "search.json"
    step = json.loads(file.read_text())
    step["content"]["stats"] |= {"cells": 7, "expansions": 99}
    file.write_text(json.dumps(step))
    campaign = Campaign(CONFIG, RunFolder.open(tmp_path / "run"))
    with campaign.engine(agents={}) as engine:
        (run,) = assemble([(campaign, engine)]).runs
    assert run.search is not None
    assert run.search.visited == 7


def test_actions_without_a_name_are_shown_as_they_are(campaign: Campaign) -> None:
    campaign.task = campaign.task.with_options(action_names=("left", "down"))
    suite = make_suite("coverage:1", campaign.reference(), task=campaign.task)
    result = judge_suite(suite, (), agent="zigzag", repetitions=1, length=1)
    shown = suite_result(campaign, "coverage:1", result)
    assert {case.label for case in shown.cases} == {"left", "down", "2", "3"}


def test_the_command_that_replays_a_fall_is_one_for_a_shell(campaign: Campaign) -> None:
    result = stored_safety(campaign)["simple"]["zigzag"]
    shown = suite_result(campaign, "simple", replace(result, agent="2-moves late (sparse)"))
    command = next(case.replay for case in shown.cases if case.replay)
    assert shlex.split(command)[-2:] == ["--agent", "2-moves late (sparse)"]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("the situation at hand-over differs at step", lambda fall: {"checksum": (fall.checksum or 0) + 1}),
        ("the reward differs at step", lambda fall: {"rewards": (*fall.rewards[:-1], fall.rewards[-1] + 1)}),
        ("the outcome differs at step", lambda fall: {"outcome": Outcome.GOAL}),
    ],
)
def test_a_replay_that_leads_elsewhere_is_told(campaign: Campaign, fall: Episode, what: str, change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotReproducible, match=f"no longer leads there: {what}"):
        verify_replay(campaign, replace(fall, **change(fall)))


def test_a_replay_that_ends_too_early_is_told(campaign: Campaign, fall: Episode) -> None:
    longer = replace(fall, actions=(*fall.actions, 0), rewards=(*fall.rewards, 0.0))
    with pytest.raises(NotReproducible, match="the episode's length differs"):
        verify_replay(campaign, longer)


def test_cases_are_found_by_how_their_id_begins(campaign: Campaign) -> None:
    wanted = stored_falls(campaign)[0]
    found = find_case(campaign, wanted.result.case.id[:12], agent=wanted.agent)
    assert found.result.case.id == wanted.result.case.id
    with pytest.raises(UsageError, match="executions 0 … 4, not 5"):
        found.episode(5)
    assert found.episode(1) == found.result.episodes[1]


def test_what_cannot_be_found_is_told(campaign: Campaign) -> None:
    with pytest.raises(UsageError, match="lists the falls"):
        find_case(campaign, "")
    with pytest.raises(UnknownName, match="Did you mean 'zigzag'"):
        find_case(campaign, "0", agent="zigzig")
    with pytest.raises(UnknownName, match="suite in this run"):
        find_case(campaign, "0", suite="coverage:9")


def test_two_agents_of_one_run_are_compared_suite_by_suite(campaign: Campaign) -> None:
    comparisons = compare_runs(campaign, campaign)
    assert set(comparisons) == {"simple", "interval:1"}
    assert (comparisons["simple"].agent_a, comparisons["simple"].agent_b) == ("zigzag", "careful")
    turned = compare_runs(campaign, campaign, "careful", "zigzag")["simple"]
    assert turned.difference.value == pytest.approx(-(comparisons["simple"].difference.value or 0))


def test_what_cannot_be_compared_is_told(campaign: Campaign) -> None:
    with pytest.raises(UnknownName, match="agent in this run"):
        compare_runs(campaign, campaign, "nobody")
    with pytest.raises(UsageError, match="with itself"):
        compare_runs(campaign, campaign, "zigzag", "zigzag")
    with pytest.raises(UsageError, match="which agents"):
        compare_runs(campaign, campaign, "zigzag")


def test_a_run_without_results_says_how_to_make_them(campaign: Campaign, tmp_path: Path) -> None:
    empty = Campaign(CONFIG, RunFolder.create_or_open(tmp_path / "empty"))
    with pytest.raises(UsageError, match=r"empty has no safety results to compare; .* safety .*empty --agent"):
        compare_runs(campaign, empty, "zigzag")
    shutil.copytree(campaign.folder.path, tmp_path / "started")
    shutil.rmtree(tmp_path / "started" / "2-safety")
    started = Campaign(CONFIG, RunFolder.open(tmp_path / "started"))
    with pytest.raises(UsageError, match="started has no safety results of careful to compare"):
        compare_runs(campaign, started, "zigzag", "careful")


def test_a_report_needs_no_agents(campaign: Campaign) -> None:
    with campaign.engine(agents={}) as engine:
        results = assemble([(campaign, engine)])
    (run,) = results.runs
    assert [agent.name for agent in run.agents] == ["zigzag", "careful"]
    assert run.status == "finished"
    assert run.command == "tightrope run campaign.yaml"


def test_a_suite_file_is_a_campaign_of_one_suite(undisturbed: Path, tmp_path: Path) -> None:
    suite = load_suite(undisturbed / "2-safety" / "simple.suite.json")
    campaign = SuiteCampaign(CONFIG, RunFolder.create_or_open(tmp_path / "run"), suite)
    assert campaign.suites() == {"simple": suite}
    with campaign.engine() as engine:
        results = campaign.safety_step(engine)
    stored = compare_runs(*[Campaign(CONFIG, RunFolder.open(undisturbed))] * 2)["simple"]
    assert results["simple"]["zigzag"].agent == stored.agent_a
