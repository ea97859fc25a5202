"""Item 8: what a reset to a situation costs, in steps of the bare environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.measuring import Figure, busy

import tightrope as tr
from tightrope.simulation import open_simulator
from tightrope.training import SituationStarts

TASKS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {},
    "FrozenLake-v1": {"is_slippery": False},
    "MiniGrid-LavaCrossingS9N1-v0": {},
    "Hopper-v5": {},
    "mario": {"level": "1-1"},
}
SITUATIONS, DEPTH, MOST = 8, 12, 10
ROUNDS = 7


def figures(*, quick: bool) -> Iterator[Figure]:
    """On every task that has exact snapshots: the time of a reset over the time of a step, in turns."""
    for name, options in TASKS.items():
        task = tr.make_task(name, **options)
        traces = _situations(task)
        env = SituationStarts(task, traces, share=1.0, seed=0)
        for number in range(len(traces)):
            env.reset(options={"situation": number})
        # The middle of some, since the same microseconds may be half as many again a second later.
        found = sorted((_measured(env, 10 if quick else 80) for _ in range(ROUNDS)), key=lambda each: each[1] / each[0])
        step, reset = found[ROUNDS // 2]
        yield Figure(
            item=8, name=f"reset to a situation, in steps of the environment: {name}", value=reset / step, unit="steps",
            aim=f"< {MOST}", met=reset / step < MOST, note=f"{reset * 1e6:.0f} µs, {step * 1e6:.0f} µs",
            low=found[0][1] / found[0][0], high=found[-1][1] / found[-1][0],
        )  # fmt: skip
        env.close()


def _measured(env: SituationStarts, rounds: int) -> tuple[float, float]:
    """Seconds of a step and of a reset; whoever trains looks at every observation, so that is part of both."""
    steps, stepping, resetting = 0, 0.0, 0.0
    env.action_space.seed(0)
    for _ in range(rounds):
        began = busy()
        _look(env.reset()[0])
        resetting += busy() - began
        actions, over = [env.action_space.sample() for _ in range(DEPTH)], False
        began = busy()
        for action in actions:
            if not over:
                observation, _, terminated, truncated, _ = env.env.step(action)
                _look(observation)
                over, steps = terminated or truncated, steps + 1
        stepping += busy() - began
    return stepping / steps, resetting / rounds


def _look(observation: Any) -> None:
    np.asarray(observation["image"] if isinstance(observation, dict) else observation)


def _situations(task: tr.Task) -> list[tr.ActionTrace]:
    """Some situations a few random steps after reset that an episode is not over in."""
    rng, found = np.random.default_rng(1), []
    simulator = open_simulator(task)
    actions = task.search_actions
    while len(found) < SITUATIONS:
        trace = tr.ActionTrace(task.label, len(found))
        simulator.reset(trace.seed)
        while len(trace) < DEPTH and not simulator.outcome.terminal:
            action = actions[int(rng.integers(len(actions)))]
            simulator.step(action)
            if not simulator.outcome.terminal:
                trace = trace.then([action])
        found.append(trace)
    simulator.close()
    return found
