"""An agent that sees through noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent
from tightrope.agents.wrapped import Streams, WrappedAgent
from tightrope.errors import UsageError
from tightrope.trace import content_id


class BlurredAgent(WrappedAgent):
    """The agent, each number of whose observations is off by up to ``noise``, and stays within its space."""

    _shown = ("agent", "noise")

    def __init__(self, agent: Agent, noise: float, space: gym.Space[Any]) -> None:
        if not isinstance(space, gym.spaces.Box) or not np.issubdtype(space.dtype, np.floating):
            raise UsageError(f"noise needs observations of real numbers, and these are {space}; leave noise at 0")
        self.noise, self._space = noise, space
        name = f"{agent.name} seen through noise of {noise:g}"
        super().__init__(agent, name, content_id("blurred", agent.fingerprint, noise))

    def _seen(self, observations: Sequence[Any], generators: Streams) -> list[Any]:
        return [self._blurred(each, rng) for each, rng in zip(observations, generators, strict=True)]

    def _blurred(self, observation: Any, rng: np.random.Generator | None) -> Any:
        if rng is None:
            return observation
        space = self._space
        off = np.asarray(observation) + rng.uniform(-self.noise, self.noise, np.shape(observation))
        return np.clip(off, space.low, space.high).astype(space.dtype)
