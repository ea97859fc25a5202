"""Adaptive multilevel splitting: one unbiased estimate of the chance to fail.

Episodes that stay furthest from harm are replaced by copies of others, begun at the first moment at which those came
closer, with fresh randomness. Each round multiplies the estimate by the share that was kept. Whatever the guide says,
the mean of the estimate is the true probability (Bréhier, Gazeau, Goudenège, Lelièvre, Rousset 2016: all episodes at or
below the level are replaced, ties included, and a copy begins strictly above it).
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


def split(swarm: Swarm, size: int, seed: int, most_steps: float = math.inf) -> Repetition:
    """One repetition with ``size`` episodes; stopped between two rounds by its steps it is as unbiased as any."""
    before = swarm.steps
    paths = swarm.from_resets([derive_seed("risk", seed, number) for number in range(size)])
    plain = sum(path.failed for path in paths)
    rng, kept, rounds = generator("risk copies", seed), 1.0, 0
    killed = max(1, int(KILLED_SHARE * size))
    while rounds < MOST_ROUNDS and swarm.steps - before < most_steps:
        level = sorted(path.top for path in paths)[killed - 1]
        if level == HARM:
            break
        rounds += 1
        low = [place for place, path in enumerate(paths) if path.top <= level]
        high = [path for path in paths if path.top > level]
        kept *= len(high) / size
        if not high:
            break
        for place, copy in zip(low, _copies(swarm, high, low, level, rng, (seed, rounds)), strict=True):
            paths[place] = copy
    failed = [path for path in paths if path.failed]
    return Repetition(
        estimate=kept * len(failed) / size,
        size=size,
        steps=swarm.steps - before,
        rounds=rounds,
        plain_failures=plain,
        roots=len({path.root for path in failed}),
        failures=tuple(path.trace for path in failed if path.trace is not None),
    )


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
