"""Agents whose actions are not the task's: checked by name, and translated where they are a part of the task's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.behaviour import flat_mask
from tightrope.agents.preferences import Preferences, preferences_of
from tightrope.agents.spaces import TaskSpaces
from tightrope.agents.wrapped import StandIn
from tightrope.display import Shown
from tightrope.errors import AgentError, UnknownName
from tightrope.trace import Action, content_id


class TranslatedAgent(Shown):
    """An agent whose action ``i`` is the environment's action ``mapping[i]``."""

    _shown = ("agent", "mapping", "fingerprint")

    def __init__(self, agent: Agent, mapping: Sequence[Action]) -> None:
        self.agent, self.mapping = agent, tuple(mapping)
        self.name = agent.name
        self.fingerprint = content_id(agent.fingerprint, self.mapping)
        self.deterministic, self.recurrent = agent.deterministic, agent.recurrent

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """Ask the agent and translate what it says."""
        answer = self.agent.act(observations, memories, generators, [self.own_mask(mask) for mask in masks])
        return Answer([self._theirs(action) for action in answer.actions], answer.memories)

    def preferences(
        self, observations: Sequence[Any], memories: Sequence[Any], masks: Sequence[Any]
    ) -> list[Preferences | None]:
        """What the agent wants, by the task's actions."""
        asked = zip(observations, memories, map(self.own_mask, masks), strict=True)
        return [self._translated(preferences_of(self.agent, *each)) for each in asked]

    def _translated(self, wanted: Preferences | None) -> Preferences | None:
        if wanted is None:
            return None
        return replace(wanted, by_action={self._theirs(own): number for own, number in wanted.by_action.items()})

    def _theirs(self, own: Action) -> Action:
        """The environment's action for one of the agent's own, which are numbers: only these are translated."""
        assert not isinstance(own, tuple)
        return self.mapping[int(own)]

    def own_mask(self, mask: Any) -> Any:
        """What a mask of the task's actions says of the agent's own."""
        return None if mask is None else flat_mask(mask)[np.array(self.mapping, dtype=np.intp)]

    def __repr__(self) -> str:
        return f"TranslatedAgent({self.agent!r}, {self.mapping})"


def own_actions(agent: Agent) -> tuple[Action, ...] | None:
    """The task's actions that an agent can take; None for all of them."""
    if isinstance(agent, StandIn):
        return own_actions(agent.agent)
    return agent.mapping if isinstance(agent, TranslatedAgent) else None


def arithmetic_of(agent: Agent) -> str:
    """What an agent's file says of the numbers it reckons in; empty: they are those of its training."""
    inner = agent.agent if isinstance(agent, StandIn | TranslatedAgent) else agent
    return arithmetic_of(inner) if inner is not agent else getattr(agent, "arithmetic", "")


def declared_actions(metadata: Mapping[str, str], spaces: TaskSpaces) -> tuple[str, ...] | None:
    """The action names an agent file says it was trained with; None when it says nothing."""
    if metadata.get("action_names"):
        return tuple(name.strip() for name in metadata["action_names"].split(","))
    declared = metadata.get("actions")
    if not declared or spaces.action_names is None:
        return None
    if declared in spaces.action_sets:
        return spaces.action_sets[declared]
    if spaces.action_sets:
        raise UnknownName(f"set of actions of {spaces.task}", declared, spaces.action_sets)
    return None


def translation(own: Sequence[str] | None, spaces: TaskSpaces) -> tuple[int, ...] | None:
    """For each of the agent's actions, the task's; None when they are the same or nothing is known."""
    names = spaces.action_names
    if own is None or names is None or tuple(own) == names:
        return None
    missing = [name for name in own if name not in names]
    if missing:
        raise AgentError(
            f"the agent was trained with the actions {list(own)}, and task {spaces.task} offers {list(names)}: "
            f"{missing} cannot be played. Make the task with the agent's actions"
        )
    return tuple(names.index(name) for name in own)


def own_spaces(own: Sequence[str], spaces: TaskSpaces) -> TaskSpaces:
    """The task as an agent with its own actions sees it."""
    return TaskSpaces(
        task=spaces.task,
        observation=spaces.observation,
        action=gym.spaces.Discrete(len(own)),
        action_names=tuple(own),
        options=spaces.options,
    )
