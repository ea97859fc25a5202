"""Agents with memory and random numbers of their own: no episode, and so no verdict, depends on how it was run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import tightrope as tr
from tests.agents import minds
from tests.execution.test_worker import by_worker
from tests.execution.workload import assert_same, cartpole, corridor, slippery_corridor
from tightrope.agents import Agent, Answer
from tightrope.errors import NotReproducible
from tightrope.execution import Engine, Episode, Rollout
from tightrope.execution.naive import run_naively
from tightrope.execution.scheduling.second_opinions import require_same
from tightrope.execution.worker import agent_memory
from tightrope.execution.worker.worker import Worker
from tightrope.seeding import generator
from tightrope.simulation import conformance_of, open_simulator
from tightrope.tasks import Task
from tightrope.testing import corridor_task
from tightrope.testing.worlds import JUMP, WALK
from tightrope.trace import ActionTrace

KINDS = {**minds.REMEMBERING, **minds.DRAWING, **minds.STEADY}
WORLDS = {"corridor": corridor, "slippery": slippery_corridor, "cartpole": cartpole}


class InPlace:
    """A complete agent that changes the memory it is handed."""

    name, fingerprint, deterministic, recurrent = "in place", "in place", True, True

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        held = [memory or {"sum": 0} for memory in memories]
        for memory, seen in zip(held, observations, strict=True):
            memory["sum"] += minds.digest(seen)
        return Answer([memory["sum"] // 3 % 2 for memory in held], held)


def agents(task: Task) -> dict[str, Agent]:
    return {title: tr.load_agent(kind(), task, name=title) for title, kind in KINDS.items()} | {"in place": InPlace()}


def work(task: Task, count: int = 150) -> list[Rollout]:
    """Starts that extend each other, repeated, with every kind of agent."""
    rng = generator("remembering", task.label)
    traces = [tuple(int(action) for action in rng.integers(2, size=14)) for _ in range(2)]
    names = [*KINDS, "in place"]
    made = []
    for _ in range(count):
        cut = int(rng.integers(0, 12))
        start = ActionTrace(task.label, int(rng.integers(2)), traces[int(rng.integers(2))][:cut])
        made.append(
            Rollout(
                start=start if rng.random() < 0.7 or not cut else start.__class__(*_reseeded(start, cut)),
                agent=names[int(rng.integers(len(names)))],
                length=int(rng.integers(1, 15)),
                seed=int(rng.integers(3)),
                fixed_prefix=bool(rng.random() < 0.5),
                record_keys=bool(rng.random() < 0.2),
            )
        )
    return made


def _reseeded(start: ActionTrace, cut: int) -> tuple[Any, ...]:
    return start.task, start.seed, start.actions, ((cut // 2, 5),)


@cache
def expected(world: str) -> tuple[Task, dict[str, Agent], list[Episode]]:
    task = WORLDS[world]()
    made, simulator = agents(task), open_simulator(task)
    deterministic = conformance_of(task).deterministic
    found = [run_naively(simulator, made, one, deterministic=deterministic) for one in work(task)]
    assert not any(episode.error for episode in found)
    return task, made, found


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("lanes", [1, 5, None])
@pytest.mark.parametrize("room", [2**28, -1], ids=["remembered", "no room to remember"])
def test_every_lane_has_a_memory_of_its_own(
    world: str, lanes: int | None, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_memory, "MOST_BYTES", room)
    task, made, episodes = expected(world)
    worker = Worker(task, made, conformance_of(task), memory_limit=2**28, lanes=lanes)
    assert_same(by_worker(worker, work(task)), episodes)
    assert_same(by_worker(worker, work(task)[::-1]), episodes[::-1])


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_every_back_end_gives_the_same_episodes(world: str, backend: str) -> None:
    task, made, episodes = expected(world)
    order = generator("shuffle").permutation(len(episodes))
    with Engine(task, made, backend=backend, workers=2 if backend == "processes" else None) as engine:
        assert_same(engine.run([work(task)[place] for place in order]), [episodes[place] for place in order])


PLAN = (WALK, WALK, JUMP, WALK, JUMP, WALK, WALK, WALK)
"""Over the holes at 3 and 6 of a corridor of ten cells."""


class Planner:
    """Perfect from reset: plays its plan by the number of steps."""

    def reset(self) -> None:
        self.step = 0

    def act(self, observation: Any) -> int:
        self.step += 1
        return PLAN[self.step - 1]


def drawn(observation: Any) -> int:
    import random

    return random.randrange(2)


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_an_object_that_is_perfect_from_reset_never_fails(backend: str) -> None:
    """Sharing one step counter between episodes it failed in four of ten."""
    task = corridor_task(length=10, holes=(3, 6))
    agent = tr.load_agent(Planner(), task)
    starts = [ActionTrace(task.label, 0, PLAN[:length]) for length in range(len(PLAN))]
    with Engine(task, {"agent": agent}, backend=backend, workers=2 if backend == "processes" else None) as engine:
        episodes = engine.run([Rollout(start=start, agent="agent") for start in starts * 3])
    assert {episode.outcome for episode in episodes} == {tr.Outcome.GOAL}
    assert all(episode.deterministic for episode in episodes)


def test_no_verdict_depends_on_the_back_end() -> None:
    task = corridor_task(length=10, holes=(3, 6))
    suite = tr.simple_suite(tr.search(task).reference)
    kinds = {"planner": Planner, "drawn": lambda: drawn} | {
        title: KINDS[title] for title in ("frames", "own", "enclosing")
    }
    judged = []
    for backend in ("inline", "processes"):
        with Engine(task, backend=backend, workers=2 if backend == "processes" else None) as engine:
            for title, kind in kinds.items():
                agent = tr.load_agent(kind(), task, name=title)
                found = tr.run_suite(task, agent, suite, repetitions=10, engine=engine)
                assert all(len(case.episodes) == (1 if agent.deterministic else 10) for case in found.cases)
                judged.append((title, found.fail_frequency, [case.fails for case in found.cases]))
    half = len(judged) // 2
    assert judged[:half] == judged[half:]
    assert judged[0][2] == [0, 0]
    assert any(sum(fails) for _, _, fails in judged)


class Late:
    """Says that it does not remember, and does from its five-thousandth answer on."""

    name, fingerprint, deterministic, recurrent = "late", "late", True, False

    def __init__(self) -> None:
        self.answers = 0

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        self.answers += len(observations)
        return Answer([int(self.answers > 5000)] * len(observations), [None] * len(observations))


@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_an_agent_that_is_not_what_it_seemed_stops_the_run_by_name(backend: str) -> None:
    task = slippery_corridor()
    rollouts = [Rollout(start=ActionTrace(task.label, 0), agent="late", length=20, seed=seed) for seed in range(1500)]
    engine = Engine(task, {"late": Late()}, backend=backend, workers=2 if backend == "processes" else None)
    with (
        engine,
        pytest.raises(NotReproducible, match=r"agent 'late' was run twice .* at its step \d+ it played 0, then 1"),
    ):
        engine.run(rollouts)


def test_an_environment_that_answers_the_same_actions_otherwise_is_not_blamed_on_the_agent() -> None:
    task = slippery_corridor()
    with Engine(task, {"steady": tr.load_agent(minds.steady, task)}) as engine:
        [first] = engine.run([Rollout(start=ActionTrace(task.label, 0), agent="steady", length=9)])
    require_same(first, first)
    other = replace(first, actions=first.actions[:-1], rewards=first.rewards[:-1], outcome=tr.Outcome.UNSAFE)
    for pair in ((first, other), (other, first)):
        with pytest.raises(
            NotReproducible, match="it played the same, but the environment answered otherwise: "
        ) as raised:
            require_same(*pair)
        assert "Its answers depend" not in str(raised.value)


def test_a_steady_agent_is_run_again_for_a_hundredth_of_its_episodes() -> None:
    task = slippery_corridor()
    with Engine(task, {"steady": tr.load_agent(minds.steady, task)}) as engine:
        engine.run(
            Rollout(start=ActionTrace(task.label, 0), agent="steady", length=9, seed=seed) for seed in range(2000)
        )
        assert engine.counters.episodes == 2000
        assert 8 <= engine.counters.episodes_rechecked <= 35
