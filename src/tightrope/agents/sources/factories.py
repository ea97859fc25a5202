"""Agents that a module of the user's holds or makes: ``package.module:factory``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import cloudpickle

from tightrope.agents.agent import Agent
from tightrope.agents.sources.importing import import_named, is_import_name
from tightrope.agents.sources.loaders import OPTIONS, AgentLoader, AgentRequest
from tightrope.agents.wrapped import StandIn
from tightrope.errors import AgentError, TightropeError
from tightrope.guards.faults import misdeed
from tightrope.tasks.task import Task


def _accepts(source: Any) -> bool:
    return isinstance(source, str) and is_import_name(source)


def _load(request: AgentRequest) -> Agent:
    source: str = request.source
    made = _made(source, import_named(source), request.task)
    agent = request.agent_of(made, name=source.partition(":")[2])
    return agent if _can_travel(agent) else AgentMadeAnew(agent, replace(request, name=agent.name))


def _can_travel(agent: Agent) -> bool:
    try:
        cloudpickle.dumps(agent)
    except Exception:
        return False
    return True


class AgentMadeAnew(StandIn):
    """An agent that cannot be sent to a worker process (a session, a lock); there, its factory is called again."""

    _shown = ("agent", "source")

    def __init__(self, agent: Agent, request: AgentRequest) -> None:
        super().__init__(agent, agent.name)
        self.source, self._request = request.source, request

    def __reduce__(self) -> Any:
        if required_parameters(import_named(self.source)):
            raise AgentError(
                f"agent {self.name!r} cannot be sent to another process, and its factory {self.source} cannot be "
                f"called there because it takes a task; use the inline back end (--backend inline), or let the factory "
                f"take no arguments"
            )
        # Without the task, which cannot be sent by itself and which a factory without arguments does not see.
        return _anew, (replace(self._request, task=cast(Task, None)), self.fingerprint)


def _anew(request: AgentRequest, fingerprint: str) -> Agent:
    """What a worker process calls."""
    agent = _load(request)
    if agent.fingerprint != fingerprint:
        raise AgentError(
            f"the agent's factory {request.source} made a different agent in a worker process (its fingerprint "
            f"differs). Change it so that it always makes the same agent, or use the inline back end (--backend inline)"
        )
    return agent


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


FACTORIES = AgentLoader(accepts=_accepts, load=_load, runs_code=is_import_name, uses=tuple(OPTIONS))
