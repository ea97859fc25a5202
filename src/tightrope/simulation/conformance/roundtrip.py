"""The round trip: save, wander off, put back, and everything that follows must equal a fresh replay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.seeding import derive_seed, generator
from tightrope.simulation.conformance.recordings import longest
from tightrope.simulation.conformance.trial_walk import Difference, Recording, Walk, compare, step_beside
from tightrope.simulation.snapshot import detached
from tightrope.simulation.snapshots import Snapshotter
from tightrope.tasks.task import Task, Transition

MANY_STEPS = 12
"""From this length on a recording is worth saving at four places, not two."""


def round_trip(
    task: Task, env: Any, snapshotter: type[Snapshotter], recordings: Sequence[Recording]
) -> Difference | None:
    """Save along each recording, wander off, put back and compare; also inside one more wrapper, also when rendered.

    ``env`` is new.
    """
    walk, saver = renewed_walk(task, env, snapshotter)
    difference = _round_trips(walk, saver, recordings)
    if difference is not None:
        return difference
    if walk.renew is not None:
        walk.renew()
    walk, saver = renewed_walk(task, _StepCounter(env), snapshotter, own=env)
    return _round_trips(walk, saver, longest(recordings)[:1])


def renewed_walk(task: Task, env: Any, snapshotter: type[Snapshotter], own: Any = None) -> tuple[Walk, Snapshotter]:
    """A walk of a new environment that is put back as it is now before every seeded reset, as a simulator does."""
    saver = snapshotter(env)
    return Walk(task, env, own, partial(saver.load, saver.save())), saver


def _round_trips(walk: Walk, saver: Snapshotter, recordings: Sequence[Recording]) -> Difference | None:
    for number, recording in enumerate(recordings):
        difference = _one_round_trip(walk, saver, recording, generator("wander", walk.task.label, number))
        if difference is not None:
            return difference
    return None


class _StepCounter(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper with a state of its own, added to see whether wrappers are saved too."""

    counted = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.counted = 0
        return self.env.reset(seed=seed, options=options) if seed is not None else self.env.reset()

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.counted += 1
        return self.env.step(action)


def _one_round_trip(
    walk: Walk, saver: Snapshotter, recording: Recording, rng: np.random.Generator
) -> Difference | None:
    saved = _save_along(walk, saver, recording)
    for number, (depth, payload, transition) in enumerate((*saved, saved[0])):
        _wander(walk, rng, 1 + len(recording.actions_after) // 2, reset=number == 0)
        saver.load(payload)
        walk.transition = transition
        counted = getattr(walk.env, "counted", depth)
        if counted != depth:
            return Difference("the step counter of an added wrapper", depth, str(depth), str(counted))
        difference = compare(recording.moments[depth], walk.moment(at_reset=depth == 0), depth) or walk.follow(
            recording, depth
        )
        if difference is None and number == 0:
            difference = walk.follow_after(recording)
        if difference is not None:
            return difference
    return None


def _save_along(walk: Walk, saver: Snapshotter, recording: Recording) -> list[tuple[int, Any, Transition]]:
    length = len(recording.actions)
    depths = {0, length // 2} if length < MANY_STEPS else {0, length // 3, 2 * length // 3, length - 1}
    saved = []
    walk.reset(recording.seed)
    for depth, action in enumerate(recording.actions):
        if depth in depths:
            saved.append((depth, saver.save(), detached(walk.transition)))
        walk.step(action)
    return saved


def _wander(walk: Walk, rng: np.random.Generator, steps: int, reset: bool) -> None:
    """Go somewhere else, and look at it where the environment can be rendered."""
    moment = walk.moment()
    if reset or moment.over:
        moment = walk.reset(None)
    for _ in range(steps):
        if moment.over:
            break
        moment = walk.step(walk.random_action(rng))
    if walk.env.render_mode in ("rgb_array", "ansi"):
        walk.env.render()


def transfer(
    task: Task, env: Any, other: Any, snapshotter: type[Snapshotter], recordings: Sequence[Recording]
) -> Difference | None:
    """Load what one new instance saved into another, and walk both in turn: neither may disturb the other."""
    here, saver = renewed_walk(task, env, snapshotter)
    there, loader = renewed_walk(task, other, snapshotter)
    for recording in recordings:
        there.reset(derive_seed("elsewhere", recording.seed))
        for depth, payload, transition in _save_along(here, saver, recording):
            saver.load(payload)
            loader.load(payload)
            here.transition = there.transition = transition
            difference = _walk_both(there, here, recording, depth)
            if difference is not None:
                return difference
    return None


def _walk_both(there: Walk, here: Walk, recording: Recording, start: int) -> Difference | None:
    for number in range(start, len(recording.actions)):
        for walk in (there, here):
            difference = step_beside((there, here), walk, recording, number)
            if difference is not None:
                return difference
    return None
