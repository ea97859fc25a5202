"""Agents that answer batches themselves: the same observations, in another order and another batch, again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tightrope.agents.agent import Agent
from tightrope.agents.objects.contents import Contents
from tightrope.agents.objects.randomness import generators_digest, own_generators
from tightrope.agents.spaces import TaskSpaces
from tightrope.errors import AgentError
from tightrope.guards.faults import require_fault
from tightrope.seeding import generator
from tightrope.tasks.spaces import unshared_actions

PROBES = 12

ADVICE = (
    "An answer may depend on the observation alone, on the memory handed over with it and on its own random stream: "
    "draw from the given generators, one a row, and give what remembers as f(observation, memory), which returns "
    "(action, memory), or as an object with reset() and act(observation)"
)


def require_steady(agent: Agent, spaces: TaskSpaces, function: Any = None) -> None:
    """Raise AgentError when an answer depends on who else is asked. ``function`` is what the agent is made of, if one.

    What it cannot answer at all is told when it matters, and not here.
    """
    own = own_generators(function)
    before, standing = Contents(function).digest, generators_digest(own)
    try:
        observations = spaces.sample_observations(PROBES)
        places = range(len(observations))
        once = _answers(agent, observations, [places])
        again = _answers(agent, observations, [places[::-2], places[::2], places[1:2]])
    except BaseException as error:
        require_fault(error)
        return
    differing = next((place for place in places if again.get(place, once[place]) != once[place]), None)
    if differing is not None:
        why = f"asked again in another batch it answered {again[differing]!r}, after {once[differing]!r}"
    elif Contents(function).digest != before:
        why = "it changes while it answers"
    elif generators_digest(own) != standing:
        why = "it draws random numbers by itself"
    else:
        return
    raise AgentError(f"agent {agent.name!r} cannot be tested as it is: {why}. {ADVICE}")


def _answers(agent: Agent, observations: Sequence[Any], batches: Sequence[Sequence[int]]) -> dict[int, Any]:
    """The action for each place; every place has the same random stream whenever it is asked."""
    found: dict[int, Any] = {}
    for batch in batches:
        answer = agent.act(
            [observations[place] for place in batch],
            [None] * len(batch),
            [generator("steadiness", place) for place in batch],
            [None] * len(batch),
        )
        found |= dict(zip(batch, unshared_actions(answer.actions), strict=True))
    return found
