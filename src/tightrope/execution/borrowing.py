"""Engines that are given or made for the occasion, and steps that begin again when randomness is met on the way."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tightrope.agents.agent import Agent
from tightrope.budget import Budget
from tightrope.errors import UsageError
from tightrope.execution.engine import Engine
from tightrope.settings import LIBRARY_BACKEND, BackendName
from tightrope.simulation import RandomnessMet, conformance_of, turn_stochastic
from tightrope.tasks.task import Task

Parameters = ParamSpec("Parameters")
T = TypeVar("T")


def require_given(given: Mapping[str, Any]) -> None:
    """Refuse a number as ``budget``, one agent as ``agents``, and what was not loaded: a function, a model, a path."""
    budget, agents, agent = (given.get(name) for name in ("budget", "agents", "agent"))
    if budget is not None and not isinstance(budget, Budget):
        raise UsageError(f"a budget is given as in tr.Budget(steps=200_000) or tr.Budget(seconds=60), not {budget!r}")
    if hasattr(agents, "act"):
        raise UsageError(f"agents takes several: give agents=[agent], not {agents!r:.80} alone")
    listed = [*agents] if isinstance(agents, list | tuple) else []
    for one in (*listed, *(() if agent is None else (agent,))):
        if not all(hasattr(one, part) for part in ("name", "fingerprint", "act")):
            raise UsageError(
                f"an agent is what tightrope.load_agent(…, task=task) returns, not {one!r:.80}; load it first: a "
                f"function, an object with predict() or act(), a network or a path"
            )


@contextmanager
def borrowed_engine(
    task: Task,
    agents: Mapping[str, Agent] | None = None,
    engine: Engine | None = None,
    backend: BackendName = LIBRARY_BACKEND,
    workers: int | None = None,
) -> Iterator[Engine]:
    """The given engine with these agents added, or one made for the occasion and closed after it."""
    if engine is not None:
        engine.add_agents(agents or {})
        with engine.replanned():
            yield engine
        return
    with Engine(task, agents, backend=backend, workers=workers) as own, own.replanned():
        yield own


def begun_again_if_stochastic(step: Callable[Parameters, T]) -> Callable[Parameters, T]:
    """A step that plans by ``engine.deterministic`` and begins again when that turns out to be wrong on the way.

    The step gets its task first, and perhaps an engine by name. Inside of another such step, that one begins again.
    """

    names = tuple(inspect.signature(step).parameters)

    @wraps(step)
    def begun(*arguments: Parameters.args, **options: Parameters.kwargs) -> T:
        require_given({**dict(zip(names, arguments, strict=False)), **options})
        engine: Any = options.get("engine")
        try:
            return step(*arguments, **options)
        except RandomnessMet as met:
            task: Any = options["task"] if "task" in options else arguments[0]
            if (engine is not None and engine.is_replanned) or not conformance_of(task).deterministic:
                raise
            turn_stochastic(task, str(met)) if engine is None else engine.turn_stochastic(met)
        return step(*arguments, **options)

    return begun
