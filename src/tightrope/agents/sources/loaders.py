"""The ways an agent can come in: each is a value of its own, told apart by what it accepts.

A package adds one by an entry point of the group ``tightrope.agent_loaders`` that names an `AgentLoader`, a script by
`register_loader`. Both are asked before the built-in ones, and those in the order in which they are listed here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError, UsageError, how_a_file_is_named
from tightrope.extensions import loaded
from tightrope.tasks.task import Task

GROUP = "tightrope.agent_loaders"
"""Entry points of packages that bring loaders: each names an ``AgentLoader``."""

BUILT_IN = (
    "tightrope.agents.sources.hub:HUB",
    "tightrope.agents.remote.server:SERVERS",
    "tightrope.agents.formats.onnx:FILES",
    "tightrope.agents.formats.sb3:FILES",
    "tightrope.agents.formats.torch_network:FILES",
    "tightrope.agents.formats.cleanrl:FILES",
    "tightrope.agents.formats.rllib:FOLDERS",
    "tightrope.agents.sources.factories:FACTORIES",
    "tightrope.agents.objects.callables:COMPLETE",
    "tightrope.agents.formats.jax_network:NETWORKS",
    "tightrope.agents.formats.sb3:MODELS",
    "tightrope.agents.formats.torch_network:MODULES",
    "tightrope.agents.objects.callables:OBJECTS",
)
"""What is particular stands before what takes nearly anything."""


@dataclass(frozen=True, kw_only=True)
class AgentRequest:
    """A source that ``load_agent`` was given, and all that decides what is made of it."""

    source: Any
    """A text (a path, ``package.module:factory``, an address), or the object itself."""
    task: Task
    spaces: TaskSpaces
    behaviour: Behaviour
    name: str | None = None
    trust: bool = False
    batch: bool = False
    network: str | None = None
    normalisation: str | PathLike[str] | bool | None = None

    def agent_of(self, source: Any, name: str) -> Agent:
        """The agent for what the source turned out to be; ``name`` is used where the user gave none.

        A complete agent keeps its own then.
        """
        return make_agent(replace(self, source=source, name=self.name or (None if isinstance(source, Agent) else name)))

    @property
    def options(self) -> tuple[str, ...]:
        """Which of the arguments were given that few sources have a use for."""
        given = {
            "batch": self.batch,
            "network": self.network is not None,
            "normalisation": self.normalisation is not None,
        }
        return tuple(name for name, is_given in given.items() if is_given)


def _never(source: str) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class AgentLoader:
    """A way to load agents: which sources it accepts, and how it makes an agent of one."""

    accepts: Callable[[Any], bool]
    """Whether a source is its business; looks at it without running anything."""
    load: Callable[[AgentRequest], Agent]
    runs_code: Callable[[str], bool] = _never
    """Whether loading this text imports or runs what it names, or reaches out of this machine. Files of others may
    name such a source only when the user trusts them."""
    endings: tuple[str, ...] = ()
    """Of the files it reads."""
    uses: tuple[str, ...] = ()
    """Which of ``batch``, ``network`` and ``normalisation`` it looks at; the others are refused where they are given.
    One that passes the request on (``agent_of``) names all three (``OPTIONS``): what the source turns out to be
    decides."""


OPTIONS = {
    "batch": "is for functions and objects of Python, which are asked as they say",
    "network": "names the class of torch weights (weights.pt@package.module:Class)",
    "normalisation": "is for files of agents and for models of Stable-Baselines3",
}
"""Arguments of ``load_agent`` that mean nothing to most sources, and what each is for."""

_registered: list[AgentLoader] = []


def register_loader(loader: AgentLoader) -> None:
    """Let ``load_agent`` try this loader before all others.

    Args:
        loader: What it accepts and how it loads it.
    """
    if not isinstance(loader, AgentLoader):
        raise UsageError(f"a loader is a tightrope.AgentLoader, not {loader!r:.80}")
    if loader not in _registered:
        _registered.insert(0, loader)


def all_loaders() -> Iterator[AgentLoader]:
    """All ways in, in the order in which they are asked."""
    yield from _registered
    yield from loaded(GROUP, _broken_rule).values()
    yield from map(_built_in, BUILT_IN)


def loader_for(source: Any) -> AgentLoader | None:
    """The first loader that accepts a source."""
    return next((loader for loader in all_loaders() if loader.accepts(source)), None)


def make_agent(request: AgentRequest) -> Agent:
    """The agent that a request describes."""
    loader = loader_for(request.source)
    if loader is None:
        raise _refused(request.source)
    for option in request.options:
        if option not in loader.uses:
            told = request.source if isinstance(request.source, str) else f"{request.source!r:.80}"
            value = getattr(request, option)
            raise AgentError(f"{told}: {option}={value!r} does not apply to it; leave it out. It {OPTIONS[option]}")
    return loader.load(request)


def no_such_file(source: str) -> AgentError:
    """What to say of a path that leads nowhere."""
    if move := how_a_file_is_named(source):
        return AgentError(f"there is no file {source!r}. {move}")
    return AgentError(
        f"there is no file {source!r}. An agent is a file, name=file, weights.pt@package.module:Class, "
        f"package.module:factory, http://host:port/, or hf:owner/name on the Hugging Face Hub"
    )


def _refused(source: Any) -> AgentError:
    if not isinstance(source, str):
        return AgentError(
            f"{source!r:.80} is not an agent: give a function of an observation, an object with predict() or act(), "
            f"a path, or package.module:factory"
        )
    path, endings = (
        Path(source).expanduser(),
        ", ".join(ending for loader in all_loaders() for ending in loader.endings),
    )
    if path.is_dir():
        return AgentError(
            f"{source} is a folder; an agent is a file ({endings}) or package.module:factory{_agents_in(path)}"
        )
    if not path.exists():
        return no_such_file(source)
    return AgentError(
        f"{source}: files that end in {path.suffix!r} cannot be read as agents; those that can: {endings}. "
        f"Give anything else as a function: package.module:factory"
    )


def _agents_in(folder: Path) -> str:
    """What a folder holds that could be meant, as the end of a sentence; one of the Hub holds one such file."""
    endings = {ending for loader in all_loaders() for ending in loader.endings if ending.startswith(".")}
    found = sorted(path.name for path in folder.iterdir() if path.suffix in endings)
    return f"; it holds {', '.join(found[:5])}: give the path of that file" if found else ""


@cache
def _built_in(place: str) -> AgentLoader:
    module, _, name = place.partition(":")
    found: AgentLoader = getattr(importlib.import_module(module), name)
    return found


def _broken_rule(found: Any) -> str:
    return "" if isinstance(found, AgentLoader) else f"a tightrope.AgentLoader is needed, not {found!r:.80}"


def descends_from(package: str, source: Any) -> bool:
    """Whether an object's class descends from a package, told without importing it."""
    return any(f"{base.__module__}.".startswith(f"{package}.") for base in type(source).__mro__)
