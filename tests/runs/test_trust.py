from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tightrope.cli import run_command
from tightrope.errors import UsageError
from tightrope.runs.suitefile import working_on_suite
from tightrope.runs.trust import require_trust
from tightrope.safety import load_suite, save_suite
from tightrope.settings import AgentConfig


def test_a_suite_file_runs_no_command(undisturbed: Path, tmp_path: Path) -> None:
    suite = tmp_path / "evil.suite.json"
    task = f"subprocess:call(args='touch {tmp_path / 'owned'}', shell=True)"
    honest = load_suite(undisturbed / "2-safety" / "simple.suite.json")
    own = [case for case in honest.cases if case.reference == 0]
    cases = tuple(replace(case, prefix=replace(case.prefix, task=task)) for case in own)
    save_suite(replace(honest, reference=replace(honest.reference, task=task), cases=cases, others=()), suite)
    told = r"evil\.suite\.json names code to run: task subprocess:call\. .*--trust"
    with pytest.raises(UsageError, match=told), working_on_suite(suite, tmp_path / "run", trust=False):
        pass
    assert not (tmp_path / "owned").exists()


def test_a_report_loads_no_agent(undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("open('owned', 'w').close()\ndef make(): ...\n")
    folder = shutil.copytree(undisturbed, tmp_path / "run")
    manifest = json.loads((folder / "run.json").read_text())
    for agent in manifest["agents"].values():
        agent["settings"] |= {"source": "evil:make", "trust": True}
    (folder / "run.json").write_text(json.dumps(manifest))
    assert run_command(["report", "run"]) == 0
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "agent",
    [
        AgentConfig(source="module:factory"),
        AgentConfig(source="late=module:factory"),
        AgentConfig(source="weights.pt@module:Class"),
        AgentConfig(source="agent.zip", trust=True),
    ],
)
def test_agents_that_are_code_need_trust(agent: AgentConfig) -> None:
    with pytest.raises(UsageError, match="names code to run: agent "):
        require_trust(Path("run.json"), "FrozenLake-v1", [agent], trust=False)
    require_trust(Path("run.json"), "FrozenLake-v1", [agent], trust=True)


def resumable(undisturbed: Path, folder: Path, agent: str = "late=agent.onnx", **changes: object) -> Path:
    """A run that somebody else made: resuming it does what its run.json says."""
    manifest = json.loads((undisturbed / "run.json").read_text())
    manifest["config"] |= changes
    manifest["artefacts"] = {}
    manifest["agents"] = {"late": {"settings": {"source": agent}, "fingerprint": "0"}}
    (folder / "run").mkdir(parents=True)
    (folder / "run" / "run.json").write_text(json.dumps(manifest))
    return folder / "run"


def test_a_resumed_run_opens_an_archive_without_running_it(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    from tests.attacks import ANY_CALLABLE, OWNED, Attacks, forge, policy

    monkeypatch.chdir(tmp_path)
    attacks = Attacks(tmp_path)
    for module, name, given in ANY_CALLABLE[:2]:
        named = {"policy_class": policy(module, name), "policy_kwargs": given}
        forge(attacks, name, "", observation_space=None, action_space=None, **named)
    for attack in attacks.found:
        run = resumable(undisturbed, tmp_path / attack.name, agent=str(attack.path))
        assert run_command(["run", "--resume", str(run)]) == 2
        assert "is none of the policies of Stable-Baselines3" in capsys.readouterr().err
    assert not (tmp_path / OWNED).exists()


def test_a_resumed_run_makes_no_environment_that_a_data_set_names(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py")
    from tests.attacks import OWNED, Attacks, data_sets

    monkeypatch.chdir(tmp_path)
    attacks = Attacks(tmp_path)
    data_sets(attacks)
    search = {"method": "demonstration", "demonstration": f"minari:{attacks.found[0].path}"}
    run = resumable(undisturbed, tmp_path, search=search)
    assert run_command(["run", "--resume", str(run), "--agent", "late=tests.sample_agents:careful"]) == 2
    assert "the demonstration must reach the goal" in capsys.readouterr().err
    assert not (tmp_path / OWNED).exists()


@pytest.mark.parametrize(
    "command",
    ["run --resume RUN", "safety RUN --agent tests.sample_agents:careful", "fuzz RUN", "performance RUN --agent x:y"],
)
def test_a_cluster_is_not_taken_from_a_file(
    undisturbed: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers of a cluster are unpickled: whoever runs it can run anything here."""
    away = {"backend": "ray", "ray_address": "ray://evil.example:10001"}
    run = resumable(undisturbed, tmp_path, execution=away)
    assert run_command(command.replace("RUN", str(run)).split()) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "names code to run: the cluster ray://evil.example:10001" in told
    assert "with --trust" in told


def test_files_and_registered_tasks_need_none() -> None:
    require_trust(Path("run.json"), "FrozenLake-v1", [AgentConfig(source="late=agent.onnx")], trust=False)
