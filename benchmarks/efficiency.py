"""Items 3, 4 and 5: how near to the bare environment, how much a second process adds, and whether cost grows."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
from benchmarks.measuring import (
    Figure,
    bare_core_seconds_per_step,
    bare_seconds_per_step,
    busy,
    mario,
    mario_agent,
    mario_reference,
    wall,
)

import tightrope as tr
from tightrope.agents import Answer

ROUNDS = 7


class Balance:
    """Pushes to where the pole leans: keeps it up for the whole episode."""

    name = fingerprint = "balance"
    deterministic, recurrent = True, False
    weights = np.array([0.1, 0.5, 1.0, 1.0])

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        return Answer((np.array(observations) @ self.weights > 0).astype(int).tolist(), [None] * len(observations))


def cartpole_rollouts(task: tr.Task, count: int, length: int | None = None) -> Iterator[tr.Rollout]:
    """One episode from each of so many reset seeds."""
    for seed in range(count):
        yield tr.Rollout(start=tr.ActionTrace(task.label, seed), agent="balance", length=length)


def efficiency(*, quick: bool) -> Iterator[Figure]:
    """Seconds the bare environment would need for the executed steps, over those it took."""
    task = tr.make_task("CartPole-v1")
    episodes_each = 100 if quick else 300
    shares = []
    with tr.Engine(task, {"balance": Balance()}) as engine:
        engine.run(cartpole_rollouts(task, 64))
        # In turns and the middle of them: the same loop takes half as long again from one second to the next.
        for number in range(ROUNDS):
            engine.counters.taken()
            rollouts = list(
                islice(cartpole_rollouts(task, 64 + (number + 1) * episodes_each), 64 + number * episodes_each, None)
            )
            began = busy()
            episodes = engine.run(rollouts)
            seconds = busy() - began
            bare = bare_seconds_per_step(task, [episode.trace for episode in episodes])
            shares.append(bare * engine.counters.steps_executed / seconds)
    yield _share("bare environment's share of the time: CartPole, agent in control", median(shares), 0.75)
    yield from _mario_efficiency(quick=quick)


def _mario_efficiency(*, quick: bool) -> Iterator[Figure]:
    task, reference = mario(), mario_reference()
    with tr.Engine(task) as engine:
        engine.run([tr.Rollout(start=reference.actions)])
        engine.counters.taken()
        began = busy()
        tr.fuzz(task, reference.actions, 3 if quick else 15, 50, engine=engine, control=False)
        seconds = busy() - began
    bare = bare_seconds_per_step(task, [reference.actions] * 4)
    yield _share(
        "bare environment's share of the time: Mario, fuzzing", bare * engine.counters.steps_executed / seconds, 0.85
    )
    core = bare_core_seconds_per_step(reference.actions)
    yield _share("bare emulator core's share of the time: Mario, the environment alone", core / bare, 0.85)
    yield _mario_in_control(core, quick=quick)


def _mario_in_control(core: float, *, quick: bool) -> Figure:
    """Whole games of the shipped network, which chance parts from one another at once."""
    task, agent = mario(), mario_agent(0.05)
    start = tr.ActionTrace(task.label, 0)
    with tr.Engine(task, {agent.name: agent}) as engine:
        engine.run([tr.Rollout(start=start, agent=agent.name, length=20)])
        engine.counters.taken()
        began = busy()
        engine.run([tr.Rollout(start=start, agent=agent.name, seed=seed) for seed in range(8 if quick else 40)])
        seconds = busy() - began
    return _share(
        "bare emulator core's share of the time: Mario, the network in control",
        core * engine.counters.steps_executed / seconds,
        0.7,
    )


def _share(name: str, value: float, aim: float) -> Figure:
    return Figure(
        item=3, name=name, value=value, unit="", aim=f"≥ {aim:g}", met=value >= aim,
    )  # fmt: skip


def two_processes(*, quick: bool) -> Iterator[Figure]:
    """Fuzzing on Mario and agent episodes on CartPole, one process against two."""
    task, reference = mario(), mario_reference()
    generations = 4 if quick else 20
    spent = []
    for workers in (1, 2):
        with tr.Engine(task, backend="processes", workers=workers) as engine:
            # Opens the environments: what is measured is the work, not the start.
            tr.fuzz(task, reference.actions, 1, 50, seed=1, engine=engine, control=False)
            began = wall()
            tr.fuzz(task, reference.actions, generations, 50, engine=engine, control=False)
            spent.append(wall() - began)
    yield _gain(f"Mario, fuzzing {generations} × 50", spent)
    pole = tr.make_task("CartPole-v1")
    spent = []
    for workers in (1, 2):
        with tr.Engine(pole, {"balance": Balance()}, backend="processes", workers=workers) as engine:
            engine.run(cartpole_rollouts(pole, 64))
            began = wall()
            engine.run(cartpole_rollouts(pole, 1000 if quick else 6000))
            spent.append(wall() - began)
    yield _gain("CartPole, agent in control", spent)


def _gain(name: str, spent: list[float]) -> Figure:
    value = spent[0] / spent[1]
    return Figure(
        item=4, name=f"two processes against one: {name}", value=value, unit="×", aim="≥ 1.8 ×", met=value >= 1.8,
        note=f"{spent[0]:.1f} s, {spent[1]:.1f} s",
    )  # fmt: skip


CACHES_MB = 64 + 64
"""What the engine keeps whatever the number of rollouts: below that a job has not filled them, above it never goes."""


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def growth(*, quick: bool) -> Iterator[Figure]:
    """Time per rollout and memory of 10³, 10⁴ and 10⁵ rollouts on CartPole."""
    task = tr.make_task("CartPole-v1")
    with tr.Engine(task, {"balance": Balance()}) as engine:
        # Loads whatever libraries there are to load.
        engine.run(cartpole_rollouts(task, 64, length=20))
    times, peaks, before = [], [], _peak_memory()
    for count in (10**3, 10**4) if quick else (10**3, 10**4, 10**5):
        with tr.Engine(task, {"balance": Balance()}, memory_limit=64 * 2**20) as engine:
            engine.run(cartpole_rollouts(task, 64, length=20))
            began = busy()
            for _ in engine.stream(cartpole_rollouts(task, count, length=20)):
                pass
            times.append((busy() - began) / count * 1e6)
        peaks.append(_peak_memory())
        yield Figure(
            item=5, name=f"µs per rollout of 20 steps, {count} rollouts", value=times[-1], unit="µs",
            note=f"peak memory so far {peaks[-1]:.0f} MB",
        )  # fmt: skip
    yield Figure(
        item=5, name="time per rollout, last against first", value=times[-1] / times[0], unit="×", aim="≤ 1.25 ×",
        met=times[-1] / times[0] <= 1.25,
    )  # fmt: skip
    grown = peaks[-1] - before
    yield Figure(
        item=5, name="memory that all of them added, once the caches are full", value=grown, unit="MB",
        aim=f"≤ {CACHES_MB} MB", met=grown <= CACHES_MB,
        note="caches: memory_limit 64 MB, and the latest episodes with a million steps",
    )  # fmt: skip
