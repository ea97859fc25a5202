"""An agent that sees through noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.display import Shown
from tightrope.errors import UsageError
from tightrope.trace import content_id


class BlurredAgent(Shown):
    """The agent, each number of whose observations is off by up to ``noise``, and stays within its space."""

    _shown = ("agent", "noise")

    deterministic = False

    def __init__(self, agent: Agent, noise: float, space: gym.Space[Any]) -> None:
        if not isinstance(space, gym.spaces.Box) or not np.issubdtype(space.dtype, np.floating):
            raise UsageError(f"noise needs observations of real numbers, and these are {space}; leave noise at 0")
        self.agent, self.noise, self._space = agent, noise, space
        self.name = f"{agent.name} seen through noise of {noise:g}"
        self.fingerprint = content_id("blurred", agent.fingerprint, noise)
        self.recurrent = agent.recurrent

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """The agent's answers to what it sees."""
        seen = [self._blurred(each, rng) for each, rng in zip(observations, generators, strict=True)]
        return self.agent.act(seen, memories, generators, masks)

    def _blurred(self, observation: Any, rng: np.random.Generator | None) -> Any:
        if rng is None:
            return observation
        space = self._space
        off = np.asarray(observation) + rng.uniform(-self.noise, self.noise, np.shape(observation))
        return np.clip(off, space.low, space.high).astype(space.dtype)
