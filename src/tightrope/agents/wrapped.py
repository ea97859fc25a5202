"""An agent with something between it and its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.preferences import Preferences, preferences_of
from tightrope.display import Shown
from tightrope.trace import Action

Streams: TypeAlias = Sequence[np.random.Generator | None]
"""The random streams of the episodes of a batch."""


class WrappedAgent(Shown):
    """Asks an agent, and changes what it sees or what it does by the episodes' own random streams."""

    deterministic = False

    def __init__(self, agent: Agent, name: str, fingerprint: str) -> None:
        self.agent, self.name, self.fingerprint = agent, name, fingerprint
        self.recurrent = agent.recurrent

    def act(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Streams, masks: Sequence[Any]
    ) -> Answer:
        """The agent's answers to what it is shown, changed."""
        answer = self.agent.act(self._seen(observations, generators), memories, generators, masks)
        return Answer(self._done(answer.actions, generators, masks), answer.memories)

    def _seen(self, observations: Sequence[Any], generators: Streams) -> Sequence[Any]:
        """What the agent is shown."""
        return observations

    def _done(self, actions: Sequence[Action], generators: Streams, masks: Sequence[Any]) -> Sequence[Action]:
        """What is done when the agent answers so."""
        return actions


class StandIn(Shown):
    """An agent that answers for another one as that would itself; the fingerprint stays, since it is the same agent."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent, self.name, self.fingerprint = agent, name, agent.fingerprint
        self.deterministic, self.recurrent = agent.deterministic, agent.recurrent

    def act(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Streams, masks: Sequence[Any]
    ) -> Answer:
        """Ask the agent."""
        return self.agent.act(observations, memories, generators, masks)

    def preferences(
        self, observations: Sequence[Any], memories: Sequence[Any], masks: Sequence[Any]
    ) -> list[Preferences | None]:
        """What the agent wants, where it can say."""
        return [preferences_of(self.agent, *each) for each in zip(observations, memories, masks, strict=True)]


class NamedAgent(StandIn):
    """A complete agent under another name."""

    _shown = ("name", "agent")
