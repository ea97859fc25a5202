"""Item 2: the whole pipeline of the paper for one agent on Mario 1-1, on two cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import (
    Figure,
    bare_core_seconds_per_step,
    four_suites,
    mario,
    mario_agent,
    mario_reference,
    wall,
)

import tightrope as tr

PROCESSES = 2


def figures(*, quick: bool) -> Iterator[Figure]:
    """Search, four suites, fuzzing and robust performance, from nothing."""
    for name, epsilon, limit in (("greedy", 0.0, 60.0), ("noisy (ε = 0.05)", 0.05, 180.0)):
        seconds, parts, counters = _run(mario_agent(epsilon), quick=quick)
        spent = ", ".join(f"{part} {value:.0f} s" for part, value in parts.items())
        yield Figure(
            item=2,
            name=f"whole pipeline on 1-1, {name} agent, 2 processes",
            value=seconds,
            unit="s",
            aim=f"≤ {limit:g} s",
            met=seconds <= limit,
            note=f"{spent}; {counters.steps_asked} steps asked, {counters.steps_executed} executed",
        )
        core = bare_core_seconds_per_step(mario_reference().actions) * counters.steps_executed / PROCESSES
        yield Figure(
            item=2,
            name=f"bare emulator core's share of that time, {name} agent",
            value=core / seconds,
            unit="",
            aim="≥ 0.85" if epsilon == 0 else "",
            met=core / seconds >= 0.85 if epsilon == 0 else None,
            note=f"{core:.0f} s for the steps executed, on as many cores",
        )


def _run(agent: Any, *, quick: bool) -> tuple[float, dict[str, float], Any]:
    task = mario()
    parts: dict[str, float] = {}
    began = last = wall()

    def note(part: str) -> None:
        nonlocal last
        parts[part], last = wall() - last, wall()

    with tr.Engine(task, {agent.name: agent}, backend="processes", workers=PROCESSES) as engine:
        reference = tr.search(task, budget=tr.Budget(seconds=300), engine=engine).reference
        note("search")
        for suite in four_suites(task, reference):
            tr.run_suite(task, agent, suite, repetitions=10, length=40, survivable=False, engine=engine)
        note("suites")
        fuzz = tr.fuzz(task, reference.actions, 10 if quick else 50, 50, engine=engine, control=False)
        note("fuzzing")
        tr.compare_robustness(task, agent, fuzz.fittest, tests=10, episodes=10, step_width=20, engine=engine)
        note("robust performance")
        return wall() - began, parts, engine.counters
