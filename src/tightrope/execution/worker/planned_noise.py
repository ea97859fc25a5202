"""All random actions of many rollouts at once: what their streams would give, asked step by step.

Where an agent's only chance is epsilon, what it draws does not hang on what it sees. Each step draws one number of 64
bits; a random action draws half of one more, and the other half is kept for the next random action.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.agents.behaviour import replaced_by_noise

HALF = 32
LOW = (1 << HALF) - 1
SPARE = 8
"""Numbers drawn beyond those that are expected to be used."""


def planned_noise(
    streams: Sequence[np.random.Generator], epsilon: float, actions: int, steps: Sequence[int]
) -> NDArray[np.int32]:
    """By rollout and step, the place of the random action among so many, or -1 where the agent decides.

    Streams are new, and of PCG64; they stand anywhere afterwards.
    """
    longest = max(steps)
    drawn = longest + min(longest, ceil(epsilon * longest)) + SPARE
    raw = np.stack([stream.bit_generator.random_raw(drawn) for stream in streams])
    noise = np.full((len(streams), longest), -1, dtype=np.int32)
    # The upper 53 bits are the fraction that is compared with epsilon.
    places, found = np.nonzero((raw >> np.uint64(11)) < np.uint64(ceil(epsilon * 2.0**53)))
    cuts = np.searchsorted(places, np.arange(len(streams) + 1)).tolist()
    for place, stream in enumerate(streams):
        noisy = found[cuts[place] : cuts[place + 1]].tolist()
        if noisy and not _read(raw[place], noisy, actions, steps[place], noise[place]):
            stream.bit_generator.advance(-drawn)  # type: ignore[attr-defined]
            noise[place] = -1
            _ask_step_by_step(stream, epsilon, actions, steps[place], noise[place])
    return noise


def _read(raw: NDArray[np.uint64], noisy: Sequence[int], actions: int, steps: int, noise: NDArray[np.int32]) -> bool:
    """Fill in one rollout's noise; False when its numbers do not suffice."""
    halves = _Halves(raw)
    for index in noisy:
        if index < halves.next:
            continue  # a number that was used for an action
        step = index - halves.used
        if step >= steps:
            break
        halves.next = index + 1
        try:
            noise[step] = _below(halves, actions)
        except IndexError:
            return False
    return steps + halves.used <= len(raw)


class _Halves:
    """Hands out halves of numbers, the lower one first, as NumPy's PCG64 does."""

    def __init__(self, raw: NDArray[np.uint64]) -> None:
        self._raw = raw
        self._kept: int | None = None
        self.next = self.used = 0

    def take(self) -> int:
        half = self._kept
        if half is not None:
            self._kept = None
            return half
        number = int(self._raw[self.next])
        self.next += 1
        self.used += 1
        self._kept = number >> HALF
        return number & LOW


def _below(halves: _Halves, actions: int) -> int:
    """A whole number below ``actions``, by Lemire's method, as NumPy draws it."""
    if actions == 1:
        return 0
    product = halves.take() * actions
    if product & LOW < actions:
        threshold = (LOW + 1 - actions) % actions
        while product & LOW < threshold:
            product = halves.take() * actions
    return product >> HALF


def _ask_step_by_step(stream: Any, epsilon: float, actions: int, steps: int, noise: NDArray[np.int32]) -> None:
    for step in range(steps):
        if replaced_by_noise(epsilon, stream):
            noise[step] = stream.integers(actions)
