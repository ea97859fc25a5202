"""Which way of saving is exact on the very environment of a task, shown before it is used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tightrope.display import Shown
from tightrope.errors import NotReproducible
from tightrope.guards.faults import misdeed, require_fault
from tightrope.simulation.conformance.cross_checking import CrossCheck, cross_check, prepare_cross_check, seen_along
from tightrope.simulation.conformance.dynamics import examine_dynamics
from tightrope.simulation.conformance.recordings import longest
from tightrope.simulation.conformance.reproducing import ReplayedWalks, opened, replay_walks
from tightrope.simulation.conformance.roundtrip import round_trip, transfer
from tightrope.simulation.conformance.trial_walk import Recording
from tightrope.simulation.forking.environment import ForkCosts
from tightrope.simulation.forking.measuring import NOT_WORTH_IT, Forking, examine_forking
from tightrope.simulation.simulator import Simulator
from tightrope.simulation.snapshots import Snapshotter, applicable_snapshotters
from tightrope.simulation.starting import checked_reset
from tightrope.tasks.task import Task
from tightrope.trace import ActionTrace

REPLAY = "replay"
"""The way that needs no snapshotter: play the actions again from reset."""

A_MOMENT = 1.0
"""Seconds for which randomness is looked for that comes late; where the episodes of a run meet it, they tell, too."""


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A way of saving that was tried and is not exact here."""

    method: str
    reason: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Conformance(Shown):
    """How the environments of a task can be saved and put back exactly. Plain values: it can be sent to a worker."""

    _shown = ("task", "method", "deterministic", "transferable", "rejected", "steps_per_second")

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
    forking: ForkCosts | None = None
    """What forking costs, where replays are cut short by it; None: they are not."""
    cross_check: CrossCheck = field(default_factory=CrossCheck)
    """How much of it was played again in other processes."""
    dynamics_evidence: str = ""
    """What ``deterministic`` rests on, in words."""

    @property
    def exact(self) -> bool:
        """Always: a way that is not exact is rejected, an environment without any is refused."""
        return True


def examine(task: Task, seconds: float = A_MOMENT) -> Conformance:
    """Find the fastest exact way to save the task's environments; NotReproducible when not even replay is exact.

    ``seconds``: how long to look for randomness that comes late.
    """
    prepare_cross_check()
    evidence = replay_walks(task)
    method, rejected = _select(task, evidence)
    saving, loading = _costs(task, method)
    forking = _forking(task, evidence) if method is None else NOT_WORTH_IT
    dynamics = examine_dynamics(task, method, evidence.recordings, seconds)
    steps = sum(len(recording.actions) for recording in evidence.recordings)
    return Conformance(
        task=task.label,
        method=REPLAY if method is None else method.name,
        deterministic=dynamics.deterministic,
        transferable=method is not None and _is_transferable(task, method, evidence.recordings),
        rejected=rejected,
        save_microseconds=saving,
        load_microseconds=loading,
        steps_per_second=evidence.steps_per_second,
        checked_steps=steps,
        notes=(*evidence.notes, *(note for note in (forking.note, dynamics.note) if note)),
        forking=forking.costs,
        cross_check=_cross_checked(task, method, evidence.recordings),
        dynamics_evidence=dynamics.evidence,
    )


def _forking(task: Task, evidence: ReplayedWalks) -> Forking:
    walks = [(recording.seed, recording.actions) for recording in longest(evidence.recordings) if recording.actions]
    return examine_forking(task, walks, evidence.steps_per_second) if walks else NOT_WORTH_IT


def examine_snapshotter(task: Task, snapshotter: type[Snapshotter]) -> Rejection | None:
    """Why this way of saving the task's environments is not exact, or None when the round trip shows nothing."""
    return _rejection(task, snapshotter, replay_walks(task).recordings)


def _select(task: Task, evidence: ReplayedWalks) -> tuple[type[Snapshotter] | None, tuple[Rejection, ...]]:
    rejected: list[Rejection] = []
    with opened(task) as env:
        candidates = applicable_snapshotters(env)
    for snapshotter in candidates:
        rejection = _rejection(task, snapshotter, evidence.recordings)
        if rejection is None:
            return snapshotter, tuple(rejected)
        rejected.append(rejection)
    if evidence.leftovers is not None:
        reasons = "; ".join(f"{rejection.method}: {rejection.reason}" for rejection in rejected)
        raise NotReproducible(
            f"task {task.label} is refused, because results in it could not be reproduced: reset(seed=…) leaves "
            f"something behind ({evidence.leftovers}), and no way of saving could restore it ({reasons}). Let "
            f"reset(seed=…) set everything, or have the environment made anew for every episode: "
            f"make_env=lambda: tightrope.renewed_env(make)"
        )
    return None, tuple(rejected)


def _rejection(task: Task, snapshotter: type[Snapshotter], recordings: Sequence[Recording]) -> Rejection | None:
    with opened(task) as env:
        try:
            difference = round_trip(task, env, snapshotter, recordings)
        except BaseException as error:
            return Rejection(method=snapshotter.name, reason=misdeed(error))
    if difference is None:
        return None
    return Rejection(method=snapshotter.name, reason=f"after putting back, {difference}")


def _cross_checked(task: Task, method: type[Snapshotter] | None, recordings: Sequence[Recording]) -> CrossCheck:
    """The recordings once more, as a simulator sees them, here and in other processes."""
    with opened(task) as env:
        simulator = Simulator(task, env, None if method is None else method(env))
        traces = [ActionTrace(task.label, recording.seed, recording.actions) for recording in recordings]
        walks = [seen_along(simulator, trace, f"a random walk from reset(seed={trace.seed})") for trace in traces]
    return cross_check(task, walks)


def _is_transferable(task: Task, snapshotter: type[Snapshotter], recordings: Sequence[Recording]) -> bool:
    """Whether what one instance saved continues rightly in another, and neither disturbs the other."""
    if task.one_per_process:
        return False
    with opened(task) as env, opened(task) as other:
        try:
            return transfer(task, env, other, snapshotter, longest(recordings)) is None
        except BaseException as error:
            require_fault(error)
            return False


def _costs(task: Task, method: type[Snapshotter] | None) -> tuple[float, float] | tuple[None, None]:
    """Microseconds to save and to load: the best of a few, since anything else on the machine only adds."""
    if method is None:
        return None, None
    with opened(task) as env:
        checked_reset(task, env, task.seed)
        return _best_times(method(env))


def _best_times(snapshotter: Snapshotter) -> tuple[float, float]:
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
