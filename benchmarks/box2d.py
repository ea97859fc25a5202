"""Box2D cannot be saved: what a branching costs by replay, by fork, and with environments kept paused along a trace.

``python benchmarks/box2d.py`` prints a table. Times are processor time of this process and its children, which other
load on the machine adds little to.

Paused environments are no copies: each serves one branching and is then elsewhere, and bringing the next one to where
it stood takes every step from reset again. So they are counted, not timed: the steps that all branchings along a trace
take together are those of replay, less the one environment that walks along.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym

NAMES = ("LunarLander-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3")
STEPS, DEPTHS, BRANCHINGS = 60, (25, 50, 100, 200, 400), 10


class Costs(NamedTuple):
    """Seconds."""

    reset: float
    step: float
    fork: float
    """A copy of the process that plays one step and ends."""


def spent() -> float:
    """Processor time so far."""
    both = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def each(call: Callable[[], Any], times: int) -> float:
    """Mean processor time of a call."""
    before = spent()
    for _ in range(times):
        call()
    return (spent() - before) / times


def costs(env: Any) -> Costs:
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(STEPS)]

    def play() -> None:
        env.reset(seed=0)
        for action in actions:
            if env.step(action)[2]:
                env.reset(seed=0)

    def fork() -> None:
        child = os.fork()
        if child == 0:
            env.step(actions[0])
            os._exit(0)
        os.waitpid(child, 0)

    reset = each(lambda: env.reset(seed=0), 10)
    return Costs(reset=reset, step=(each(play, 5) - reset) / STEPS, fork=each(fork, 30))


def paused_steps(depth: int, branchings: int) -> int:
    """Steps to have ``branchings`` environments paused along a trace of this length, evenly: each is walked there."""
    return sum(depth * number // branchings for number in range(1, branchings + 1))


def main(kinds: tuple[str, ...] = ("lean", "worker")) -> None:
    for kind in kinds:
        if kind == "worker":
            # What a worker process has in memory is copied by a fork, too.
            import onnxruntime  # noqa: F401
            import torch  # noqa: F401

            import tightrope  # noqa: F401
        print(f"\n{kind} process, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
        for name in NAMES:
            found = costs(gym.make(name))
            cheaper = max(0.0, (found.fork - found.reset) / found.step)
            print(
                f"{name:26} reset {1e3 * found.reset:6.2f} ms  step {1e6 * found.step:6.0f} µs  fork "
                f"{1e3 * found.fork:5.2f} ms; a fork is cheaper from depth {cheaper:.0f} on"
            )
            for depth in DEPTHS:
                replayed = BRANCHINGS * found.reset + paused_steps(depth, BRANCHINGS) * found.step
                forked = found.reset + depth * found.step + BRANCHINGS * found.fork
                print(
                    f"    {BRANCHINGS} branchings along {depth:3} steps: replay and paused environments "
                    f"{1e3 * replayed:7.1f} ms, one walker and forks {1e3 * forked:7.1f} ms"
                )


if __name__ == "__main__":
    main()
