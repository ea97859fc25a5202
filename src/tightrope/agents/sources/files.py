"""Agents from files: what decides how one is read, and how the same agent is made again in a worker process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.agents.action_names import TranslatedAgent, translation
from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.networks.network_agent import NetworkAgent, NetworkParts
from tightrope.agents.networks.normalisation import load_normalisation, named_statistics, normalisation_beside
from tightrope.agents.objects.fingerprints import file_fingerprint, object_fingerprint
from tightrope.agents.sources.importing import import_named
from tightrope.agents.sources.loaders import AgentLoader, AgentRequest, no_such_file
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, FormatError, TightropeError
from tightrope.files import DAMAGE


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


class Reading(NamedTuple):
    """What a reader made of a file."""

    parts: NetworkParts
    spaces: TaskSpaces
    """The task as the agent sees it: with its own actions, where the file names them."""


def _nothing_else(file: AgentFile) -> Sequence[Path]:
    return ()


@dataclass(frozen=True, kw_only=True)
class FileReader:
    """How files of one kind are read."""

    read: Callable[[AgentFile, TaskSpaces], Reading]
    reads_also: Callable[[AgentFile], Sequence[Path]] = _nothing_else
    """The other files that the agent is made of, which the file itself names."""

    def fingerprint(self, file: AgentFile) -> str:
        """Hash of all that the agent is made of: the content of every file that is read, the options, named code."""
        statistics = None if file.normalisation is None else file_fingerprint(file.normalisation)
        more = [f"{path.name} {file_fingerprint(path)}" for path in self.reads_also(file)]
        if file.network is not None:
            more.append(object_fingerprint(import_named(file.network)))
        return file_fingerprint(file.path, file.behaviour, file.network, statistics, *more)


def file_loader(
    *,
    endings: tuple[str, ...],
    reader: FileReader,
    saved_normalised: bool = False,
    takes_network: bool = False,
) -> AgentLoader:
    """A loader of files that end in certain ways.

    ``saved_normalised``: whether statistics that lie beside such a file belong to it, so that it is asked whether they
    are to be used. ``takes_network``: whether a class can be named for its weights.
    """

    def accepts(source: Any) -> bool:
        return isinstance(source, str) and Path(source).suffix in endings

    def load(request: AgentRequest) -> Agent:
        path = Path(request.source).expanduser()
        if not path.is_file():
            raise no_such_file(request.source)
        file = AgentFile(
            # Not resolved: what a link points to may have another ending, and other neighbours.
            path=os.path.abspath(path),
            behaviour=request.behaviour,
            network=request.network,
            normalisation=_statistics(path, request.normalisation, asks=saved_normalised),
            trust=request.trust,
        )
        return agent_from_file(reader, file, request.spaces, request.name or path.stem)

    uses = ("normalisation", "network") if takes_network else ("normalisation",)
    return AgentLoader(accepts=accepts, load=load, endings=endings, uses=uses)


def agent_from_file(reader: FileReader, file: AgentFile, spaces: TaskSpaces, name: str) -> Agent:
    """Read a file and fit it to the task."""
    agent = _network_agent(reader, file, spaces, name, reader.fingerprint(file))
    mapping = translation(agent.own_actions, spaces)
    return agent if mapping is None else TranslatedAgent(agent, mapping)


def _network_agent(
    reader: FileReader, file: AgentFile, spaces: TaskSpaces, name: str, fingerprint: str
) -> NetworkAgent:
    """Also what a worker process calls; the file must still be the one the agent was loaded from."""
    if reader.fingerprint(file) != fingerprint:
        raise AgentError(f"{file.path} has changed since agent {name!r} was loaded; load it again")
    try:
        reading = reader.read(file, spaces)
    except TightropeError:
        raise
    except DAMAGE as error:
        raise FormatError(f"{file.path} cannot be read as an agent ({type(error).__name__}: {error})") from error
    return NetworkAgent(
        _normalising(reading.parts, file, spaces),
        reading.spaces,
        file.behaviour,
        name=name,
        fingerprint=fingerprint,
        rebuild=(_network_agent, (reader, file, spaces, name, fingerprint)),
    )


def _normalising(parts: NetworkParts, file: AgentFile, spaces: TaskSpaces) -> NetworkParts:
    if file.normalisation is None:
        return parts
    return replace(parts, prepare=load_normalisation(Path(file.normalisation), trust=file.trust).fitted(spaces))


def _statistics(model: Path, given: str | os.PathLike[str] | bool | None, *, asks: bool) -> str | None:
    found = normalisation_beside(model) if given is True or (given is None and asks) else None
    if isinstance(given, (str, os.PathLike)):
        found = named_statistics(given, str(model))
    elif given is None and found is not None:
        raise _offered(model, found)
    elif given is True and found is None:
        raise AgentError(
            f"there are no observation statistics beside {model}; name their file: {model}+vecnormalize.npz"
        )
    return None if found is None else os.path.abspath(found)


def _offered(model: Path, found: Path) -> AgentError:
    """Neither with nor without them is assumed: played the other way, the agent is another agent."""
    trusted = found.suffix == ".pkl"
    return AgentError(
        f"beside {model} lies {found}, with which observations may have been normalised in training. Say which: with "
        f"it, --agent {model}+{found}{' --trust' if trusted else ''} (in Python normalisation={str(found)!r}"
        f"{', trust=True' if trusted else ''}), or without, --agent {model}+none (normalisation=False)"
    )
