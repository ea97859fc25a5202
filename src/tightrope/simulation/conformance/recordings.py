"""Recording random walks: as many and as long as a check has time for."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from tightrope.seeding import derive_seed, generator
from tightrope.simulation.conformance.trial_walk import Recording, Walk

FEWEST_RECORDINGS, MOST_RECORDINGS = 2, 24
SECONDS_PER_PASS = 0.1
"""A pass walks all recordings once; a check makes about ten."""
FEWEST_STEPS, MOST_STEPS = 4, 150
"""Length of a recording."""
FEWEST_ASIDE, MOST_ASIDE = 2, 8
"""Steps after an unseeded reset, and steps to wander off before a restore."""


def record_walks(walk: Walk) -> list[Recording]:
    """As many recordings as fit the time a pass may take."""
    task = walk.task
    steps = int(np.clip(SECONDS_PER_PASS / FEWEST_RECORDINGS / _seconds_per_step(walk), FEWEST_STEPS, MOST_STEPS))
    aside = int(np.clip(steps // 4, FEWEST_ASIDE, MOST_ASIDE))
    recordings: list[Recording] = []
    started = time.perf_counter()
    while len(recordings) < MOST_RECORDINGS:
        number, seconds = len(recordings), time.perf_counter() - started
        if number >= FEWEST_RECORDINGS and seconds > SECONDS_PER_PASS:
            break
        seed = derive_seed("conformance", number) if number else task.seed
        recordings.append(walk.record(seed, generator("walk", task.label, number), steps, aside))
    return recordings


def _seconds_per_step(walk: Walk) -> float:
    rng, moment, seconds = generator("trial", walk.task.label), walk.reset(walk.task.seed), []
    for _ in range(FEWEST_STEPS):
        if moment.over:
            moment = walk.reset(None)
        before = walk.seconds
        moment = walk.step(walk.random_action(rng))
        seconds.append(walk.seconds - before)
    return float(np.median(seconds))


def longest(recordings: Sequence[Recording]) -> list[Recording]:
    """Those worth repeating: the longest, and two more where they are quick."""
    ordered = sorted(recordings, key=lambda recording: -len(recording.actions))
    return ordered[:3] if len(ordered) > FEWEST_RECORDINGS else ordered[:1]
