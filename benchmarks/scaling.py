"""How far more cores go: parts of the paper's pipeline on Mario 1-1 by 4, 8 and 16 workers.

    python -m benchmarks.scaling

Takes three to four minutes on sixteen cores, and writes nothing. Numbers of workers for which a machine has no cores
are not measured. Beside it stands the machine's own scaling: as many processes, each with an environment alone. Each
part tells what its workers' time went to; what is missing to 100 % is Python around the steps and messages.

The suite does not depend on the fuzzing, so it is what workers do that wait for a generation's longest trace. With
``--one-after-the-other`` they wait: what that costs is the difference.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measuring import Figure, mario, mario_agent, mario_reference, wall

import tightrope as tr
from tightrope.execution import Counters
from tightrope.execution.backends.processes import available_cores
from tightrope.safety.run import suite_rollouts

WORKERS = (4, 8, 16)
BARE_SECONDS = 5.0
EPSILON = 0.05
AIM = 0.9
AIM_OF_BARE = 0.65
"""With the most workers."""


@dataclass(frozen=True)
class Part:
    """One of the pipeline's parts."""

    name: str
    seconds: float
    counters: Counters

    def told(self, workers: int) -> str:
        """How long it took, and what its workers did meanwhile."""
        spent, total = self.counters, workers * self.seconds
        doing = {
            "environment": spent.seconds_environment,
            "agent": spent.seconds_agent,
            "snapshots": spent.seconds_snapshot,
            "nothing to do": spent.seconds_waiting,
        }
        shares = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in doing.items())
        return f"{self.name} {self.seconds:.1f} s ({shares})"


@dataclass(frozen=True)
class Measured:
    """The pipeline by so many workers, and as many environments alone."""

    workers: int
    bare: float
    """Steps a second of the environments."""
    parts: Sequence[Part]

    @property
    def seconds(self) -> float:
        """Of all parts."""
        return sum(part.seconds for part in self.parts)

    def total(self, counter: str) -> float:
        """A counter of all parts together."""
        return sum(getattr(part.counters, counter) for part in self.parts)

    @property
    def executed(self) -> float:
        """Steps."""
        return self.total("steps_executed")


def figures(numbers: Sequence[int], cores: int, *, together: bool) -> Iterator[Figure]:
    """Seconds, steps executed and steps a second of each number of workers, against the fewest."""
    measured: list[Measured] = []
    reference = mario_reference() if cores >= numbers[0] else None
    for workers in numbers:
        if workers > cores:
            yield _figure(f"{workers} workers", None, "", f"not measured: this machine has {cores} cores")
            continue
        bare = _bare_steps_per_second(workers, reference.actions)
        measured.append(Measured(workers, bare, _pipeline(workers, reference, together=together)))
        yield from _alone(measured[-1], AIM_OF_BARE if workers == max(numbers) else None)
        yield from _against_fewest(measured)


def _alone(spent: Measured, aim: float | None) -> Iterator[Figure]:
    """One number of workers: where their time went."""
    name, workers = f"{spent.workers} workers", spent.workers
    told = "; ".join(part.told(workers) for part in spent.parts)
    yield _figure(name, spent.seconds, "s", f"{told}; {spent.executed:.0f} steps executed")
    speed = spent.executed / spent.seconds
    yield _figure(f"{name}, of the bare speed", speed / spent.bare, "", f"{spent.bare:.0f} steps a second", aim)
    step = 1e6 * spent.total("seconds_environment") / spent.executed
    yield _figure(f"{name}: a step", step, "µs", f"{1e6 * workers / spent.bare:.0f} µs in an environment alone")
    asked, questions = spent.total("observations_answered"), spent.total("agent_queries")
    answer = 1e6 * spent.total("seconds_agent") / asked
    yield _figure(f"{name}: an answer of the agent", answer, "µs", f"{asked / questions:.1f} observations a question")


def _against_fewest(measured: list[Measured]) -> Iterator[Figure]:
    """The scaling of the latest number of workers, ours and the machine's own."""
    if len(measured) < 2:
        return
    fewest, latest = measured[0], measured[-1]
    ours, own = fewest.seconds / latest.seconds, latest.bare / fewest.bare
    name = f"{latest.workers} workers against {fewest.workers}"
    yield _figure(
        f"{name}: times faster, of what the machine can", ours / own, "", f"{ours:.2f} × and {own:.2f} ×", AIM
    )
    yield _figure(f"{name}: steps executed", latest.executed / fewest.executed, "×", "")


def _pipeline(workers: int, reference: Any, *, together: bool) -> list[Part]:
    """Fuzzing, a suite and robust performance in small; the workers are started and warm before the clock is."""
    task, agent, parts = mario(), mario_agent(EPSILON), list[Part]()
    with tr.Engine(task, {agent.name: agent}, backend="processes", workers=workers) as engine:
        start = tr.ActionTrace(task.label, 0)
        engine.run([tr.Rollout(start=start, agent=agent.name, length=4, seed=seed) for seed in range(4 * workers)])
        engine.counters.taken()
        last = wall()

        def note(name: str) -> None:
            nonlocal last
            parts.append(Part(name, wall() - last, engine.counters.taken()))
            last = wall()

        suite = tr.action_coverage_suite(reference, 2, task.search_actions)
        if together:
            engine.expect(suite_rollouts(suite, agent.name, repetitions=10, length=40, seed=0, fixed_prefix=True))
        fuzz = tr.fuzz(task, reference.actions, 8, 100, engine=engine, control=False)
        note("fuzzing")
        tr.run_suite(task, agent, suite, repetitions=10, length=40, survivable=False, engine=engine)
        note("suite")
        tr.compare_robustness(task, agent, fuzz.fittest, tests=5, episodes=10, step_width=20, engine=engine)
        note("robust performance")
    return parts


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
    parser = argparse.ArgumentParser(description="How far more cores go, on Super Mario Bros. 1-1.")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="numbers of workers, fewest first")
    parser.add_argument("--one-after-the-other", action="store_true", help="without the suite beside the fuzzing")
    asked = parser.parse_args()
    for figure in figures(asked.workers, available_cores(), together=not asked.one_after_the_other):
        print(figure, flush=True)


if __name__ == "__main__":
    main()
