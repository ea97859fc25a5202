"""``load_agent``: whatever the user has, as an agent that answers batches."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import Behaviour
from tightrope.agents.callables import BatchAgent, CallableAgent, PredictorAgent
from tightrope.agents.files import AgentFile, agent_from_file, require_known_suffix
from tightrope.agents.fingerprints import object_fingerprint
from tightrope.agents.importing import import_named, is_import_name
from tightrope.agents.networks.network_agent import NetworkAgent
from tightrope.agents.networks.normalisation import from_vecnormalize, normalisation_beside
from tightrope.agents.networks.sb3 import policy_parts
from tightrope.agents.networks.torch_network import module_parts
from tightrope.agents.spaces import TaskSpaces, spaces_of
from tightrope.errors import AgentError, TightropeError
from tightrope.guards.faults import misdeed
from tightrope.tasks.task import Task

NAMED_SOURCE = re.compile(r"^([\w.+-]+)=(.+)$")


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
    """Whether loading it imports a module that it names: ``module:factory`` or ``weights.pt@module:Class``."""
    path, network = _split_network(parse_agent_argument(source).source)
    return network is not None or is_import_name(path)


def load_agent(
    source: Any,
    task: Task,
    *,
    behaviour: str = "greedy",
    epsilon: float = 0.0,
    trust: bool = False,
    name: str | None = None,
    batch: bool = False,
    network: str | None = None,
    normalisation: str | PathLike[str] | bool | None = None,
) -> Agent:
    """Make an agent of a function, an object with ``predict``, a model, a file, or ``package.module:factory``.

    Args:
        source: What the user has.
        task: What the agent is to solve; its spaces must fit.
        behaviour: "greedy" or "sampled".
        epsilon: Share of random actions.
        trust: Whether loading may run code that is in the file; without it nothing is unpickled.
        name: What to call the agent; default: the name of the file or function.
        batch: Whether the function takes stacked observations.
        network: The ``module:Class`` of torch weights; or write ``weights.pt@module:Class`` as the source.
        normalisation: A file of observation statistics; None looks for one beside a Stable-Baselines3 archive, False
            leaves it out.
    """
    spaces, style = spaces_of(task), Behaviour(kind=behaviour, epsilon=epsilon)
    if isinstance(source, (str, PathLike)):
        text, given_name = parse_agent_argument(fspath(source))
        name = name or given_name
        text, named_network = _split_network(text)
        network = network or named_network
        if not is_import_name(text):
            return agent_from_file(_file(text, style, network, normalisation, trust), spaces, name or Path(text).stem)
        source, name = _made(text, import_named(text), task), name or text.partition(":")[2]
    return _agent_from_object(source, spaces, style, batch=batch, name=name)


def _split_network(source: str) -> tuple[str, str | None]:
    """``weights.pt@module:Class`` in two; other signs @ belong to the path."""
    path, _, network = source.rpartition("@")
    return (path, network) if is_import_name(network) and path else (source, None)


def _file(
    source: str, style: Behaviour, network: str | None, normalisation: str | PathLike[str] | bool | None, trust: bool
) -> AgentFile:
    path = Path(source).expanduser()
    if not path.exists():
        raise AgentError(
            f"there is no file {source!r}. An agent is a file, name=file, weights.pt@package.module:Class, or "
            f"package.module:factory"
        )
    require_known_suffix(path, source)
    statistics = normalisation_beside(path) if normalisation in (None, True) and path.suffix == ".zip" else None
    if isinstance(normalisation, (str, PathLike)):
        statistics = Path(normalisation)
    return AgentFile(
        path=str(path.resolve()),
        behaviour=style,
        network=network,
        normalisation=None if statistics is None else str(statistics.resolve()),
        trust=trust,
    )


def _agent_from_object(source: Any, spaces: TaskSpaces, style: Behaviour, *, batch: bool, name: str | None) -> Agent:
    if isinstance(source, Agent):
        if style != Behaviour():
            raise AgentError(f"agent {source.name!r} is complete already; behaviour and epsilon do not apply to it")
        return source
    name = name or str(getattr(source, "__name__", type(source).__name__))
    if _is_from("stable_baselines3", source):
        return _agent_from_model(source, spaces, style, name)
    fingerprint = object_fingerprint(source, style, batch)
    if _is_from("torch.nn.modules.module", source):
        return NetworkAgent(module_parts(source, spaces), spaces, style, name=name, fingerprint=fingerprint)
    if hasattr(source, "predict"):
        return PredictorAgent(source, spaces, style, name=name, fingerprint=fingerprint)
    if callable(source):
        return (BatchAgent if batch else CallableAgent)(source, spaces, style, name=name, fingerprint=fingerprint)
    raise AgentError(
        f"{source!r} is no agent: give a function of an observation, an object with predict(), a path, "
        f"or package.module:factory"
    )


def _is_from(package: str, source: Any) -> bool:
    """Whether an object's class descends from a package, told without importing it."""
    return any(f"{base.__module__}.".startswith(f"{package}.") for base in type(source).__mro__)


def _agent_from_model(model: Any, spaces: TaskSpaces, style: Behaviour, name: str) -> Agent:
    policy = getattr(model, "policy", model)
    normaliser = model.get_vec_normalize_env() if hasattr(model, "get_vec_normalize_env") else None
    statistics = None if normaliser is None else from_vecnormalize(normaliser)
    prepare = None if statistics is None else statistics.fitted(spaces)
    fingerprint = object_fingerprint((policy, statistics), style)
    return NetworkAgent(policy_parts(policy, spaces, prepare), spaces, style, name=name, fingerprint=fingerprint)


def _made(source: str, value: Any, task: Task) -> Any:
    """Call a factory: what requires no arguments, or ``task`` alone. Anything else is the agent itself."""
    if not callable(value) or (isinstance(value, Agent) and not isinstance(value, type)):
        return value
    needed = _required(value)
    if needed not in ([], ["task"]):
        return value
    try:
        return value(task) if needed else value()
    except TightropeError:
        raise
    except BaseException as error:
        raise AgentError(f"the agent's factory {source} {misdeed(error)}") from error


def _required(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["unknown"]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind not in kinds]
