"""Pictures that were met before: what a network said to them is remembered, by their content.

Suites come back to the same situations again and again, and other ways lead to the same picture: in suites on an NES
game a network was asked about each one two to three times. It is a function of its input, so it need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.networks.batch_invariance import Arrays

LEAST_NUMBERS = 1024
"""Of an observation that is worth it: a picture's network takes far longer than telling the picture from others, and
one for a few numbers does not."""
MOST_KEPT = 50_000
"""Answers, of some 300 bytes each; the oldest go first."""
TRIED, LEAST_SHARE = 2_000, 0.1
"""After so many observations at least this share must have been met before, or remembering stops: it is no use where
no picture comes twice (noise on the screen, a clock in it)."""
DIGEST_BYTES = 16
"""Enough that two different pictures never share a digest."""


def worth_remembering(space: gym.Space[Any]) -> bool:
    """Whether observations are pictures, or as large as some."""
    return isinstance(space, gym.spaces.Box) and int(np.prod(space.shape)) >= LEAST_NUMBERS


def content_of(observation: Any) -> bytes:
    """What tells an observation from others; one that is drawn only when looked at may know without (``content``)."""
    told = getattr(observation, "content", None)
    if told is not None:
        return told()  # type: ignore[no-any-return]
    return blake2b(np.ascontiguousarray(observation).data, digest_size=DIGEST_BYTES).digest()


class Recollection:
    """What one network has said, by the content of what it was asked about."""

    def __init__(self) -> None:
        self._known: dict[bytes, Arrays] = {}
        self.asked = self.recalled = 0
        """Observations, and those among them that the network was spared."""

    @property
    def helps(self) -> bool:
        """Whether it is worth going on."""
        return self.asked < TRIED or self.recalled >= LEAST_SHARE * self.asked

    def answers(self, observations: Sequence[Any], ask: Callable[[Sequence[Any]], Arrays]) -> Arrays:
        """What the network says to each; ``ask`` is asked about those that are new, in one batch."""
        contents = [content_of(observation) for observation in observations]
        new = {
            content: observation
            for content, observation in zip(contents, observations, strict=True)
            if content not in self._known
        }
        self.asked += len(observations)
        self.recalled += len(observations) - len(new)
        if new:
            said = ask([*new.values()])
            for row, content in enumerate(new):
                self._known[content] = tuple(part[row].copy() for part in said)
        found = [self._known[content] for content in contents]
        while len(self._known) > MOST_KEPT:
            del self._known[next(iter(self._known))]
        return tuple(np.stack(column) for column in zip(*found, strict=True))
