"""How far more cores go: parts of the paper's pipeline on Mario 1-1 by 4, 8 and 16 workers.

    python -m benchmarks.scaling

Takes less than four minutes on sixteen cores, and writes nothing. Numbers of workers for which a machine has no cores
are not measured. Beside it stands the machine's own scaling: as many processes, each with an environment alone.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import Figure, mario, mario_agent, mario_reference, wall

import tightrope as tr
from tightrope.execution.backends.processes import available_cores

WORKERS = (4, 8, 16)
BARE_SECONDS = 5.0
EPSILON = 0.05
AIM = 0.9


def figures(cores: int) -> Iterator[Figure]:
    """Seconds, steps executed and steps a second of each number of workers, against the fewest."""
    measured: list[tuple[int, float, float, int]] = []
    reference = mario_reference() if cores >= WORKERS[0] else None
    for workers in WORKERS:
        if workers > cores:
            yield _figure(f"{workers} workers", None, "", f"not measured: this machine has {cores} cores")
            continue
        bare = _bare_steps_per_second(workers, reference.actions)
        seconds, parts, executed = _pipeline(workers, reference)
        measured.append((workers, bare, seconds, executed))
        told = ", ".join(f"{part} {spent:.1f} s" for part, spent in parts.items())
        yield _figure(f"{workers} workers", seconds, "s", f"{told}; {executed} steps executed")
        yield _figure(
            f"{workers} workers, of the bare speed", executed / seconds / bare, "", f"{bare:.0f} steps a second"
        )
        yield from _against_fewest(measured)


def _against_fewest(measured: list[tuple[int, float, float, int]]) -> Iterator[Figure]:
    """The scaling of the latest number of workers, ours and the machine's own."""
    if len(measured) < 2:
        return
    (fewest, bare_before, before, executed_before), (workers, bare, seconds, executed) = measured[0], measured[-1]
    ours, own = before / seconds, bare / bare_before
    name = f"{workers} workers against {fewest}"
    yield _figure(
        f"{name}: times faster, of what the machine can", ours / own, "", f"{ours:.2f} × and {own:.2f} ×", AIM
    )
    yield _figure(f"{name}: steps executed", executed / executed_before, "×", "")


def _pipeline(workers: int, reference: Any) -> tuple[float, dict[str, float], int]:
    """A suite, fuzzing and robust performance in small; the workers are started and warm before the clock is."""
    task, agent, parts = mario(), mario_agent(EPSILON), {}
    with tr.Engine(task, {agent.name: agent}, backend="processes", workers=workers) as engine:
        start = tr.ActionTrace(task.label, 0)
        engine.run([tr.Rollout(start=start, agent=agent.name, length=4, seed=seed) for seed in range(4 * workers)])
        engine.counters.taken()
        began = last = wall()
        suite = tr.action_coverage_suite(reference, 2, task.search_actions)
        tr.run_suite(task, agent, suite, repetitions=10, length=40, survivable=False, engine=engine)
        parts["suite"], last = wall() - last, wall()
        fuzz = tr.fuzz(task, reference.actions, 8, 100, engine=engine, control=False)
        parts["fuzzing"], last = wall() - last, wall()
        tr.compare_robustness(task, agent, fuzz.fittest, tests=5, episodes=10, step_width=20, engine=engine)
        parts["robust performance"] = wall() - last
        return wall() - began, parts, engine.counters.steps_executed


def _bare_steps_per_second(workers: int, trace: tr.ActionTrace) -> float:
    """Steps a second of so many processes together, each with an environment and nothing else."""
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        return sum(pool.map(_play_alone, [trace] * workers, chunksize=1))


def _play_alone(trace: tr.ActionTrace) -> float:
    env, steps = mario().make_env(), 0
    env.reset(seed=trace.seed)
    began = wall()
    while wall() - began < BARE_SECONDS:
        env.reset(seed=trace.seed)
        for action in trace.actions:
            env.step(action)
        steps += len(trace)
    return steps / (wall() - began)


def _figure(name: str, value: float | None, unit: str, note: str, aim: float | None = None) -> Figure:
    met = None if aim is None or value is None else value >= aim
    told = "" if aim is None else f"≥ {aim:g}"
    return Figure(item=13, name=name, value=value, unit=unit, note=note, aim=told, met=met)


def main() -> None:
    """Print the figures as they come."""
    for figure in figures(available_cores()):
        print(figure, flush=True)


if __name__ == "__main__":
    main()
