"""``load_agent``: whatever the user has, as an agent that answers batches."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.sources.importing import is_import_name
from tightrope.agents.sources.loaders import AgentRequest, loader_for, make_agent
from tightrope.agents.spaces import spaces_of
from tightrope.settings import AgentConfig, BehaviourName
from tightrope.tasks.task import Task

NAMED_SOURCE = re.compile(r"^([\w.+-]+)=(.+)$")
NORMALISED_SOURCE = re.compile(r"^(.+)\+(none|[^+]+\.(?:npz|pkl))$")


class AgentArgument(NamedTuple):
    """What ``--agent`` was given: a source, and a name where one was given."""

    source: str
    name: str | None


def parse_agent_argument(argument: str) -> AgentArgument:
    """Read ``path``, ``name=path`` or ``name=package.module:factory``."""
    match = NAMED_SOURCE.match(argument)
    if match is None or Path(argument).exists():
        return AgentArgument(argument, None)
    return AgentArgument(match[2], match[1])


def names_code(source: str) -> bool:
    """Whether loading it runs what it names: ``module:factory``, ``weights.pt@module:Class``, an address."""
    text, _ = _split_normalisation(parse_agent_argument(source).source)
    text, network = _split_network(text)
    loader = loader_for(text)
    return network is not None or (loader is not None and loader.runs_code(text))


def load_agent(
    source: Any,
    task: Task,
    *,
    behaviour: BehaviourName = AgentConfig.behaviour,
    epsilon: float = AgentConfig.epsilon,
    trust: bool = AgentConfig.trust,
    name: str | None = AgentConfig.name,
    batch: bool = False,
    network: str | None = None,
    normalisation: str | PathLike[str] | bool | None = None,
) -> Agent:
    """Make an agent of a function, an object with ``act`` or ``predict``, a model, a file or ``module:factory``.

    An argument that means nothing to the source is refused. One that the source spells out too wins over it.

    Args:
        source: What the user has.
        task: What the agent is to solve; its spaces must fit.
        behaviour: "greedy" or "sampled".
        epsilon: Share of random actions.
        trust: Whether loading may run code that is in the file; without it nothing is unpickled.
        name: What to call the agent; default: the name of the file or function.
        batch: Whether the function takes stacked observations. Refused for what is no function or object of Python.
        network: The ``module:Class`` of torch weights; or write ``weights.pt@module:Class`` as the source. Refused for
            whatever else.
        normalisation: A file of observation statistics; or write ``model.zip+vecnormalize.npz`` as the source. True:
            the one beside the file, or the model's own. False, or ``model.zip+none``: none. None asks, where one lies
            beside a Stable-Baselines3 archive. Refused for what is neither a file nor such a model.
    """
    style = Behaviour(kind=behaviour, epsilon=epsilon)
    if isinstance(source, (str, PathLike)):
        source, given_name = parse_agent_argument(fspath(source))
        source, named_statistics = _split_normalisation(source)
        source, named_network = _split_network(source)
        name, network = name or given_name, network or named_network
        normalisation = named_statistics if normalisation is None else normalisation
    return make_agent(
        AgentRequest(
            source=source,
            task=task,
            spaces=spaces_of(task),
            behaviour=style,
            name=name,
            trust=trust,
            batch=batch,
            network=network,
            normalisation=normalisation,
        )
    )


def _split_network(source: str) -> tuple[str, str | None]:
    """``weights.pt@module:Class`` in two; other signs @ belong to the path."""
    path, _, network = source.rpartition("@")
    return (path, network) if is_import_name(network) and path else (source, None)


def _split_normalisation(source: str) -> tuple[str, str | bool | None]:
    """``model.zip+vecnormalize.npz`` in two, ``model.zip+none`` says that there is none."""
    match = NORMALISED_SOURCE.match(source)
    if match is None or Path(source).exists():
        return source, None
    return match[1], False if match[2] == "none" else match[2]
