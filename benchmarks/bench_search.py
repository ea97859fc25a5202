"""What depth-first search saves by snapshots, and what its own loop costs.

    python benchmarks/bench_search.py [--tasks corridor MountainCar-v0 mario] [--steps 3000]

Prints for each task: steps executed; steps of the naive way, which replays from reset at every backtrack; their ratio;
steps per second of the bare environment and of the search; what a step costs in the simulator (environment, snapshots,
and the task's own functions: key, goal, unsafe); and what the search loop adds to it (the limit is 25 µs). All times
are processor time, so that other load matters little.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import tightrope as tr
from tightrope.references.dfs import DepthFirst
from tightrope.references.reporting import ProgressLine
from tightrope.references.result import SearchStats
from tightrope.seeding import generator
from tightrope.simulation import Simulator, conformance_of, open_simulator
from tightrope.testing import corridor_task

TASKS = ("corridor", "FrozenLake8x8-v1", "MountainCar-v0", "CartPole-v1", "mario")
REPEATS = 3
"""Each time is the least of so many."""
clock = time.process_time


class Recorder:
    """Notes every call of chosen methods, so that the same calls can be made again without the search around them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any, Any]] = []
        self._depth = 0

    def around(self, method: Any) -> Any:
        def recorded(*arguments: Any, **options: Any) -> Any:
            self._depth += 1
            result = method(*arguments, **options)
            self._depth -= 1
            # Of nested calls the outer one makes the inner ones again.
            if self._depth == 0:
                self.calls.append((method, arguments, options))
            return result

        return recorded

    def seconds_again(self) -> float:
        """Make the calls again. Payloads are loaded as they were saved, so every step meets the same situation."""
        began = clock()
        for method, arguments, options in self.calls:
            method(*arguments, **options)
        return clock() - began


@dataclass(frozen=True, kw_only=True)
class Cost:
    task: str
    steps: int
    naive_steps: int
    simulator_us: float
    loop_us: float
    bare_steps_per_second: float
    search_steps_per_second: float

    @property
    def saved(self) -> float:
        """How many times fewer steps than the naive way."""
        return self.naive_steps / self.steps


def measure(task: tr.Task, steps: int) -> Cost:
    """Search with so many steps; then make its calls of environment and snapshots again, alone."""
    simulator = open_simulator(task)
    bare = _bare_seconds(simulator, steps)
    stats, seconds, naive = min((_search(simulator, steps) for _ in range(REPEATS)), key=lambda run: run[1])
    recorder = _record(simulator, steps)
    alone = min(recorder.seconds_again() for _ in range(REPEATS))
    simulator.close()
    return Cost(
        task=task.label,
        steps=stats.steps,
        naive_steps=stats.steps + naive,
        simulator_us=alone / stats.steps * 1e6,
        loop_us=(seconds - alone) / stats.steps * 1e6,
        bare_steps_per_second=steps / bare,
        search_steps_per_second=stats.steps / seconds,
    )


def _record(simulator: Simulator, steps: int) -> Recorder:
    recorder = Recorder()
    names = ("reset", "step", "save", "load", "reseed", "key", "identity")
    for name in names:
        setattr(simulator, name, recorder.around(getattr(simulator, name)))
    _search(simulator, steps)
    for name in names:
        delattr(simulator, name)
    return recorder


def _search(simulator: Simulator, steps: int) -> tuple[SearchStats, float, int]:
    """Search again and again until so many steps are done; what a replay at every backtrack would add."""
    stats, replays = SearchStats(), 0
    put_back = simulator.load

    def counting(snapshot: Any, **options: Any) -> None:
        nonlocal replays
        replays += snapshot.depth
        put_back(snapshot, **options)

    simulator.load = counting  # type: ignore[method-assign]
    deterministic = conformance_of(simulator.task).deterministic
    meter = tr.Budget(steps=steps).start()
    began = clock()
    while not meter.spent:
        simulator.reset()
        search = DepthFirst(
            simulator,
            meter=meter,
            stats=stats,
            progress=ProgressLine(None, meter),
            repetitions=1 if deterministic else 22,
            deterministic=deterministic,
            seed=0,
            max_depth=None,
            time_limit=None,
        )
        search.run()
    seconds = clock() - began
    simulator.load = put_back  # type: ignore[method-assign]
    return stats, seconds, replays


def _bare_seconds(simulator: Simulator, steps: int) -> float:
    """The environment alone, with random search actions."""
    env, decode = simulator.env, simulator._decode
    rng, actions = generator("bench"), simulator.task.search_actions
    chosen = [decode(actions[index]) for index in rng.integers(0, len(actions), steps)]
    env.reset(seed=simulator.task.seed)
    began = clock()
    for action in chosen:
        if any(env.step(action)[2:4]):
            env.reset(seed=simulator.task.seed)
    return clock() - began


def bench_task(name: str) -> tr.Task:
    return corridor_task(200, range(4, 200, 7)) if name == "corridor" else tr.make_task(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    heads = ("steps", 7), ("naive", 10), ("saved", 7), ("bare/s", 9), ("search/s", 9), ("step µs", 8), ("loop µs", 8)
    print(f"{'task':24} " + " ".join(f"{head:>{width}}" for head, width in heads))
    for name in options.tasks:
        cost = measure(bench_task(name), options.steps)
        print(
            f"{cost.task:24} {cost.steps:7,} {cost.naive_steps:10,} {cost.saved:6.1f}× "
            f"{cost.bare_steps_per_second:9,.0f} {cost.search_steps_per_second:9,.0f} "
            f"{cost.simulator_us:8.1f} {cost.loop_us:8.1f}"
        )


if __name__ == "__main__":
    main()
