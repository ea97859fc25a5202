"""Rollouts in rows of arrays: the share that is the compiled world and network, and steps a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.measuring import Figure, all_busy, busy, timed, wall

import tightrope as tr
from tightrope.tasks.jaxworlds.rows import WIDTH, rows_of
from tightrope.testing.jax_pole import pole_task, policy, weights

LIMIT = 200
EPSILON = 0.02


def figures(*, quick: bool) -> Iterator[Figure]:
    """A suite's worth of rollouts from fifty situations, by one process against the bare loop, and by two."""
    task, number = pole_task(0.0, LIMIT), 2_000 if quick else 100_000
    agent = tr.load_agent(tr.JaxNetwork(policy, weights()), task, name="net", epsilon=EPSILON)
    starts = [tr.ActionTrace(task.label, place, (0, 1) * (place % 10)) for place in range(50)]
    rollouts = [
        tr.Rollout(start=start, agent="net", length=LIMIT, seed=seed)
        for start in starts
        for seed in range(number // len(starts))
    ]
    bare = _bare_steps_per_second(task, 200 if quick else 4_000)
    with tr.Engine(task, {"net": agent}) as engine:
        engine.run(rollouts[: 4 * WIDTH])  # compiles
        with timed(busy) as spent:
            steps = sum(len(episode.actions) for episode in engine.run(rollouts[: number // 4]))
    share = steps / spent() / bare
    yield Figure(
        item=9,
        name="bare vmapped loop's share of the time: pole, JAX agent, one process",
        value=share,
        unit="",
        aim="≥ 0.4",
        met=share >= 0.4,
        note=f"{steps / spent():,.0f} agent steps per processor second, the bare loop {bare:,.0f}",
    )
    with tr.Engine(task, {"net": agent}, backend="processes", workers=2) as engine:
        engine.run(rollouts[: 8 * WIDTH])
        with timed(wall) as lasted, timed(all_busy) as spent:
            steps = sum(len(episode.actions) for episode in engine.run(rollouts))
    yield Figure(
        item=9,
        name=f"agent steps per processor second: {number:,} rollouts of up to {LIMIT} steps, all processes counted",
        value=steps / spent() / 1e6,
        unit="million",
        aim="≥ 0.5 million",
        met=steps / spent() >= 5e5,
        note=f"so twice as many a second on two cores that do nothing else; {spent() / number * 1e6:.0f} µs a rollout",
    )
    yield Figure(
        item=9,
        name=f"agent steps a second: {number:,} rollouts of up to {LIMIT} steps, two processes",
        value=steps / lasted() / 1e6,
        unit="million",
        aim="≥ 1 million",
        met=steps / lasted() >= 1e6,
        note=f"{steps:,} steps in {lasted():.0f} s, on a machine with a load of {os.getloadavg()[0]:.0f}",
    )


def _bare_steps_per_second(task: tr.Task, ticks: int) -> float:
    """World and network alone, as many rows at once, nothing looked at."""
    env: Any = task.open_env()
    env.reset(seed=0)
    rows, network = rows_of(env.world), tr.JaxNetwork(policy, weights())
    situations, observations = rows.filled(env.situation), np.zeros((WIDTH, 4), dtype=np.float32)
    for repeated in (10, ticks):
        with timed(busy) as spent:
            for _ in range(repeated):
                scores = network.compiled(observations)
                situations, shown = rows.step(situations, scores.argmax(axis=1))
                observations = shown.observation
            np.asarray(observations)
    return ticks * WIDTH / spent()
