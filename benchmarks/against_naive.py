"""Item 1: the engine against the naive way, same episodes, one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.measuring import (
    Figure,
    Listening,
    busy,
    four_suites,
    mario,
    mario_agent,
    mario_reference,
    naive_seconds,
)

import tightrope as tr

SAMPLE = 30
"""Rollouts of each kind that the naive way runs."""


def figures(*, quick: bool, long: bool = False) -> Iterator[Figure]:
    """Suites, fuzzing and robust performance on Super Mario Bros. 1-1; ``long``: with what tells little new."""
    task, reference = mario(), mario_reference()
    generations = 10 if quick else 50
    fuzzed = []

    def suites(engine: Any, agent: Any) -> None:
        for suite in four_suites(task, reference):
            tr.run_suite(task, agent, suite, repetitions=10, length=40, survivable=False, engine=engine)

    def fuzzing(**settings: Any) -> Callable[[Any, Any], None]:
        def work(engine: Any, agent: Any) -> None:
            fuzzed.append(tr.fuzz(task, reference.actions, generations, 50, engine=engine, control=False, **settings))

        return work

    def robust(engine: Any, agent: Any) -> None:
        tests = 3 if quick else 10
        tr.compare_robustness(task, agent, fuzzed[0].fittest, tests=tests, episodes=10, step_width=20, engine=engine)

    greedy, noisy = mario_agent(0.0), mario_agent(0.05)
    yield from _compared("four suites, greedy agent", suites, greedy, 10, 20.0)
    yield from _compared("four suites, noisy agent (ε = 0.05)", suites, noisy, 10, None)
    workload = f"fuzzing {generations} × 50"
    yield from _compared(f"{workload}, as printed", fuzzing(), greedy, 1, None)
    # How much there is to share depends on the traces that happen to be bred, so on the seed.
    for seed in (0, 1) if long else (0,):
        quarter = fuzzing(truncation=0.25, seed=seed)
        yield from _compared(f"{workload}, best quarter, seed {seed}", quarter, greedy, 1, 6.0)
    if long:
        few = fuzzing(truncation=0.25, mutation_stop=0.8)
        yield from _compared(f"{workload}, best quarter, few mutations", few, greedy, 1, None)
    yield from _compared("robust performance, greedy agent", robust, greedy, 10, 10.0)
    yield from _compared("robust performance, noisy agent (ε = 0.05)", robust, noisy, 10, None)


def _compared(
    name: str, work: Callable[[Any, Any], None], agent: Any, repetitions: int, aim: float | None
) -> Iterator[Figure]:
    """Time against the naive way, and steps; fuzzing has no agent, so there the aim is one for steps as well."""
    task = mario()
    with tr.Engine(task, {agent.name: agent}) as engine:
        heard = Listening(engine)
        began = busy()
        work(heard, agent)
        seconds = busy() - began
        counters = engine.counters
        naive = naive_seconds(task, {agent.name: agent}, heard, repetitions=repetitions, sample=SAMPLE)
    yield _figure(f"times faster than the naive way: {name}", naive / seconds, aim, f"{seconds:.0f} s, {naive:.0f} s")
    note = (
        f"{counters.episodes} episodes, {counters.steps_asked} steps asked, {counters.steps_executed} executed, "
        f"{_distinct(heard)} different prefixes played"
    )
    shared = counters.steps_asked / counters.steps_executed
    yield _figure(f"steps asked for each step executed: {name}", shared, aim if repetitions == 1 else None, note)


def _figure(name: str, value: float, aim: float | None, note: str) -> Figure:
    return Figure(
        item=1, name=name, value=value, unit="×", aim="" if aim is None else f"≥ {aim:g} ×",
        met=None if aim is None else value >= aim, note=note,
    )  # fmt: skip


def _distinct(heard: Listening) -> int:
    """How many different non-empty prefixes the episodes have: no sharing of prefixes can play fewer steps."""
    prefixes = set()
    for episode in heard.episodes:
        mark = hash(episode.rollout.start.seed)
        for action in episode.trace.actions:
            mark = hash((mark, action))
            prefixes.add(mark)
    return len(prefixes)
