"""Agents from files: which reader fits, and how the same agent is made again in a worker process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.agents.action_names import TranslatedAgent, declared_actions, own_spaces, translation
from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.fingerprints import file_fingerprint
from tightrope.agents.networks.network_agent import NetworkAgent, NetworkParts
from tightrope.agents.networks.normalisation import NormalisedParts, load_normalisation
from tightrope.agents.networks.onnx import OnnxFile
from tightrope.agents.networks.sb3 import policy_from_archive, policy_parts
from tightrope.agents.networks.sb3_archive import read_archive
from tightrope.agents.networks.torch_network import load_torch
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError

SUFFIXES = (".onnx", ".zip", ".pt", ".pth")


@dataclass(frozen=True, kw_only=True)
class AgentFile:
    """A file and all that decides how it is read."""

    path: str
    behaviour: Behaviour
    network: str | None = None
    """``module:Class`` for torch weights."""
    normalisation: str | None = None
    """A file of observation statistics."""
    trust: bool = False

    def fingerprint(self) -> str:
        """Hash of the content of the files and of the options."""
        statistics = None if self.normalisation is None else file_fingerprint(self.normalisation)
        return file_fingerprint(self.path, self.behaviour, self.network, statistics)


class Reading(NamedTuple):
    """What a reader made of a file."""

    parts: NetworkParts
    spaces: TaskSpaces
    """The task as the agent sees it: with its own actions, where the file names them."""


def agent_from_file(file: AgentFile, spaces: TaskSpaces, name: str) -> Agent:
    """Read a file and fit it to the task."""
    agent = _network_agent(file, spaces, name, file.fingerprint())
    mapping = translation(agent.own_actions, spaces)
    return agent if mapping is None else TranslatedAgent(agent, mapping)


def _network_agent(file: AgentFile, spaces: TaskSpaces, name: str, fingerprint: str) -> NetworkAgent:
    """Also what a worker process calls; the file must still be the one the agent was loaded from."""
    if file.fingerprint() != fingerprint:
        raise AgentError(f"{file.path} has changed since agent {name!r} was loaded; load it again")
    reading = _read(file, spaces)
    return NetworkAgent(
        reading.parts,
        reading.spaces,
        file.behaviour,
        name=name,
        fingerprint=fingerprint,
        rebuild=(_network_agent, (file, spaces, name, fingerprint)),
    )


def _read(file: AgentFile, spaces: TaskSpaces) -> Reading:
    path = Path(file.path)
    if path.suffix == ".onnx":
        return _read_onnx(path, spaces)
    if path.suffix == ".zip":
        policy = policy_from_archive(read_archive(path), spaces, trust=file.trust)
        return Reading(policy_parts(policy, spaces, _statistics(file, spaces)), spaces)
    return Reading(load_torch(path, file.network, spaces, trust=file.trust), spaces)


def _read_onnx(path: Path, spaces: TaskSpaces) -> Reading:
    opened = OnnxFile(path)
    names = declared_actions(opened.metadata, spaces)
    if translation(names, spaces) is not None:
        assert names is not None
        spaces = own_spaces(names, spaces)
    return Reading(opened.parts(spaces), spaces)


def _statistics(file: AgentFile, spaces: TaskSpaces) -> NormalisedParts | None:
    if file.normalisation is None:
        return None
    return load_normalisation(Path(file.normalisation), trust=file.trust).fitted(spaces)


def require_known_suffix(path: Path, source: Any) -> None:
    """Raise unless a reader knows files of this kind."""
    if path.is_dir():
        raise AgentError(f"{source} is a folder; an agent is a file ({', '.join(SUFFIXES)}) or package.module:factory")
    if path.suffix not in SUFFIXES:
        raise AgentError(
            f"{source}: files that end in {path.suffix!r} are not agents tightrope can read; known are "
            f"{', '.join(SUFFIXES)}. Anything else comes in by a function: package.module:factory"
        )
