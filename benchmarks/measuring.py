"""What all benchmarks share: figures, clocks, the naive way on the same rollouts, the shipped Mario agent."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tightrope as tr
from tightrope.execution.naive import run_naively
from tightrope.simulation import conformance_of, open_simulator

AGENTS = Path(__file__).parents[1] / "agents" / "mario"
FRAMES_PER_STEP = 4

busy = time.process_time
"""For one process: seconds of processor time, to which other load on the machine adds little."""
wall = time.perf_counter
"""For several processes."""


def all_busy() -> float:
    """Seconds of processor time of this process and of those it has started; of it alone where they cannot be seen."""
    total = busy()
    for about in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            # What comes after the name: state, parent, …; the 12th and 13th are the times.
            state = about.read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(state[1]) == os.getpid():
                total += (int(state[11]) + int(state[12])) / os.sysconf("SC_CLK_TCK")
    return total


NOT_INSTALLED = "not installed"
"""The note of a figure that there is none of because a library is missing."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured number."""

    item: int
    name: str
    value: float | None
    """None: no data."""
    unit: str
    aim: str = ""
    met: bool | None = None
    note: str = ""
    low: float | None = None
    """The least that it may be, by the seeds or repetitions it is made of; None: not told."""
    high: float | None = None
    direction: str = ""
    """Whether "higher" or "lower" is better, where neither aim nor unit tells it."""

    @property
    def shown(self) -> str:
        """Value and unit."""
        return "no data" if self.value is None else f"{self.value:.3g} {self.unit}".strip()

    @property
    def better(self) -> str | None:
        """Whether "higher" or "lower" is better: by what it says, its aim or its unit; None where neither is."""
        if self.direction:
            return self.direction
        if self.aim:
            return "higher" if self.aim[0] in "≥>" else "lower"
        return {"×": "higher", "s": "lower", "µs": "lower", "B": "lower", "MB": "lower", "MB/s": "lower"}.get(self.unit)

    @property
    def limits(self) -> tuple[float, float]:
        """Between what it lies; the value itself where nothing is told."""
        assert self.value is not None
        return (
            self.value if self.low is None else min(self.low, self.value),
            self.value if self.high is None else max(self.high, self.value),
        )

    def __str__(self) -> str:
        verdict = {None: "", True: "met", False: "NOT met"}[self.met]
        return f"{self.item}  {self.name:<58} {self.shown:>16}   {self.aim:<14} {verdict:<8} {self.note}"


@contextmanager
def timed(clock: Callable[[], float]) -> Iterator[Callable[[], float]]:
    """Yields a function that tells the seconds of the block, once it is over."""
    spent = [0.0]
    began = clock()
    yield lambda: spent[0]
    spent[0] = clock() - began


class Listening:
    """An engine that remembers what it was asked, so that the naive way can be asked the same."""

    def __init__(self, engine: tr.Engine) -> None:
        self._engine = engine
        self.rollouts: list[tr.Rollout] = []
        self.episodes: list[tr.Episode] = []

    def run(self, rollouts: Any, **options: Any) -> list[tr.Episode]:
        asked = list(rollouts)
        found = self._engine.run(asked, **options)
        self.rollouts += asked
        self.episodes += found
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def naive_seconds(
    task: tr.Task, agents: Mapping[str, Any], heard: Listening, *, repetitions: int, sample: int
) -> float:
    """Seconds the naive way needs for everything heard: measured on every k-th rollout, scaled by steps.

    Where one execution stands for all repetitions, the naive way still makes every one of them. The sampled episodes
    are compared with the engine's, so a ratio is never one between different results.
    """
    simulator, deterministic = open_simulator(task), conformance_of(task).deterministic
    total = 0.0
    for with_agent in (False, True):
        pairs = [
            pair
            for pair in zip(heard.rollouts, heard.episodes, strict=True)
            if (pair[0].agent is not None) == with_agent
        ]
        chosen = pairs[:: max(1, len(pairs) // sample)]
        began = busy()
        found = [run_naively(simulator, agents, rollout, deterministic=deterministic) for rollout, _ in chosen]
        seconds = busy() - began
        assert found == [episode for _, episode in chosen], "the engine's episodes differ from the naive ones"
        steps = sum(_steps(episode) * (repetitions if episode.deterministic else 1) for _, episode in pairs)
        total += seconds * steps / max(1, sum(map(_steps, found)))
    simulator.close()
    return total


def _steps(episode: tr.Episode) -> int:
    return episode.prefix_steps + len(episode.actions)


def bare_seconds_per_step(task: tr.Task, traces: Sequence[tr.ActionTrace]) -> float:
    """Processor seconds per step of the environment alone, driven by a plain loop; resets are counted in."""
    env = task.make_env()
    steps, began = 0, busy()
    for trace in traces:
        env.reset(seed=trace.seed)
        for action in trace.actions:
            env.step(action)
        steps += len(trace)
    seconds = busy() - began
    env.close()
    return seconds / steps


def bare_core_seconds_per_step(trace: tr.ActionTrace) -> float:
    """Processor seconds per step of the emulator's core alone: buttons and frames, nothing read or kept."""
    env = mario().make_env().unwrapped
    core, start = env._machine._core, env.blob
    frames = [env._masks[action] for action in trace.actions for _ in range(FRAMES_PER_STEP)]
    spent = []
    for _ in range(4):
        core.set_state(start)
        began = busy()
        for pressed in frames:
            core.set_button_mask(pressed, 0)
            core.step()
        spent.append(busy() - began)
    env.close()
    return sum(spent) / len(spent) / len(trace)


@cache
def mario() -> tr.Task:
    return tr.make_task("mario", level="1-1")


@cache
def mario_reference() -> Any:
    return tr.search(mario(), budget=tr.Budget(seconds=300)).reference


def mario_agent(epsilon: float) -> Any:
    return tr.load_agent(str(AGENTS / "1-1-dense-2-moves-late.onnx"), mario(), epsilon=epsilon)


def four_suites(task: tr.Task, reference: Any) -> list[Any]:
    """Those of the paper's figures."""
    actions = task.search_actions
    return [
        tr.simple_suite(reference),
        tr.interval_suite(reference, 1),
        tr.action_coverage_suite(reference, 1, actions),
        tr.action_coverage_suite(reference, 2, actions),
    ]
