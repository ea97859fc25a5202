"""Adaptive multilevel splitting: one unbiased estimate of the chance to fail.

Episodes that stay furthest from harm are dropped, and others are divided in their place: into parts that each count for
less and go on, with fresh randomness, from the first moment at which the whole came closer. What they count for adds
up to what the whole did, so nothing is left to chance but how they go on. Whatever the guide says, the mean of the
estimate is the true probability (Bréhier, Gazeau, Goudenège, Lelièvre, Rousset 2016: all episodes at or below the level
are dropped, ties included, and a part begins strictly above it).

How far one estimate may be off is told by its own families: what descends from one of the first episodes has the same
mean whatever the others do, and no two of them go together, so their spread tells the variance (see Lee and Whiteley
2018).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightrope.risk.swarm import HARM, DangerLevel, EpisodePath, Swarm
from tightrope.seeding import derive_seed, generator
from tightrope.trace import ActionTrace

KILLED_SHARE = 0.45
"""Of the episodes, dropped in each round. Efficiency hardly depends on it; large enough to fill the lanes."""
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
    """Of the estimate, as its families tell it."""
    levels: tuple[tuple[float, float], ...]
    """Of each round, its danger and the share of all episodes that went beyond."""


def split(swarm: Swarm, size: int, seed: int) -> Repetition:
    """One repetition with ``size`` episodes."""
    before = swarm.steps
    paths = swarm.from_resets([derive_seed("risk", seed, number) for number in range(size)])
    plain = sum(path.failed for path in paths)
    rng = generator("risk copies", seed)
    levels: list[tuple[float, float]] = []
    killed = max(1, int(KILLED_SHARE * size))
    while len(levels) < MOST_ROUNDS and len(paths) == size:
        level = sorted(path.top for path in paths)[killed - 1]
        if level == HARM:
            break
        paths = [path for path in paths if path.top > level]
        levels.append((level[0], sum(path.counted_above(level) for path in paths) / size))
        parts = _divided(paths, size - len(paths), level, rng)
        swarm.onwards(parts, [derive_seed("risk", seed, len(levels), number) for number in range(len(parts))])
        paths += parts
    families = _families(paths)
    return Repetition(
        estimate=sum(families.values()) / size,
        size=size,
        steps=swarm.steps - before,
        rounds=len(levels),
        plain_failures=plain,
        roots=len(families),
        failures=tuple(path.trace for path in paths if path.trace is not None),
        variance=float(np.var([*families.values(), *[0.0] * (size - len(families))], ddof=1)) / size,
        levels=tuple(levels),
    )


def _families(paths: Sequence[EpisodePath]) -> dict[int, float]:
    """How much failed, by the first episode that it descends from."""
    found: dict[int, float] = {}
    for path in paths:
        if path.failed:
            found[path.root] = found.get(path.root, 0.0) + path.share * path.weight
    return found


def _divided(
    high: Sequence[EpisodePath], count: int, level: DangerLevel, rng: np.random.Generator
) -> list[EpisodePath]:
    """New parts of the episodes that came above the level, to be played on from where they first did.

    The one that counts for most is divided first, again and again; nothing about how it went on from the level is
    asked, else the mean would change. One that failed right there is left whole: its parts would all be the same.
    """
    heap = [
        (-path.counted_above(level), rng.random(), place) for place, path in enumerate(high) if path.mark_above(level)
    ]
    if not heap:
        return []
    heapq.heapify(heap)
    into = [1] * len(high)
    for _ in range(count):
        _, chance, place = heap[0]
        into[place] += 1
        heapq.heapreplace(heap, (-high[place].counted_above(level) / into[place], chance, place))
    for path, parts in zip(high, into, strict=True):
        path.share /= parts
    return [path.above(level) for path, parts in zip(high, into, strict=True) for _ in range(parts - 1)]
