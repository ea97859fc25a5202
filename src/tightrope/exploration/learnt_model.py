"""A model of a small task, counted from what was seen, and the policy that survives longest in it.

The model decides nothing: how well its policy does is measured in the environment. So it may be wrong, and its keys may
throw away what they like.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tightrope.exploration.policies import ByTable
from tightrope.outcome import Outcome
from tightrope.trace import Action

MOST_KEYS = 4096
"""With more situations than this, what was seen of each is too little to learn from."""
FEWEST_VISITS = 4
"""Steps seen from a situation, on average, below which nothing is learnt."""

Floats = NDArray[np.float64]


@dataclass
class Transitions:
    """What followed which action in which situation, and how often."""

    counts: dict[tuple[Hashable, Action], Counter[Hashable]] = field(default_factory=lambda: defaultdict(Counter))
    """By state key and action: the next keys, or the outcome the episode ended with."""

    def add(self, key: Hashable, action: Action, target: Hashable) -> None:
        """Count one step."""
        self.counts[key, action][target] += 1

    def update(self, other: Transitions) -> None:
        """Take over what somebody else has seen."""
        for source, targets in other.counts.items():
            self.counts[source].update(targets)

    @property
    def steps(self) -> int:
        """How many were counted."""
        return sum(targets.total() for targets in self.counts.values())

    @property
    def learnable(self) -> bool:
        """Whether there are few enough situations, each seen often enough."""
        keys = len({key for key, _ in self.counts})
        return 0 < keys <= MOST_KEYS and self.steps >= FEWEST_VISITS * keys


def safest_policy(seen: Transitions, length: int, curiosity: float = 0.0) -> ByTable:
    """The policy that, by value iteration over ``length`` steps, survives most often in the counted model.

    What was never tried counts as harm, and every action as if it had done harm once more than it was seen to: of two
    that look alike the better known one is taken.
    """
    model = _Arrays(seen)
    values = np.ones(model.states)
    choices = np.empty((length, model.known), dtype=np.int64)
    for left in range(length):
        worth = model.worth(values)
        choices[left] = worth.argmax(axis=1)
        values[: model.known] = worth.max(axis=1)
        values[model.known : model.states - 2] = 0.0
    table = {key: tuple(model.actions[choice] for choice in choices[:, row]) for key, row in model.rows.items()}
    return ByTable("a policy learnt by value iteration", table, curiosity)


class _Arrays:
    """The counted model as arrays: known situations, then those only seen as targets, then safe and unsafe ends."""

    def __init__(self, seen: Transitions) -> None:
        self.rows = _numbered(key for key, _ in seen.counts)
        self.known = len(self.rows)
        places = dict(self.rows)
        for targets in seen.counts.values():
            for target in targets:
                if not isinstance(target, Outcome):
                    places.setdefault(target, len(places))
        self.states = len(places) + 2
        ends = dict.fromkeys(Outcome, self.states - 2) | {Outcome.UNSAFE: self.states - 1}
        numbers = _numbered(action for _, action in seen.counts)
        self.actions = tuple(numbers)
        entries = [
            (self.rows[key] * len(numbers) + numbers[action], ends[target] if target in ends else places[target], count)
            for (key, action), targets in seen.counts.items()
            for target, count in targets.items()
        ]
        self._pairs, self._targets, counts = (np.array(column) for column in zip(*entries, strict=True))
        self._counts = counts.astype(np.float64)
        self._tried = self._summed(self._counts)

    def worth(self, values: Floats) -> Floats:
        """How often each action survives, where so much is known of what comes after: situations × actions."""
        ends = values.copy()
        ends[-2], ends[-1] = 1.0, 0.0
        survived = self._summed(self._counts * ends[self._targets])
        return (survived / (self._tried + 1.0)).reshape(self.known, len(self.actions))

    def _summed(self, weights: Floats) -> Floats:
        sums: Floats = np.bincount(self._pairs, weights, self.known * len(self.actions)).astype(np.float64)
        return sums


def _numbered(values: Iterable[Hashable]) -> dict[Hashable, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}
