"""Item 12: worlds of Box2D cannot be saved. What coming back to a situation costs by replay and by forks, by depth.

Coming back means: stand there again, and play a few steps more, which forks pay for, too: each is a question to another
process. Environments kept paused along a trace are not measured: they are no copies, so each serves one branching, and
bringing the next one to where it stood takes every step from reset again, which is replay.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
from benchmarks.measuring import Figure

import tightrope as tr
from tightrope.seeding import generator
from tightrope.simulation import Conformance, Simulator, conformance_of, open_simulator
from tightrope.simulation.forking.environment import ForkCosts
from tightrope.simulation.forking.family import end_processes, family_of
from tightrope.simulation.forking.measuring import measure_forking, pays

NAMES = ("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3")
DEPTHS = (25, 100, 400)
TIMES, STEPS_ON = 4, 20


class Unending(gym.Wrapper[Any, Any, Any, Any]):
    """Goes on after its end: steps cost the same there, and every depth can be reached."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, _, _, info = self.env.step(action)
        return observation, reward, False, False, info


def figures(*, quick: bool) -> Iterator[Figure]:
    """For each world and depth: processor time of a replay over that of a fork, taken in turns."""
    for name in NAMES:
        task = tr.Task(name=name, make_env=partial(_made, name), goal=_never, unsafe=_never, state_key=_nothing)
        verdict = replace(conformance_of(task), forking=None)
        actions = _walk(task)
        costs = measure_forking(task, 0, actions)
        for depth in DEPTHS[:1] if quick else DEPTHS:
            by_replay, by_fork = _in_turns(task, verdict, costs, actions[: depth + STEPS_ON], depth)
            yield Figure(
                item=12, name=f"coming back to step {depth}, replay over fork: {name}", value=by_replay / by_fork,
                unit="×", note=f"{1e3 * by_replay:.1f} ms, {1e3 * by_fork:.1f} ms; tightrope "
                f"{'forks' if pays(costs) else 'replays'}",
            )  # fmt: skip
        end_processes(task)


def spent(task: tr.Task) -> float:
    """Processor time of this process and of those that hold environments of the task, ended ones included."""
    ticks, group = 0, family_of(task).process_group
    for about in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            fields = about.read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15])) if int(fields[2]) == group else 0
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def _in_turns(
    task: tr.Task, verdict: Conformance, costs: ForkCosts, actions: list[Any], depth: int
) -> tuple[float, float]:
    """Seconds to come back and go on, by replay and by fork; what it takes to come there first is not in it."""
    seconds = []
    for forking in (None, costs):
        with closing(open_simulator(task, replace(verdict, forking=forking))) as simulator:
            seconds.append(_spent_coming_back(simulator, actions, depth))
    return seconds[0], seconds[1]


def _spent_coming_back(simulator: Simulator, actions: list[Any], depth: int) -> float:
    simulator.reset(0)
    for action in actions[:depth]:
        simulator.step(action)
    here = simulator.save()
    simulator.reset(0)
    simulator.load(here)
    before = spent(simulator.task)
    for _ in range(TIMES):
        for action in actions[depth:]:
            simulator.step(action)
        simulator.load(here)
    return (spent(simulator.task) - before) / TIMES


def _made(name: str) -> Any:
    options = {"continuous": False} if name.startswith("CarRacing") else {}
    make = partial(gym.make, name, disable_env_checker=True, max_episode_steps=-1, **options)
    return Unending(tr.renewed_env(make) if name.startswith("BipedalWalker") else make())


def _walk(task: tr.Task) -> list[Any]:
    rng = generator("box2d", task.name)
    return [task.search_actions[int(rng.integers(len(task.search_actions)))] for _ in range(max(DEPTHS) + STEPS_ON)]


def _never(transition: tr.Transition) -> bool:
    return False


@tr.LossyKey
def _nothing(env: Any, observation: Any, info: Any) -> int:
    return 0


if __name__ == "__main__":
    for figure in figures(quick=False):
        print(figure)
