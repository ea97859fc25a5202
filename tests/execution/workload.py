"""Tasks, agents and rollouts on which all ways of running must agree. Importable, so that workers find them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tightrope.agents import Answer
from tightrope.execution import Episode, Rollout
from tightrope.seeding import generator, stable_hash
from tightrope.tasks import Task, Transition
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace


def fell(transition: Transition) -> bool:
    return transition.terminated and transition.reward <= 0


def lost_balance(transition: Transition) -> bool:
    return transition.terminated


def reached(transition: Transition) -> bool:
    return transition.terminated and transition.reward > 0


def lasted(transition: Transition) -> bool:
    return transition.truncated and not transition.terminated


def first_two(env: Any, observation: Any, info: Any) -> tuple[float, float]:
    return float(observation[0]), float(observation[1])


def cell(env: Any, observation: Any, info: Any) -> tuple[float, float]:
    return float(observation), 0.0


def cartpole() -> Task:
    return Task(name="cartpole", make_env=partial(gym.make, "CartPole-v1"), goal=lasted, unsafe=lost_balance,
                position=first_two)  # fmt: skip


def frozen_lake() -> Task:
    return Task(name="lake", make_env=partial(gym.make, "FrozenLake-v1", is_slippery=True), goal=reached, unsafe=fell,
                position=cell)  # fmt: skip


def pendulum() -> Task:
    return Task(name="car", make_env=partial(gym.make, "MountainCarContinuous-v0"), goal=reached, unsafe=fell,
                actions=((-1.0,), (0.0,), (1.0,)), max_steps=60)  # fmt: skip


def lander() -> Task:
    return Task(name="lander", make_env=partial(gym.make, "LunarLander-v3"), goal=reached, unsafe=fell)


def corridor() -> Task:
    return corridor_task(length=30, holes=(7, 15, 22), position=cell)


def slippery_corridor() -> Task:
    return corridor_task(length=30, holes=(7, 15, 22), slip=0.2, one_per_process=True, position=cell)


TASKS = (corridor, slippery_corridor, cartpole, frozen_lake, pendulum, lander)


def digest(observation: Any) -> int:
    return int.from_bytes(np.asarray(observation).tobytes()[:8], "little")


class Steady:
    """Deterministic: looks at the observation only."""

    deterministic, recurrent = True, False
    name, fingerprint = "steady", "steady"

    def __init__(self, actions: Sequence[Any]) -> None:
        self.actions = tuple(actions)

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        chosen = [self.actions[digest(seen) // 7 % len(self.actions)] for seen in observations]
        return Answer(chosen, [None] * len(chosen))


class Noisy(Steady):
    """Now and then draws an action."""

    deterministic = False
    name, fingerprint = "noisy", "noisy"

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        chosen = list(super().act(observations, memories, generators, masks).actions)
        for place, stream in enumerate(generators):
            if stream.random() < 0.2:
                chosen[place] = self.actions[int(stream.integers(len(self.actions)))]
        return Answer(chosen, [None] * len(chosen))


class Rememberer(Noisy):
    """Mixes all it has seen, and what it drew meanwhile, into its choice."""

    recurrent = True
    name, fingerprint = "rememberer", "rememberer"

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        mixed = [
            stable_hash((memory, digest(seen), int(stream.integers(2)))) & 0xFFFFFF
            for seen, memory, stream in zip(observations, memories, generators, strict=True)
        ]
        return Answer([self.actions[mix // 5 % len(self.actions)] for mix in mixed], mixed)


class QuietRememberer(Steady):
    """Deterministic, with memory."""

    recurrent = True
    name, fingerprint = "quiet", "quiet"

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        mixed = [
            ((memory or 0) * 31 + digest(seen)) % 99991 for seen, memory in zip(observations, memories, strict=True)
        ]
        return Answer([self.actions[mix // 5 % len(self.actions)] for mix in mixed], mixed)


def agents(task: Task) -> dict[str, Any]:
    made = [kind(task.search_actions) for kind in (Steady, Noisy, Rememberer, QuietRememberer)]
    return {agent.name: agent for agent in made}


def rollouts(task: Task, count: int = 60, seed: int = 0) -> list[Rollout]:
    """Prefixes of a few traces, some changed in the middle; every kind of continuation; repetitions."""
    rng = generator("workload", task.label, seed)
    actions = task.search_actions
    traces = [[actions[int(rng.integers(len(actions)))] for _ in range(25)] for _ in range(3)]
    made = []
    for _ in range(count):
        trace = list(traces[int(rng.integers(len(traces)))])
        if rng.random() < 0.3:
            trace[int(rng.integers(len(trace)))] = actions[int(rng.integers(len(actions)))]
        cut = int(rng.integers(0, 20)) if rng.random() < 0.8 else 0
        reseeds = ((cut // 2, 5),) if cut and rng.random() < 0.3 else ()
        start = ActionTrace(task.label, int(rng.integers(2)), tuple(trace[:cut]), reseeds)
        who = rng.choice(["", "", "steady", "noisy", "noisy", "rememberer", "quiet"])
        made.append(
            Rollout(
                start=start,
                agent=str(who) or None,
                actions=() if who else tuple(trace[cut : cut + int(rng.integers(12))]),
                length=None if rng.random() < 0.2 else int(rng.integers(0, 15)),
                seed=int(rng.integers(3)),
                fixed_prefix=bool(rng.random() < 0.4),
                record_keys=bool(rng.random() < 0.3),
                record_positions=bool(rng.random() < 0.2),
            )
        )
    return made


def assert_same(ours: Sequence[Episode], theirs: Sequence[Episode]) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one == other
        for name in ("keys", "positions"):
            left, right = getattr(one, name), getattr(other, name)
            assert (left is None) == (right is None), name
            assert left is None or (left.dtype == right.dtype and np.array_equal(left, right)), name
