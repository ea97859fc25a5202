"""A level to run through, and workers on a clock that is reckoned: how much work is done twice does not depend on the
machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents.agent import Agent, Answer
from tightrope.execution.backends.backend import Assignment, Report, work_through
from tightrope.execution.engine import Engine
from tightrope.execution.prefixes.costs import Costs
from tightrope.execution.scheduling.dispatch import WorkerPace
from tightrope.execution.worker.worker import Worker
from tightrope.seeding import generator
from tightrope.tasks.task import Task, Transition

RUN, JUMP = 0, 1
FLIGHT = 6
"""Steps from the ground back to it."""
STEP = 1e-3
"""Seconds of a step; saving and loading take a tenth of it, as on an emulator."""
MESSAGE = 2e-3
"""Seconds to hand over a piece of work."""


class Level(gym.Env[Any, Any]):
    """One step forward each time; over a hole one has to be in the air."""

    action_space: gym.Space[Any] = gym.spaces.Discrete(2)
    observation_space: gym.Space[Any] = gym.spaces.Box(0, 1000, (3,), np.float32)

    def __init__(self, length: int) -> None:
        places = generator("level", length).choice(np.arange(12, length - 8, 8), length // 12, replace=False)
        self.length, self.holes = length, {int(place) + more for place in places for more in (0, 1)}
        self.x = self.air = self.jumps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.air = self.jumps = 0
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action == JUMP and not self.air:
            self.air, self.jumps = FLIGHT, self.jumps + 1
        self.air = max(0, self.air - 1)
        self.x += 1
        fell = not self.air and self.x in self.holes
        return self._seen(), 1.0 - 10.0 * fell, fell or self.x == self.length, False, {}

    def _seen(self) -> Any:
        return np.array([self.x, self.air, min(h - self.x for h in (*self.holes, 9999) if h >= self.x)], np.float32)


def level_task(length: int = 250) -> Task:
    """To the end without falling."""
    return Task(
        name="level",
        make_env=lambda: Level(length),
        state_key=lambda env, observation, info: (env.x, env.air),
        goal=lambda transition: bool(transition.terminated and transition.reward > 0),
        unsafe=_fell,
    )


def _fell(transition: Transition) -> bool:
    return bool(transition.terminated and transition.reward < 0)


class SimulatedBackend:
    """So many workers in this process. Each does its work at once, and is done when a clock says so."""

    may_stall = False

    def __init__(self, task: Task, agents: Mapping[str, Agent], conformance: Any, workers: int) -> None:
        costs = Costs(step=STEP, save=STEP / 10, load=STEP / 10)
        self.workers, self.clock = workers, 0.0
        self._workers = [Worker(task, agents, conformance, memory_limit=2**30, costs=costs) for _ in range(workers)]
        self._due: dict[int, tuple[float, Report]] = {}

    def submit(self, worker: int, work: Assignment) -> None:
        results = list(work_through(self._workers[worker], work))
        counters = self._workers[worker].counters.taken()
        seconds = MESSAGE + STEP * (counters.steps_executed or len(work))
        report = Report(worker, work, results, finished=True, counters=counters, seconds=seconds)
        self._due[worker] = self.clock + seconds, report

    def collect(self, timeout: float | None) -> list[Report]:
        worker = min(self._due, key=lambda worker: self._due[worker][0])
        self.clock, report = self._due.pop(worker)
        return [report]

    def add_agents(self, agents: Mapping[str, Agent]) -> None:
        for worker in self._workers:
            worker.agents.update(agents)

    def replace(self, worker: int) -> None:
        raise AssertionError("nobody stalls here")

    def abandon(self) -> None:
        self._due.clear()

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


class LeapingAgent:
    """Jumps before a hole, and one time in twenty does anything."""

    name = fingerprint = "leaping"
    deterministic = recurrent = False

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        return Answer(list(map(self._choice, observations, generators)), [None] * len(observations))

    def _choice(self, seen: Any, rng: np.random.Generator) -> int:
        return int(rng.integers(2)) if rng.random() < 0.05 else JUMP if seen[2] <= 3 else RUN


def simulated_engine(task: Task, agents: Mapping[str, Agent], workers: int) -> Engine:
    """An engine whose workers are simulated."""
    engine = Engine(task, agents)
    engine.close()
    backend = SimulatedBackend(task, agents, engine.conformance, workers)
    engine._runner.begin(backend, deterministic=engine.deterministic)
    engine._runner._pace = WorkerPace(1 / STEP)
    return engine
