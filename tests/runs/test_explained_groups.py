"""Why agents fail is made once in a run, kept like everything else in it, and told alike by all who tell it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tightrope as tr
from tightrope.cli import run_command
from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.questions.reasons import group_line, groups_of
from tightrope.runs.steps import safety_step
from tightrope.runs.storage import layout

CONFIG = {
    "task": "FrozenLake-v1",
    "options": {"is_slippery": False},
    "agents": [{"source": "tests.sample_agents:zigzag", "name": "zigzag"}],
    "plain": {"episodes": 0},
    "search": {"probe_steps": 200},
    "safety": {"suites": ["simple", "interval:1"], "repetitions": 1, "length": 20},
    "fuzzing": {"enabled": False},
    "execution": {"backend": "inline"},
    "report": {"videos": 0},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whys") / "run"
    run_campaign(CampaignConfig.model_validate(CONFIG), folder)
    return folder


def test_every_group_of_a_run_has_its_close_up(folder: Path) -> None:
    run = tr.open_run(folder)
    [groups] = groups_of(run.safety).values()
    assert groups
    assert all(group.close_up is not None and group.explanation is not None for group in groups)
    assert sum(group.share for group in groups) == pytest.approx(1.0)
    # The same case in two suites is one fail.
    members = [case.case.id for group in groups for case in group.members]
    assert len(members) == len(set(members))


def test_all_tell_the_same_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tr.open_run(folder)
    group = groups_of(run.safety)["zigzag"][0]
    sentence = group.explanation.sentence(run.task)
    assert sentence.startswith("At step ")
    assert run_command(["explain", str(folder)]) == 0
    assert group_line(group, run.task) in capsys.readouterr().out
    assert run_command(["explain", str(folder), group.representative.case.id[:8]]) == 0
    assert f"{sentence}." in capsys.readouterr().out
    assert run_command(["replay", str(folder), group.representative.case.id[:8]]) == 0
    told = capsys.readouterr().out
    assert f"{sentence}." in told
    assert "← decision" in told
    failures = [node.text or "" for node in ElementTree.parse(folder / "report" / "junit.xml").iter("failure")]
    assert any(text.startswith(f"{sentence}.\nReplay it: ") for text in failures)
    assert sentence in (folder / "report" / "summary.md").read_text()
    shown = json.loads((folder / "report" / "results.json").read_text())["runs"][0]["groups"]
    assert shown[0]["sentence"] == group.sentence(run.task)


def test_the_details_of_a_case_are_there_for_machines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = groups_of(tr.open_run(folder).safety)["zigzag"][0]
    assert run_command(["explain", str(folder), group.representative.case.id, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["explanation"]["depth"] == group.explanation.depth
    assert told["close_up"]["names"] == ["cell"]
    assert run_command(["explain", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["zigzag"][0]["representative"] == group.representative.case.id


def test_it_is_made_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = shutil.copytree(folder, tmp_path / "run")
    with monkeypatch.context() as forbidden:
        forbidden.setattr(
            safety_step, "explain_groups", lambda *given, **options: pytest.fail("it was explained again")
        )
        run_campaign(CampaignConfig.model_validate(CONFIG), again)


def test_it_is_made_again_when_a_result_joins_and_not_told_when_the_agent_is_another(
    folder: Path, tmp_path: Path
) -> None:
    run = tr.open_run(shutil.copytree(folder, tmp_path / "run"))
    assert run.whys("zigzag")
    more = {**CONFIG, "safety": {**CONFIG["safety"], "suites": ["simple", "interval:1", "coverage:1"]}}
    joined = run_campaign(CampaignConfig.model_validate(more), tmp_path / "run")
    sources = joined.manifest.artefacts[layout.why_path("zigzag")].sources
    assert {source.name for source in sources} >= {"the result of simple", "the result of coverage:1"}
    record = joined.agents["zigzag"].model_copy(update={"fingerprint": "another"})
    joined.save(agents={"zigzag": record})
    assert tr.open_run(tmp_path / "run").whys("zigzag") == {}


def test_a_case_that_was_not_explained_is_explained_when_it_is_asked_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tr.open_run(shutil.copytree(folder, tmp_path / "run"))
    run.remove(layout.why_path("zigzag"))
    case = run.safety["simple"]["zigzag"].failing_cases[0].case.id
    assert run_command(["explain", str(run.path), case]) == 0
    told = capsys.readouterr().out
    assert "would have survived" in told
    assert "could not be loaded" in told, "its source is code, and nobody said that the run is to be trusted"
    assert run_command(["explain", str(run.path), case, "--trust"]) == 0
    assert "could not be loaded" not in capsys.readouterr().out


def test_what_did_not_fail_is_not_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tr.open_run(folder)
    passed = next(case for case in run.safety["simple"]["zigzag"].cases if not case.fails)
    assert run_command(["explain", str(folder), passed.case.id]) == 2
    assert "nothing to explain" in capsys.readouterr().err
    assert run_command(["explain", str(folder), "--agent", "nobody"]) == 2
