"""An agent some of whose actions are replaced by random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.agents.behaviour import random_action
from tightrope.display import Shown
from tightrope.trace import content_id


class NoisyAgent(Shown):
    """The agent, with a share of its actions replaced: it goes where the agent itself seldom goes."""

    _shown = ("agent", "share")

    deterministic = False

    def __init__(self, agent: Agent, share: float, space: gym.Space[Any]) -> None:
        self.agent, self.share, self._space = agent, share, space
        self.name = f"{agent.name} with {share:.0%} random actions"
        self.fingerprint = content_id("noisy", agent.fingerprint, share)
        self.recurrent = agent.recurrent

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """The agent's answers, some replaced."""
        answer = self.agent.act(observations, memories, generators, masks)
        actions = [
            random_action(self._space, rng, mask) if rng is not None and rng.random() < self.share else action
            for action, rng, mask in zip(answer.actions, generators, masks, strict=True)
        ]
        return Answer(actions, answer.memories)
