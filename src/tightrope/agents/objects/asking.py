"""How a Python object is asked about one observation: which method, and what it is given by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import AgentError, AgentFailure
from tightrope.guards.calls import calls_out

GIVEN = {
    "": ("generator", "rng", "mask", "memory"),
    "act": ("generator", "rng", "mask", "memory"),
    "predict": ("state", "episode_start", "deterministic"),
}
"""What each way of asking can give beside the observation, under the names that a method may use."""
STREAMS = ("generator", "rng")
MEMORIES = ("memory", "state")
AT_RESET = ("generator", "rng", "seed")
SEEDS = 2**31


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One way to ask: ``method`` is empty when the object itself is called."""

    method: str
    takes: tuple[str, ...]
    resets: tuple[str, ...] | None
    """What ``reset()`` takes of a stream; None when there is none."""

    @property
    def takes_stream(self) -> bool:
        """Whether the agent draws from the episode's own stream."""
        return any(name in self.takes for name in STREAMS)

    @property
    def takes_memory(self) -> bool:
        """Whether the agent is handed what it remembers of the episode."""
        return any(name in self.takes for name in MEMORIES)

    @calls_out("the agent", function="its answer")
    def __call__(
        self, thing: Any, observation: Any, memory: Any, stream: np.random.Generator | None, mask: Any
    ) -> tuple[Any, Any]:
        """The answer, and the memory that came with it."""
        first = np.array([memory is None])
        given = {
            "generator": stream, "rng": stream, "mask": mask, "memory": memory,
            "state": memory, "episode_start": first, "deterministic": True,
        }  # fmt: skip
        function = getattr(thing, self.method) if self.method else thing
        answer = function(observation, **{name: given[name] for name in self.takes})
        if self.method == "predict":
            return answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        if not self.takes_memory:
            return answer, None
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise AgentFailure(f"it takes `memory`, so it must return (action, memory); it returned {answer!r}")
        return answer

    @calls_out("the agent", reset="its reset()")
    def reset(self, thing: Any, stream: np.random.Generator | None) -> None:
        """Let the object begin an episode, where it has a way to."""
        if self.resets is not None:
            # Without a stream it was found to draw nothing, so that any will do.
            stream = np.random.default_rng(0) if stream is None else stream
            known = {"generator": stream, "rng": stream, "seed": int(stream.integers(SEEDS))}
            thing.reset(**{name: known[name] for name in self.resets})


def way_of_asking(thing: Any, name: str) -> Asking:
    """How to ask an object: by ``predict``, by ``act``, or by calling it."""
    method = next((one for one in ("predict", "act") if callable(getattr(thing, one, None))), "")
    function = getattr(thing, method) if method else thing
    takes = _taken(function, GIVEN[method], 1, f"agent {name!r}{f': {method}()' if method else ''}", "an observation")
    reset = getattr(thing, "reset", None)
    resets = None
    if callable(reset):
        resets = _taken(reset, AT_RESET, 0, f"agent {name!r}: reset()", "nothing")
    return Asking(method=method, takes=takes, resets=resets)


def named_parameters(function: Callable[..., Any], offered: Sequence[str], first: int = 1) -> tuple[str, ...]:
    """Which of the offered arguments a function names, after those that it is given by their place."""
    return tuple(one.name for one in _parameters(function)[first:] if one.name in offered)


def _taken(function: Callable[..., Any], offered: Sequence[str], first: int, who: str, always: str) -> tuple[str, ...]:
    unknown = [
        one.name
        for one in _parameters(function)[first:]
        if one.name not in offered
        and one.default is one.empty
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if unknown:
        raise AgentError(
            f"{who} asks for {unknown}; it is given {always} and, by these names, {list(offered)}. "
            f"Rename what it takes, or wrap it in a function"
        )
    return named_parameters(function, offered, first)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
