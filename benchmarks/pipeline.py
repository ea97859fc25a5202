"""Item 2: the whole pipeline of the paper for one agent on Mario 1-1, on two cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.measuring import (
    Figure,
    all_busy,
    bare_core_seconds_per_step,
    four_suites,
    mario,
    mario_agent,
    mario_reference,
    wall,
)

import tightrope as tr

PROCESSES = 2


@dataclass(frozen=True)
class _Spent:
    """What one pipeline took."""

    seconds: float
    parts: dict[str, float]
    busy_seconds: float
    """Of processor time, of all processes."""
    searched: int
    """Steps of the search, which the engine's counters do not have."""
    counters: Any


def figures(*, quick: bool) -> Iterator[Figure]:
    """Search, four suites, fuzzing and robust performance, from nothing."""
    for name, epsilon, limit in (("greedy", 0.0, 60.0), ("noisy (ε = 0.05)", 0.05, 180.0)):
        spent = _run(mario_agent(epsilon), quick=quick)
        seconds, counters = spent.seconds, spent.counters
        parts = ", ".join(f"{part} {value:.0f} s" for part, value in spent.parts.items())
        yield Figure(
            item=2,
            name=f"whole pipeline on 1-1, {name} agent, 2 processes",
            value=seconds,
            unit="s",
            aim=f"≤ {limit:g} s",
            met=seconds <= limit,
            note=f"{parts}; {counters.steps_asked} steps asked, {counters.steps_executed} executed",
        )
        step = bare_core_seconds_per_step(mario_reference().actions)
        core = step * counters.steps_executed / PROCESSES
        yield Figure(
            item=2,
            name=f"bare emulator core's share of that time, {name} agent",
            value=core / seconds,
            unit="",
            aim="≥ 0.85" if epsilon == 0 else "",
            met=core / seconds >= 0.85 if epsilon == 0 else None,
            note=f"{core:.0f} s for the steps executed, on as many cores",
        )
        # The same whatever else the machine does: nothing waits, and nobody's time is taken for ours.
        steps = counters.steps_executed + spent.searched
        yield Figure(
            item=2,
            name=f"bare emulator core's share of the processor time of all processes, {name} agent",
            value=step * steps / spent.busy_seconds,
            unit="",
            direction="higher",
            note=f"{spent.busy_seconds:.0f} s, for {steps} steps, those of the search included; "
            f"{counters.observations_answered / max(1, counters.agent_queries):.1f} observations for each question",
        )


def _run(agent: Any, *, quick: bool) -> _Spent:
    task = mario()
    parts: dict[str, float] = {}
    began = last = wall()
    busy_before = all_busy()

    def note(part: str) -> None:
        nonlocal last
        parts[part], last = wall() - last, wall()

    with tr.Engine(task, {agent.name: agent}, backend="processes", workers=PROCESSES) as engine:
        found = tr.search(task, budget=tr.Budget(seconds=300), engine=engine)
        reference = found.reference
        note("search")
        for suite in four_suites(task, reference):
            tr.run_suite(task, agent, suite, repetitions=10, length=40, survivable=False, engine=engine)
        note("suites")
        fuzz = tr.fuzz(task, reference.actions, 10 if quick else 50, 50, engine=engine, control=False)
        note("fuzzing")
        tr.compare_robustness(task, agent, fuzz.fittest, tests=10, episodes=10, step_width=20, engine=engine)
        note("robust performance")
        return _Spent(wall() - began, parts, all_busy() - busy_before, found.stats.steps, engine.counters)
