"""Whether chance decides anything after reset: the same actions under fresh seeds, on short walks and on deep ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tightrope.errors import EnvironmentFailure, TaskError
from tightrope.seeding import derive_seed, generator
from tightrope.simulation.conformance.deep_walks import DeepWalks, WalkActions
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
    reseeding = _Reseeding(task, method)
    seen = reseeding.first_difference(recordings, SECONDS_OF_RESEEDING, fewest=1)
    if seen is not None:
        return _stochastic(seen)
    found = _walked_deep(task, method, seconds)
    if found is None:
        return Dynamics(deterministic=True, evidence="the environment says that its steps draw nothing")
    reseeding = _Reseeding(task, method)
    seen = reseeding.first_difference(found.ways, seconds, fewest=FEWEST_RESEEDINGS)
    if seen is not None:
        return _stochastic(seen)
    deepest = max(map(len, found.ways), default=0)
    extent = f"in {found.steps:,} steps, at most {deepest:,} in one episode"
    if not found.drew:
        return Dynamics(deterministic=True, evidence=f"nothing was drawn {extent}", note=found.note)
    doubt = "its generators are drawn from" if found.is_seen else "what it draws cannot be seen"
    changed = f"{reseeding.agreed} fresh seeds changed nothing {extent}"
    return Dynamics(deterministic=True, evidence=f"{doubt}, but {changed}", note=found.note)


def _stochastic(seen: Difference) -> Dynamics:
    return Dynamics(deterministic=False, evidence=f"under fresh seeds, {seen.what} differs at step {seen.step}")


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What deep walks came to. Nothing in it holds the environment, as a process may be able to hold only one."""

    ways: list[WalkActions]
    steps: int
    drew: bool
    is_seen: bool
    """Whether the environment shows what it draws."""
    note: str


def _walked_deep(task: Task, method: type[Snapshotter] | None, seconds: float) -> _Found | None:
    """None for an environment that draws nothing by its own word."""
    note = ""
    with opened(task) as env:
        if draws_nothing(env):
            return None
        simulator = Simulator(task, env, None if method is None else method(env), watched=True)
        walks = DeepWalks(simulator, generator("deep", task.label))
        try:
            walks.go(seconds)
        except (EnvironmentFailure, TaskError) as error:
            # No reason to refuse: whoever comes there is told, and most never do.
            note = f"deep into an episode, {error}"
        return _Found(ways=walks.ways, steps=walks.steps, drew=walks.drew, is_seen=shows_its_draws(env), note=note)


class _Reseeding:
    """Plays walks again under fresh seeds, in one environment."""

    def __init__(self, task: Task, method: type[Snapshotter] | None) -> None:
        self._task, self._method = task, method
        self.agreed = 0
        """Fresh seeds under which everything was the same."""

    def first_difference(
        self, walks: Sequence[Recording] | Sequence[WalkActions], seconds: float, *, fewest: int
    ) -> Difference | None:
        """The first one met, or None after as many fresh seeds as there is time for, and no fewer than ``fewest``.

        Ways, which are actions after the task's own reset, are recorded first.
        """
        deadline = time.perf_counter() + seconds
        with opened(self._task) as env:
            walk = self._walk(env)
            recordings = [
                known if isinstance(known, Recording) else walk.record_along(self._task.seed, known) for known in walks
            ]
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

    def _walk(self, env: Any) -> Walk:
        return Walk(self._task, env) if self._method is None else renewed_walk(self._task, env, self._method)[0]
