"""Adaptive multilevel splitting: one unbiased estimate of the chance to fail.

Episodes that stay furthest from harm are replaced by copies of others, begun at the first moment at which those came
closer, with fresh randomness. Each round multiplies the estimate by the share that was kept. Whatever the guide says,
the mean of the estimate is the true probability (Bréhier, Gazeau, Goudenège, Lelièvre, Rousset 2016: all episodes at or
below the level are replaced, ties included, and a copy begins strictly above it).

How far one estimate may be off is told by its own family tree: two episodes with no common ancestor are as good as
independent, so the products of their weights estimate the square of the probability (Lee and Whiteley 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.risk.swarm import HARM, Level, Path, Swarm
from tightrope.seeding import derive_seed, generator
from tightrope.trace import ActionTrace

KILLED_SHARE = 0.3
"""Of the episodes, replaced in each round. Efficiency hardly depends on it; large enough to fill the lanes."""
MOST_ROUNDS = 400
"""A probability below 0.7⁴⁰⁰ is no number anybody asks for: the guide then drifts instead of leading to harm."""


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """One run of splitting."""

    estimate: float
    size: int
    steps: int
    rounds: int
    plain_failures: int
    """Of the first episodes, before anything was replaced: a plain Monte Carlo sample."""
    roots: int
    """How many of the first episodes the failures descend from."""
    failures: tuple[ActionTrace, ...]
    variance: float
    """Of the estimate, as its family tree tells it."""
    levels: tuple[tuple[float, float], ...]
    """Of each round, its danger and the share of all episodes that went beyond."""


def split(swarm: Swarm, size: int, seed: int, most_steps: float = math.inf) -> Repetition:
    """One repetition with ``size`` episodes; stopped between two rounds by its steps it is as unbiased as any."""
    before = swarm.steps
    paths = swarm.from_resets([derive_seed("risk", seed, number) for number in range(size)])
    plain = sum(path.failed for path in paths)
    rng, kept, pairs = generator("risk copies", seed), 1.0, 1.0
    levels: list[tuple[float, float]] = []
    killed = max(1, int(KILLED_SHARE * size))
    while len(levels) < MOST_ROUNDS and swarm.steps - before < most_steps:
        level = sorted(path.top for path in paths)[killed - 1]
        if level == HARM:
            break
        low = [place for place, path in enumerate(paths) if path.top <= level]
        high = [path for path in paths if path.top > level]
        kept *= len(high) / size
        pairs *= _pairs_kept(len(high), size)
        levels.append((level[0], kept))
        if not high:
            break
        for place, copy in zip(low, _copies(swarm, high, low, level, rng, (seed, len(levels))), strict=True):
            paths[place] = copy
    failed = [path for path in paths if path.failed]
    estimate = kept * sum(path.weight for path in failed) / size
    return Repetition(
        estimate=estimate,
        size=size,
        steps=swarm.steps - before,
        rounds=len(levels),
        plain_failures=plain,
        roots=len({path.root for path in failed}),
        failures=tuple(path.trace for path in failed if path.trace is not None),
        variance=max(0.0, estimate**2 - pairs * _unrelated(failed) / (size * (size - 1))),
        levels=tuple(levels),
    )


def _pairs_kept(high: int, size: int) -> float:
    """Of all pairs of episodes, those that both went beyond, over those among the next ones with different parents."""
    if high < 2:
        return 0.0
    more, once_more = divmod(size - high, high)
    siblings = once_more * (more + 2) * (more + 1) + (high - once_more) * (more + 1) * more
    return high * (high - 1) / (size * (size - 1) - siblings)


def _unrelated(failed: Sequence[Path]) -> float:
    """The product of the weights, summed over all pairs with no common ancestor."""
    families: dict[int, float] = {}
    for path in failed:
        families[path.root] = families.get(path.root, 0.0) + path.weight
    return sum(families.values()) ** 2 - sum(weight**2 for weight in families.values())


def _copies(
    swarm: Swarm,
    high: Sequence[Path],
    low: Sequence[int],
    level: Level,
    rng: np.random.Generator,
    round_seed: tuple[int, int],
) -> list[Path]:
    """For each place among the low, a copy of one of the high, played on from where it first was above the level."""
    # Each of the high is copied as often as any other, up to one: the same mean as drawing at random, less chance.
    order = rng.permutation(len(high))
    copies = [high[order[place % len(high)]].above(level) for place in range(len(low))]
    seeds = [derive_seed("risk", *round_seed, place) for place in low]
    open_ended = [(copy, seed) for copy, seed in zip(copies, seeds, strict=True) if not copy.failed]
    swarm.onwards([copy for copy, _ in open_ended], [seed for _, seed in open_ended])
    return copies
