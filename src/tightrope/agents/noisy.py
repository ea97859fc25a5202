"""An agent some of whose actions are replaced by random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from tightrope.agents.agent import Agent
from tightrope.agents.behaviour import random_action
from tightrope.agents.wrapped import Streams, WrappedAgent
from tightrope.trace import Action, content_id


class NoisyAgent(WrappedAgent):
    """The agent, with a share of its actions replaced: it goes where the agent itself seldom goes."""

    _shown = ("agent", "share")

    def __init__(self, agent: Agent, share: float, space: gym.Space[Any]) -> None:
        self.share, self._space = share, space
        name = f"{agent.name} with {share:.0%} random actions"
        super().__init__(agent, name, content_id("noisy", agent.fingerprint, share))

    def _done(self, actions: Sequence[Action], generators: Streams, masks: Sequence[Any]) -> list[Action]:
        return [
            random_action(self._space, rng, mask) if rng is not None and rng.random() < self.share else action
            for action, rng, mask in zip(actions, generators, masks, strict=True)
        ]
