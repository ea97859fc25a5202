"""Replaying: the same seed and actions must lead to the same place, or the environment is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import EnvironmentFailure, NotReproducible, TaskError
from tightrope.simulation.conformance.recordings import record_walks
from tightrope.simulation.conformance.trial_walk import Difference, FreshWalk, Recording, Walk, step_beside
from tightrope.tasks.task import Task


def require_open_start(walk: Walk) -> None:
    """Refuse a task whose start counts as solved or lost: every first action is, and the environment just goes on."""
    task, roles = walk.task, set[str]()
    walk.reset(task.seed)
    for action in walk.available_actions():
        walk.reset(task.seed)
        facts = walk.step(action).facts
        roles |= {role for role in ("unsafe", "goal") if facts[role]} or {"open"}
        if len(roles) > 1 or "open" in roles or facts["terminated"] or facts["truncated"]:
            return
    (role,) = roles
    raise TaskError(
        f"task {task.label}: {role}(transition) is true after the first step from reset(seed={task.seed}), whichever "
        f"action it is, though the environment goes on; so no test would mean anything. Correct {role}, or choose "
        f"another "
        f"seed"
    )


@dataclass(frozen=True, kw_only=True)
class ReplayedWalks:
    """Recordings that replay, and what was learned on the way."""

    recordings: tuple[Recording, ...]
    steps_per_second: float
    leftovers: str | None
    """What a seeded reset leaves behind, where only a new environment replays."""
    notes: tuple[str, ...]


def replay_walks(task: Task) -> ReplayedWalks:
    """Record walks and replay them on the same and on a new environment; NotReproducible where that fails."""
    with opened(task) as env, _global_randomness() as drawn:
        walk = Walk(task, env)
        require_open_start(walk)
        recordings = record_walks(walk)
        difference = _first_difference([walk], recordings)
        if difference is None:
            try:
                with _second(task, env) as other:
                    walks = [walk, Walk(task, other)]
                    evidence = _evidence(walks, recordings, None, drawn)
                    if other is not env:
                        _require_independence(walks, recordings)
                    return evidence
            except _Differs as seen:
                difference = seen.difference
    fresh = FreshWalk(task)
    try:
        recordings = record_walks(fresh)
        if _first_difference([fresh], recordings) is not None:
            raise NotReproducible(_refusal(task, difference, drawn()))
        return _evidence([fresh], recordings, str(difference), drawn)
    except _Differs as seen:
        raise NotReproducible(_refusal(task, seen.difference, drawn())) from None
    finally:
        fresh.env.close()


class _Differs(Exception):
    """A walk that was recorded went another way when it was played again."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


def _evidence(
    walks: Sequence[Walk],
    recordings: Sequence[Recording],
    leftovers: str | None,
    drawn: Callable[[], list[str]],
) -> ReplayedWalks:
    continues = True
    for walk in walks:
        for recording in recordings:
            difference = walk.replay(recording)
            if difference is not None:
                raise _Differs(difference)
            continues = continues and walk.follow_after(recording) is None
    notes = [f"draws from {source}, which reset(seed=…) does not set" for source in drawn()]
    if leftovers is not None:
        notes.append(f"reset(seed=…) leaves something behind, so the environment is put back as new first: {leftovers}")
    if not continues:
        # No reason to refuse: tightrope itself always gives a seed.
        notes.append("a reset without seed does not go on from the seeded generator")
        recordings = [recording.without_second_reset() for recording in recordings]
    speed = walks[0].steps / walks[0].seconds
    return ReplayedWalks(recordings=tuple(recordings), steps_per_second=speed, leftovers=leftovers, notes=tuple(notes))


def _require_independence(walks: Sequence[Walk], recordings: Sequence[Recording]) -> None:
    """Refuse environments that disturb each other when they are stepped in turn, as lanes do."""
    pair = list(zip(walks, recordings, strict=False))
    for walk, recording in pair:
        walk.reset(recording.seed)
    for number in range(max(len(recording.actions) for _, recording in pair)):
        for walk, recording in pair:
            if number >= len(recording.actions):
                continue
            difference = step_beside(walks, walk, recording, number)
            if difference is not None:
                raise TaskError(
                    f"task {walk.task.label}: two environments in one process disturb each other: stepped in turn with "
                    f"another one, {difference}. Keep in the instance what they share (an attribute of the class, a "
                    f"global of the module, a global random generator); or say that a process can hold only one: "
                    f"Task(…, one_per_process=True)"
                )


def _first_difference(walks: Sequence[Walk], recordings: Sequence[Recording]) -> Difference | None:
    for walk in walks:
        for recording in recordings:
            difference = walk.replay(recording)
            if difference is not None:
                return difference
    return None


def _refusal(task: Task, difference: Difference, sources: Sequence[str]) -> str:
    blame = (
        f"The environment draws from {' and '.join(sources)}, which reset(seed=…) does not set; draw from "
        f"self.np_random instead."
        if sources
        else "Something outside the environment's seeded generator decides (a global, a clock, a thread); let "
        "reset(seed=…) set all of it."
    )
    return (
        f"task {task.label} is refused, because nothing found in it could be found again: the same seed and the same "
        f"actions were played twice, and {difference}. {blame}"
    )


@contextmanager
def _global_randomness() -> Iterator[Callable[[], list[str]]]:
    """Tells which of the global generators were drawn from."""
    python, numpy = random.getstate(), np.random.get_state()[1:3]  # type: ignore[index]

    def drawn() -> list[str]:
        now = np.random.get_state()[1:3]  # type: ignore[index]
        changed = [random.getstate() != python, now[1] != numpy[1] or bool(np.any(now[0] != numpy[0]))]
        names = ["Python's global generator (random.…)", "NumPy's global generator (np.random.…)"]
        return [name for name, is_changed in zip(names, changed, strict=True) if is_changed]

    yield drawn


@contextmanager
def opened(task: Task) -> Iterator[Any]:
    """A new environment, closed at the end."""
    env = task.open_env()
    try:
        yield env
    finally:
        env.close()


@contextmanager
def _second(task: Task, env: Any) -> Iterator[Any]:
    if task.one_per_process:
        yield env
        return
    try:
        other = task.open_env()
    except EnvironmentFailure as error:
        raise EnvironmentFailure(
            f"{error}. One environment was open already; if a process can hold only one, say so: "
            f"Task(…, one_per_process=True)"
        ) from error
    try:
        yield other
    finally:
        other.close()
