"""Item 7: bytes and messages per unit of work, and what they come to with many workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import Figure, mario, mario_agent, mario_reference, wall

import tightrope as tr

WORKERS = 1000


def figures(*, quick: bool) -> Iterator[Figure]:
    """What travels in a suite and in fuzzing on Mario, per second of a worker's time."""
    task, reference, agent = mario(), mario_reference(), mario_agent(0.05)
    with tr.Engine(task, {agent.name: agent}, backend="processes", workers=2) as engine:
        engine.map(_nothing, range(2))
        yield from _traffic(
            "a suite",
            engine,
            lambda: tr.run_suite(
                task, agent, tr.interval_suite(reference, 1), repetitions=10, length=40, survivable=False, engine=engine
            ),
        )
        yield from _traffic(
            "fuzzing",
            engine,
            lambda: tr.fuzz(task, reference.actions, 3 if quick else 10, 50, engine=engine, control=False),
        )


def _traffic(name: str, engine: Any, work: Any) -> Iterator[Figure]:
    backend = engine._runner.backend
    before = backend.bytes_sent, backend.bytes_received, backend.messages, engine.counters.episodes
    began = wall()
    work()
    seconds = (wall() - began) * backend.workers
    sent, received = backend.bytes_sent - before[0], backend.bytes_received - before[1]
    messages, episodes = backend.messages - before[2], engine.counters.episodes - before[3]
    yield Figure(item=7, name=f"bytes to a worker per episode, {name}", value=sent / episodes, unit="B")
    yield Figure(item=7, name=f"bytes from a worker per episode, {name}", value=received / episodes, unit="B")
    yield Figure(item=7, name=f"messages per worker and second, {name}", value=messages / seconds, unit="")
    yield Figure(
        item=7, name=f"traffic of {WORKERS} workers, {name}", value=WORKERS * (sent + received) / seconds / 1e6,
        unit="MB/s",
    )  # fmt: skip


def _nothing(task: Any, payload: Any) -> None:
    return None
