"""How an agent plays what it has learnt: the best action, one drawn from its distribution, or either with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tightrope.errors import AgentError, AgentFailure, UnavailableAction, UnknownName
from tightrope.settings import AgentConfig, BehaviourName
from tightrope.tasks.spaces import encode_action
from tightrope.trace import Action

BEHAVIOURS = get_args(AgentConfig.settings()["behaviour"].kind)


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """``kind`` is "greedy" or "sampled"; with probability ``epsilon`` a uniformly random action is played instead."""

    kind: BehaviourName = AgentConfig.behaviour
    epsilon: float = AgentConfig.epsilon

    def __post_init__(self) -> None:
        if self.kind not in BEHAVIOURS:
            raise UnknownName("behaviour", self.kind, BEHAVIOURS)
        if not 0.0 <= self.epsilon <= 1.0:
            raise AgentError(f"epsilon is a probability from 0 to 1, not {self.epsilon}")

    @property
    def random(self) -> bool:
        """Whether answers need a random stream."""
        return self.kind == "sampled" or self.epsilon > 0


def stream(generator: np.random.Generator | None, agent: str) -> np.random.Generator:
    """The random stream of one episode, which a random agent cannot do without."""
    if generator is None:
        raise AgentFailure(f"agent {agent!r} draws random numbers and was given no generator for an observation")
    return generator


def replaced_by_noise(epsilon: float, generator: np.random.Generator) -> bool:
    """Whether this step is a random one. Draws once whatever comes out, so that streams stay in step."""
    return bool(generator.random() < epsilon)


def random_action(space: gym.Space[Any], generator: np.random.Generator, mask: Any = None) -> Action:
    """A uniformly random action, of those the mask allows."""
    if isinstance(space, gym.spaces.Discrete):
        allowed = allowed_actions(mask, int(space.n))
        return int(space.start) + int(allowed[generator.integers(len(allowed))])
    if isinstance(space, gym.spaces.MultiDiscrete):
        return encode_action(space, generator.integers(space.nvec) + space.start)
    if isinstance(space, gym.spaces.MultiBinary):
        return encode_action(space, generator.integers(0, 2, space.shape))
    if isinstance(space, gym.spaces.Box) and space.is_bounded():
        return encode_action(space, generator.uniform(space.low, space.high))
    raise AgentError(f"epsilon needs actions that can be drawn uniformly, and {space} cannot; leave epsilon at 0")


def allowed_actions(mask: Any, number: int) -> NDArray[np.intp]:
    """Indices the mask allows; all of them without one."""
    if mask is None:
        return np.arange(number)
    flat = flat_mask(mask)
    if len(flat) != number:
        raise AgentFailure(f'info["action_mask"] has {len(flat)} entries for {number} actions')
    allowed = np.flatnonzero(flat)
    if len(allowed) == 0:
        raise AgentFailure('info["action_mask"] allows no action at all; a task must allow at least one')
    return allowed


def require_available(space: gym.Space[Any], action: Action, mask: Any) -> None:
    """Raise UnavailableAction when the mask rules a Discrete action out."""
    if mask is None or not isinstance(space, gym.spaces.Discrete):
        return
    allowed = allowed_actions(mask, int(space.n)) + int(space.start)
    if action not in allowed:
        raise UnavailableAction(
            f'{action!r} was answered, which is not available here: info["action_mask"] allows {allowed.tolist()}'
        )


def flat_mask(mask: Any) -> NDArray[np.bool_]:
    """A mask as one row of flags (MultiDiscrete masks come as one array per dimension)."""
    parts: Sequence[Any] = mask if isinstance(mask, tuple) else (mask,)
    return np.concatenate([np.ravel(np.asarray(part)) for part in parts]).astype(bool)
