"""Agents that a module of the user's holds or makes: ``package.module:factory``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.agents.importing import import_named, is_import_name
from tightrope.agents.loaders import AgentLoader, AgentRequest
from tightrope.errors import AgentError, TightropeError
from tightrope.guards.faults import misdeed
from tightrope.tasks.task import Task


def _accepts(source: Any) -> bool:
    return isinstance(source, str) and is_import_name(source)


def _load(request: AgentRequest) -> Agent:
    source: str = request.source
    made = _made(source, import_named(source), request.task)
    return request.agent_of(made, name=source.partition(":")[2])


def _made(source: str, value: Any, task: Task) -> Any:
    """Call a factory: what requires no arguments, or ``task`` alone. Anything else is the agent itself."""
    if not callable(value) or (isinstance(value, Agent) and not isinstance(value, type)):
        return value
    needed = required_parameters(value)
    if needed not in ([], ["task"]):
        return value
    try:
        return value(task) if needed else value()
    except TightropeError:
        raise
    except BaseException as error:
        raise AgentError(f"the agent's factory {source} {misdeed(error)}") from error


def required_parameters(function: Callable[..., Any]) -> list[str]:
    """The parameters that a call must give."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["unknown"]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind not in kinds]


FACTORIES = AgentLoader(accepts=_accepts, load=_load, runs_code=is_import_name)
