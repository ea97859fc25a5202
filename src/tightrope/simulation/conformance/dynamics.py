"""Whether chance decides anything after reset: the same actions under fresh seeds, on short walks and on deep ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tightrope.errors import EnvironmentFailure
from tightrope.seeding import derive_seed, generator
from tightrope.simulation.conformance.deep_walks import DeepWalks
from tightrope.simulation.conformance.reproducing import opened
from tightrope.simulation.conformance.roundtrip import renewed_walk
from tightrope.simulation.conformance.trial_walk import Difference, Recording, Walk
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import Snapshotter, canonical_reseed, draws_nothing, shows_its_draws
from tightrope.tasks.task import Task

SECONDS_OF_RESEEDING = 0.4
FEWEST_RESEEDINGS, MOST_RESEEDINGS = 3, 24
"""How long and how often a task must behave the same under fresh randomness before it counts as deterministic."""


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """The verdict and what it rests on."""

    deterministic: bool
    evidence: str
    note: str = ""
    """What else was met on the way."""


def examine_dynamics(
    task: Task, method: type[Snapshotter] | None, recordings: Sequence[Recording], seconds: float
) -> Dynamics:
    """Set the generators anew after reset, again and again: on the recordings, then on walks that go deeper.

    ``seconds``: what finding the deeper ones may take, and playing them again.
    """
    seen = _Reseeding(task, method).first_difference(recordings, SECONDS_OF_RESEEDING, fewest=1)
    if seen is not None:
        return _stochastic(seen)
    with opened(task) as env:
        if draws_nothing(env):
            return Dynamics(deterministic=True, evidence="the environment says that its steps draw nothing")
        is_seen = shows_its_draws(env)
        walks, note = _walk_deep(task, env, method, seconds)
    reseeding = _Reseeding(task, method)
    deep = [reseeding.record(way) for way in walks.ways]
    seen = reseeding.first_difference(deep, seconds, fewest=FEWEST_RESEEDINGS)
    if seen is not None:
        return _stochastic(seen)
    extent = f"in {walks.steps:,} steps, at most {walks.deepest:,} in one episode"
    if not walks.drew:
        return Dynamics(deterministic=True, evidence=f"nothing was drawn {extent}", note=note)
    doubt = "its generators are drawn from" if is_seen else "what it draws cannot be seen"
    changed = f"{reseeding.agreed} fresh seeds changed nothing {extent}"
    return Dynamics(deterministic=True, evidence=f"{doubt}, but {changed}", note=note)


def _stochastic(seen: Difference) -> Dynamics:
    return Dynamics(deterministic=False, evidence=f"under fresh seeds, {seen.what} differs at step {seen.step}")


def _walk_deep(task: Task, env: Any, method: type[Snapshotter] | None, seconds: float) -> tuple[DeepWalks, str]:
    simulator = Simulator(task, env, None if method is None else method(env), watched=True)
    walks = DeepWalks(simulator, generator("deep", task.label))
    try:
        walks.go(seconds)
    except EnvironmentFailure as error:
        # No reason to refuse: whoever comes there is told, and most never do.
        return walks, f"deep into an episode, {error}"
    return walks, ""


class _Reseeding:
    """Plays recordings again under fresh seeds, in one environment."""

    def __init__(self, task: Task, method: type[Snapshotter] | None) -> None:
        self._task, self._method = task, method
        self.agreed = 0
        """Fresh seeds under which everything was the same."""

    def first_difference(self, recordings: Sequence[Recording], seconds: float, *, fewest: int) -> Difference | None:
        """The first one met, or None after as many fresh seeds as there is time for, and no fewer than ``fewest``."""
        deadline = time.perf_counter() + seconds
        with opened(self._task) as env:
            walk = self._walk(env)
            reseed = canonical_reseed(env)
            for attempt in range(MOST_RESEEDINGS):
                for recording in recordings:
                    walk.reset(recording.seed)
                    reseed(derive_seed("deterministic?", recording.seed, attempt))
                    difference = walk.follow(recording)
                    if difference is not None:
                        return difference
                self.agreed += 1
                if time.perf_counter() > deadline and self.agreed >= fewest:
                    break
        return None

    def record(self, way: Sequence[Any]) -> Recording:
        """What is seen along these actions after the task's own reset."""
        with opened(self._task) as env:
            return self._walk(env).record_along(self._task.seed, way)

    def _walk(self, env: Any) -> Walk:
        return Walk(self._task, env) if self._method is None else renewed_walk(self._task, env, self._method)[0]
