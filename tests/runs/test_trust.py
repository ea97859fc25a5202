from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tightrope.cli import run_command
from tightrope.errors import UsageError
from tightrope.runs.config import AgentConfig
from tightrope.runs.suitefile import working_on_suite
from tightrope.runs.trust import require_trust
from tightrope.safety import load_suite, save_suite


def test_a_suite_file_runs_no_command(undisturbed: Path, tmp_path: Path) -> None:
    suite = tmp_path / "evil.suite.json"
    task = f"subprocess:call(args='touch {tmp_path / 'owned'}', shell=True)"
    honest = load_suite(undisturbed / "2-safety" / "simple.suite.json")
    cases = tuple(replace(case, prefix=replace(case.prefix, task=task)) for case in honest.cases)
    save_suite(replace(honest, reference=replace(honest.reference, task=task), cases=cases), suite)
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


def test_files_and_registered_tasks_need_none() -> None:
    require_trust(Path("run.json"), "FrozenLake-v1", [AgentConfig(source="late=agent.onnx")], trust=False)
