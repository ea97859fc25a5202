"""Tiny agents whose answers are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tightrope.agents.agent import Answer
from tightrope.display import Shown
from tightrope.trace import Action


class ConstantAgent(Shown):
    """Always the same action.

    Args:
        action: The action.
        name: What to call it.
    """

    _shown = ("name", "action")

    deterministic, recurrent = True, False

    def __init__(self, action: Action, name: str = "constant") -> None:
        self.action, self.name, self.fingerprint = action, name, f"constant-{action!r}"

    def act(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Sequence[Any], masks: Sequence[Any]
    ) -> Answer:
        """The action, for each observation."""
        return Answer([self.action] * len(observations), [None] * len(observations))


class FunctionAgent(Shown):
    """``action(observation)`` for each observation.

    Args:
        action: The function.
        name: What to call it.
    """

    _shown = ("name", "action")

    deterministic, recurrent = True, False

    def __init__(self, action: Callable[[Any], Action], name: str = "function") -> None:
        self.action, self.name, self.fingerprint = action, name, f"function-{name}"

    def act(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Sequence[Any], masks: Sequence[Any]
    ) -> Answer:
        """Ask the function for each observation."""
        return Answer([self.action(observation) for observation in observations], [None] * len(observations))


class RandomAgent(Shown):
    """Any of its actions, drawn from the stream of the episode.

    Args:
        actions: What to draw from; a mask has a flag for each.
        name: What to call it.
    """

    _shown = ("name", "actions")

    deterministic, recurrent = False, False

    def __init__(self, actions: Sequence[Action], name: str = "random") -> None:
        self.actions, self.name, self.fingerprint = tuple(actions), name, f"random-{tuple(actions)!r}"

    def act(
        self,
        observations: Sequence[Any],
        memories: Sequence[Any],
        generators: Sequence[np.random.Generator | None],
        masks: Sequence[Any],
    ) -> Answer:
        """One draw per observation."""
        drawn = [self._draw(generator, mask) for generator, mask in zip(generators, masks, strict=True)]
        return Answer(drawn, [None] * len(drawn))

    def _draw(self, generator: np.random.Generator | None, mask: Any) -> Action:
        assert generator is not None
        allowed = [action for index, action in enumerate(self.actions) if mask is None or mask[index]]
        return allowed[int(generator.integers(len(allowed)))]


class CountingAgent(Shown):
    """Plays a fixed list of actions over and over; its memory is how many it has answered in this episode.

    Args:
        actions: The list.
        name: What to call it.
    """

    _shown = ("name", "actions")

    deterministic, recurrent = True, True

    def __init__(self, actions: Sequence[Action], name: str = "counting") -> None:
        self.actions, self.name, self.fingerprint = tuple(actions), name, f"counting-{tuple(actions)!r}"

    def act(
        self, observations: Sequence[Any], memories: Sequence[Any], generators: Sequence[Any], masks: Sequence[Any]
    ) -> Answer:
        """The next action of each episode."""
        counts = [0 if memory is None else memory for memory in memories]
        return Answer([self.actions[count % len(self.actions)] for count in counts], [count + 1 for count in counts])
