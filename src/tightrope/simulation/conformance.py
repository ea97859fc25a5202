"""The round trip that a way of saving must pass on the very environment before it is used.

Save, wander off, put back: every observation, reward, flag and key of the continuation must equal that of a fresh
replay.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.errors import EnvironmentFailure, NotReproducible, TaskError
from tightrope.seeding import derive_seed, generator
from tightrope.simulation.simulator import detached
from tightrope.simulation.snapshots import Snapshotter, applicable_snapshotters, canonical_reseed
from tightrope.simulation.walk import Difference, Recording, Walk, compare
from tightrope.tasks.task import Task, Transition

REPLAY = "replay"
"""The way that needs no snapshotter: play the actions again from reset."""

FEWEST_RECORDINGS, MOST_RECORDINGS = 2, 24
SECONDS_PER_PASS = 0.1
"""A pass walks all recordings once; a check makes about ten."""
SECONDS_OF_RESEEDING = 0.4
"""How long a task must behave the same under fresh randomness before it counts as deterministic."""
FEWEST_STEPS, MOST_STEPS = 4, 150
"""Length of a recording."""
MANY_STEPS = 12
"""From this length on a recording is worth saving at four places, not two."""
FEWEST_ASIDE, MOST_ASIDE = 2, 8
"""Steps after an unseeded reset, and steps to wander off before a restore."""


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A way of saving that was tried and is not exact here."""

    method: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """How the environments of a task can be saved and put back exactly. Plain values: it can be sent to a worker."""

    task: str
    method: str
    """The name of the snapshotter, or ``replay``."""
    deterministic: bool
    """Whether nothing after reset depends on randomness."""
    transferable: bool
    """Whether a snapshot can be loaded into another instance in the same process."""
    rejected: tuple[Rejection, ...]
    save_microseconds: float | None
    """None with ``replay``: saving costs nothing, putting back costs the steps."""
    load_microseconds: float | None
    steps_per_second: float
    checked_steps: int
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Always: a way that is not exact is rejected, an environment without any is refused."""
        return True


def examine(task: Task) -> Conformance:
    """Find the fastest exact way to save the task's environments; NotReproducible when not even replay is exact."""
    with _opened(task) as env:
        require_open_start(task, env)
        walk = Walk(task, env)
        recordings, seconds = _record(walk)
        notes = _check_replay(task, walk, recordings)
        method, rejected = _select(task, env, recordings)
        snapshotter = None if method is None else method(env)
        saving, loading = (None, None) if snapshotter is None else _costs(snapshotter)
        steps = sum(len(recording.actions) for recording in recordings)
        return Conformance(
            task=task.label,
            method=REPLAY if method is None else method.name,
            deterministic=_is_deterministic(walk, recordings),
            transferable=method is not None and _is_transferable(task, env, method, recordings),
            rejected=rejected,
            save_microseconds=saving,
            load_microseconds=loading,
            steps_per_second=steps / seconds,
            checked_steps=steps,
            notes=notes,
        )


def require_open_start(task: Task, env: Any) -> None:
    """Refuse a task that is solved or lost before the first action: everything would pass, or nothing could."""
    walk = Walk(task, env)
    facts = walk.reset(task.seed).facts
    for role in ("goal", "unsafe"):
        if facts[role]:
            raise TaskError(
                f"task {task.label}: {role}(transition) is already true right after reset(seed={task.seed}), so no "
                f"test could mean anything; correct {role}, or choose another seed"
            )


def round_trip(
    task: Task, env: Any, snapshotter: type[Snapshotter], recordings: Sequence[Recording]
) -> Difference | None:
    """Save along each recording, wander off, put back and compare; also inside one more wrapper, also when rendered."""
    counter = _StepCounter(env)
    plans = [(Walk(task, env), recordings), (Walk(task, counter, own=env), _longest(recordings)[:1])]
    for walk, chosen in plans:
        saver = snapshotter(walk.env)
        for number, recording in enumerate(chosen):
            difference = _one_round_trip(walk, saver, recording, generator("wander", task.label, number))
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
        difference = compare(recording.moments[depth], walk.moment(), depth) or walk.follow(recording, depth)
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


def _select(
    task: Task, env: Any, recordings: Sequence[Recording]
) -> tuple[type[Snapshotter] | None, tuple[Rejection, ...]]:
    rejected: list[Rejection] = []
    for snapshotter in applicable_snapshotters(env):
        try:
            difference = round_trip(task, env, snapshotter, recordings)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            if difference is None:
                return snapshotter, tuple(rejected)
            reason = f"after putting back, {difference}"
        rejected.append(Rejection(method=snapshotter.name, reason=reason))
    return None, tuple(rejected)


def _record(walk: Walk) -> tuple[list[Recording], float]:
    """As many recordings as fit the time a pass may take, and the seconds they took."""
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
    return recordings, time.perf_counter() - started


def _seconds_per_step(walk: Walk) -> float:
    rng, moment, seconds = generator("trial", walk.task.label), walk.reset(walk.task.seed), []
    for _ in range(FEWEST_STEPS):
        if moment.over:
            moment = walk.reset(None)
        started = time.perf_counter()
        moment = walk.step(walk.random_action(rng))
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def _check_replay(task: Task, walk: Walk, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Replay everything on the same and on a new environment; both must agree with the recordings."""
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


def _is_deterministic(walk: Walk, recordings: Sequence[Recording]) -> bool:
    """Whether setting the generators anew after reset changes nothing, again and again."""
    deadline = time.perf_counter() + SECONDS_OF_RESEEDING
    reseed = canonical_reseed(walk.env)
    for attempt in range(MOST_RECORDINGS):
        for recording in recordings:
            walk.reset(recording.seed)
            reseed(derive_seed("deterministic?", recording.seed, attempt))
            if walk.follow(recording) is not None:
                return False
        if time.perf_counter() > deadline:
            break
    return True


def _is_transferable(task: Task, env: Any, snapshotter: type[Snapshotter], recordings: Sequence[Recording]) -> bool:
    """Whether what one instance saved continues rightly in another, and neither disturbs the other."""
    if task.one_per_process:
        return False
    with _opened(task) as other:
        try:
            return all(_transfers(task, env, other, snapshotter, recording) for recording in _longest(recordings))
        except Exception:
            return False


def _longest(recordings: Sequence[Recording]) -> list[Recording]:
    """Those worth repeating: the longest, and two more where they are quick."""
    ordered = sorted(recordings, key=lambda recording: -len(recording.actions))
    return ordered[:3] if len(ordered) > FEWEST_RECORDINGS else ordered[:1]


def _transfers(task: Task, env: Any, other: Any, snapshotter: type[Snapshotter], recording: Recording) -> bool:
    here, there = Walk(task, env), Walk(task, other)
    saver, loader = snapshotter(env), snapshotter(other)
    there.reset(derive_seed("elsewhere", recording.seed))
    saved = _save_along(here, saver, recording)
    for depth, payload, transition in saved:
        saver.load(payload)
        loader.load(payload)
        here.transition = there.transition = transition
        steps = zip(recording.actions[depth:], recording.moments[depth + 1 :], strict=True)
        for number, (action, expected) in enumerate(steps, depth + 1):
            if any(compare(expected, walk.step(action), number) is not None for walk in (there, here)):
                return False
    return True


def _costs(snapshotter: Snapshotter) -> tuple[float, float]:
    """Microseconds to save and to load: the best of a few, since anything else on the machine only adds."""
    payload = snapshotter.save()
    saving, loading = [], []
    for _ in range(20):
        started = time.perf_counter()
        payload = snapshotter.save()
        saved = time.perf_counter()
        snapshotter.load(payload)
        saving.append(saved - started)
        loading.append(time.perf_counter() - saved)
    return min(saving) * 1e6, min(loading) * 1e6


@contextmanager
def _opened(task: Task) -> Iterator[Any]:
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
