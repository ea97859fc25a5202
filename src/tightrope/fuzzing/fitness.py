"""How good a trace is: what it newly covers, what it earns, what it loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import EnvironmentFailure
from tightrope.execution import EpisodeError
from tightrope.outcome import Outcome
from tightrope.trace import ActionTrace

Keys: TypeAlias = NDArray[np.uint64]
NO_KEYS: Keys = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Played:
    """What happened when one individual was executed."""

    trace: ActionTrace
    """What was played, cut where the episode ended; it replays."""
    rewards: tuple[float, ...] = field(repr=False)
    keys: Keys = field(repr=False)
    """Hashed state keys s0 … sn, in order."""
    outcome: Outcome
    error: EpisodeError | None = None
    """What went wrong, when the environment or the agent raised."""

    @cached_property
    def positive(self) -> float:
        """Sum of the positive rewards."""
        return float(sum(reward for reward in self.rewards if not reward < 0))

    @cached_property
    def negative(self) -> float:
        """Sum of the negative rewards: 0 or less."""
        return float(sum(reward for reward in self.rewards if reward < 0))

    @cached_property
    def total_return(self) -> float:
        """Sum of all rewards."""
        return float(sum(self.rewards))

    @property
    def steps(self) -> int:
        """How many steps were played."""
        return len(self.rewards)


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """The weighted sum and its three terms, raw and normalised by the largest of the generation."""

    value: float
    coverage: float
    """``new_keys`` over the largest of the generation."""
    positive: float
    """``positive_reward`` over the largest of the generation."""
    negative: float
    """1 minus the size of ``negative_reward`` over the largest of the generation: 1 where nothing was lost."""
    new_keys: int
    """State keys this trace visited and no earlier population did."""
    positive_reward: float
    negative_reward: float


def newly_covered(keys: Keys, covered: Keys) -> int:
    """How many distinct keys are not in ``covered``, which is sorted."""
    distinct = np.unique(keys)
    if covered.size == 0:
        return int(distinct.size)
    places = np.minimum(np.searchsorted(covered, distinct), covered.size - 1)
    return int(np.count_nonzero(covered[places] != distinct))


def grown(covered: Keys, plays: Sequence[Played]) -> Keys:
    """The covered keys, sorted, with those that were met."""
    return np.unique(np.concatenate([covered, *(played.keys for played in plays)]))


def score(plays: Sequence[Played], covered: Keys, weights: tuple[float, float, float]) -> tuple[Fitness, ...]:
    """The fitness of each member of one generation; ``covered`` holds the keys of all earlier populations.

    A divisor of 0 makes its quotient 0. An individual whose execution raised has fitness 0, so that it is chosen as a
    parent only when there is no other.
    """
    new = np.array([newly_covered(played.keys, covered) for played in plays], dtype=np.float64)
    positive = np.array([played.positive for played in plays])
    negative = np.array([played.negative for played in plays])
    if not np.all(np.isfinite(positive + negative)):
        raise EnvironmentFailure(
            f"task {plays[0].trace.task}: fitness needs rewards that are finite numbers, also when added up; the "
            f"environment gave NaN or infinity, or numbers whose sum is"
        )
    terms = np.stack([_over_largest(new), _over_largest(positive), 1.0 - _over_largest(-negative)], axis=1)
    values = terms @ np.asarray(weights, dtype=np.float64)
    return tuple(
        Fitness(
            value=0.0 if played.error else float(value),
            coverage=float(term[0]),
            positive=float(term[1]),
            negative=float(term[2]),
            new_keys=int(count),
            positive_reward=float(earned),
            negative_reward=float(lost),
        )
        for played, value, term, count, earned, lost in zip(plays, values, terms, new, positive, negative, strict=True)
    )


def _over_largest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = values.max(initial=0.0)
    return values / largest if largest > 0 else np.zeros_like(values)
