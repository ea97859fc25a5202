"""Agents of the Hugging Face Hub, from a folder that is laid out as the library lays out what it downloads."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tightrope as tr
from tests.agents.networks import dense_network
from tests.agents.tasks import MOVES, VECTOR, noise_task
from tests.attacks import forge, policy
from tightrope.agents import names_code
from tightrope.agents.sources.hub import HubPlace, chosen_file, hub_place
from tightrope.errors import AgentError, MissingExtra, TrustRequired
from tightrope.testing.agent_contract import ask, walk

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def cached(home: Path, repository: str = "somebody/noise-agent") -> Path:
    """The folder of a repository in the library's cache, empty."""
    folder = home / "hub" / f"models--{repository.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    return folder / "snapshots" / COMMIT


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A downloaded repository. Where the library is installed it is asked, offline; else one that does the same is."""
    snapshot = cached(tmp_path)
    try:
        import huggingface_hub
    except ImportError:
        stand_in = SimpleNamespace(snapshot_download=lambda repository, **wanted: str(_known(tmp_path, repository)))
        monkeypatch.setitem(sys.modules, "huggingface_hub", stand_in)  # type: ignore[arg-type]
    else:
        download = huggingface_hub.snapshot_download

        def offline(repository: str, **wanted: Any) -> str:
            return download(repository, cache_dir=tmp_path / "hub", local_files_only=True, **wanted)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    return snapshot


def _known(home: Path, repository: str) -> Path:
    folder = home / "hub" / f"models--{repository.replace('/', '--')}" / "snapshots" / COMMIT
    if not folder.is_dir():
        raise FileNotFoundError(repository)
    return folder


def test_the_only_file_is_the_agent(repository: Path) -> None:
    task = noise_task(VECTOR, MOVES)
    local = dense_network(repository / "best.onnx", 5, 4)
    (repository / "README.md").write_text("about")
    agent = tr.load_agent("hf:somebody/noise-agent", task)
    assert agent.name == "best"
    assert ask(agent, walk(task)).actions == ask(tr.load_agent(local, task), walk(task)).actions
    assert tr.load_agent("mine=hf:somebody/noise-agent/best.onnx", task).name == "mine"
    assert agent.fingerprint == tr.load_agent(local, task).fingerprint


def test_of_several_the_one_of_the_repositorys_name_or_none(repository: Path) -> None:
    task = noise_task(VECTOR, MOVES)
    for name in ("best", "last"):
        dense_network(repository / f"{name}.onnx", 5, 4)
    with pytest.raises(AgentError, match=r"hf:somebody/noise-agent/FILE; it has best\.onnx, last\.onnx"):
        tr.load_agent("hf:somebody/noise-agent", task)
    dense_network(repository / "noise-agent.onnx", 5, 4)
    assert tr.load_agent("hf:somebody/noise-agent", task).name == "noise-agent"
    with pytest.raises(AgentError, match=r"no 'worst\.onnx' in hf:somebody/noise-agent"):
        tr.load_agent("hf:somebody/noise-agent/worst.onnx", task)


def test_what_is_not_there_is_told(repository: Path) -> None:
    with pytest.raises(AgentError, match=r"hf:somebody/else could not be downloaded.*give its path$"):
        tr.load_agent("hf:somebody/else", noise_task(VECTOR, MOVES))
    with pytest.raises(AgentError, match=r"none of its files ends in \.zip"):
        chosen_file(repository, HubPlace("somebody/noise-agent", None, None))


def test_nothing_of_the_hub_is_trusted(repository: Path) -> None:
    class Here:
        def place(self, suffix: str) -> Path:
            return repository / f"noise-agent{suffix}"

        def add(self, *told: Any) -> None:
            pass

    forge(Here(), "", "", policy_class=policy("planted", "Policy"))  # type: ignore[arg-type]
    with pytest.raises(TrustRequired, match=r"not trusted automatically.*--agent .*noise-agent\.zip --trust"):
        tr.load_agent("hf:somebody/noise-agent", noise_task(VECTOR, MOVES), trust=True)


def test_statistics_in_the_repository_are_offered(repository: Path) -> None:
    from tests.agents.test_sb3 import saved, task_of

    (repository / "noise-agent.zip").write_bytes(saved("ppo").read_bytes())
    (repository / "vec_normalize.pkl").write_bytes(b"harm")
    with pytest.raises(AgentError, match=r"vec_normalize\.pkl --trust .*\+none"):
        tr.load_agent("hf:somebody/noise-agent", task_of("ppo"))
    assert tr.load_agent("hf:somebody/noise-agent+none", task_of("ppo")).name == "noise-agent"


@pytest.mark.parametrize(
    "source",
    ["hf:", "hf:name", "hf:a/b/../../c", "hf:../b", "hf:a/..", "hf:a/b@/x", "hf:a/b//etc", "hf:a/b/x/../../../etc"],
)
def test_places_that_climb_are_none(source: str) -> None:
    with pytest.raises(AgentError, match="not an address on the hub"):
        hub_place(source)


def test_places_are_taken_apart() -> None:
    assert hub_place("hf:sb3/ppo-CartPole-v1") == ("sb3/ppo-CartPole-v1", None, None)
    assert hub_place("hf:sb3/ppo@v1.0/a/b.zip") == ("sb3/ppo", "v1.0", "a/b.zip")
    assert names_code("hf:sb3/ppo")


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # type: ignore[arg-type]
    with pytest.raises(MissingExtra, match="hub"):
        tr.load_agent("hf:a/b", noise_task(VECTOR, MOVES))
