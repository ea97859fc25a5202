"""Replaying: the same seed and actions must lead to the same place, or the environment is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tightrope.errors import EnvironmentFailure, NotReproducible, TaskError
from tightrope.simulation.walk import Difference, Recording, Walk
from tightrope.tasks.task import Task


def require_open_start(task: Task, env: Any) -> None:
    """Refuse a task that is solved or lost before the first action: everything would pass, or nothing could."""
    facts = Walk(task, env).reset(task.seed).facts
    for role in ("goal", "unsafe"):
        if facts[role]:
            raise TaskError(
                f"task {task.label}: {role}(transition) is already true right after reset(seed={task.seed}), so no "
                f"test could mean anything; correct {role}, or choose another seed"
            )


def require_reproducible(walk: Walk, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Replay everything on the same and on a new environment; both must agree with the recordings."""
    task = walk.task
    with _global_randomness() as drawn, _second(task, walk.env) as other:
        for recording in recordings:
            for instance, which in ((walk, "the same environment"), (Walk(task, other), "a new environment")):
                difference = instance.replay(recording)
                if difference is not None:
                    raise NotReproducible(_refusal(task, recording, which, difference, drawn()))
        sources = drawn()
    return tuple(f"draws from {source}, which reset(seed=…) does not set" for source in sources)


def _refusal(task: Task, recording: Recording, which: str, difference: Difference, sources: Sequence[str]) -> str:
    blame = (
        f"The environment draws from {' and '.join(sources)}, which reset(seed=…) does not set; draw from "
        f"self.np_random instead."
        if sources
        else "Something outside the environment's seeded generator decides (a global, a clock, a thread, or state that "
        "reset() leaves behind); let reset(seed=…) set all of it."
    )
    return (
        f"task {task.label} is refused, because nothing found in it could be found again: reset(seed={recording.seed}) "
        f"and the same {len(recording.actions)} actions were played twice, the second time on {which}, and "
        f"{difference}. {blame}"
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
