"""Work that is only expected: begun by workers that would wait, and never more than a matter of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tightrope as tr
from tests.execution.late_randomness import GOAL, late_slip
from tests.execution.simulated import STEP, LeapingAgent, level_task, simulated_engine
from tests.execution.test_worker import naive
from tests.execution.workload import TASKS, agents, assert_same, corridor, rollouts
from tightrope.errors import UnknownName
from tightrope.execution import Engine, Rollout
from tightrope.safety.run import suite_rollouts
from tightrope.simulation.conformance import deep_walks
from tightrope.tasks import Task
from tightrope.trace import ActionTrace

LEVEL, AGENT = level_task(), LeapingAgent()


def lengthen(task: Task, payload: int) -> int:
    return payload + len(task.name)


@pytest.mark.parametrize("make_task", TASKS)
def test_what_was_expected_comes_out_as_if_it_had_not_been(make_task: Callable[[], Task]) -> None:
    task = make_task()
    work, other = rollouts(task, seed=3), rollouts(task, seed=4)
    with Engine(task, agents(task), backend="processes", workers=3) as engine:
        engine.expect(other)
        engine.expect(work[::2])
        assert_same(engine.run(work[:20]), naive(task, work[:20]))
        # Whoever is at something that nobody waits for must do this first.
        assert engine.map(lengthen, [1, 2, 3, 4]) == [number + len(task.name) for number in (1, 2, 3, 4)]
        engine.expect(work)
        assert_same(engine.run(work), naive(task, work))
        assert_same(engine.run(other), naive(task, other))


@pytest.fixture(scope="module")
def reference() -> Any:
    return tr.probe_boundary(LEVEL, tr.search(LEVEL, seed=0).reference)


def test_workers_that_would_wait_for_the_longest_trace_begin_with_what_is_expected(reference: Any) -> None:
    suite = tr.action_coverage_suite(reference, 2, LEVEL.search_actions)
    expected = suite_rollouts(suite, AGENT.name, repetitions=5, length=40, seed=0, fixed_prefix=True)

    def spent(*, says_so: bool) -> tuple[float, Any]:
        engine = simulated_engine(LEVEL, {AGENT.name: AGENT}, 16)
        with engine:
            if says_so:
                engine.expect(expected)
            fuzzed = tr.fuzz(LEVEL, reference.actions, 5, 60, engine=engine, control=False)
            tested = tr.run_suite(LEVEL, AGENT, suite, repetitions=5, length=40, survivable=False, engine=engine)
            backend: Any = engine._runner.backend
            return backend.clock, (fuzzed.individuals, tested.cases)

    before, found = spent(says_so=False)
    after, same = spent(says_so=True)
    assert same == found
    # As it is: 0.76 of the time.
    assert after < 0.9 * before


def test_a_job_does_not_wait_for_what_nobody_waits_for() -> None:
    engine = simulated_engine(LEVEL, {AGENT.name: AGENT}, 4)
    with engine:
        engine.expect([_played(seed) for seed in range(400)])
        backend: Any = engine._runner.backend
        [alone] = engine.run([_played(1000)])
        assert backend.clock < 3 * len(alone.actions) * STEP
        [one] = engine.run([_played(0)])
        assert one.rollout == _played(0)


def _played(seed: int) -> Rollout:
    return Rollout(start=ActionTrace(LEVEL.label, 0), agent=AGENT.name, seed=seed)


def test_what_is_expected_and_never_asked_for_tells_nothing() -> None:
    task = corridor()
    seen: list[Any] = []
    with Engine(task, agents(task), backend="processes", workers=2) as engine:
        engine.expect(rollouts(task, seed=5))
        work = rollouts(task, seed=6)
        found = engine.run(work, on_episode=seen.append)
        assert sorted(episode.rollout.id for episode in seen) == sorted(rollout.id for rollout in work)
        assert engine.counters.episodes == len(found) == len(work)


def test_one_worker_never_waits_so_it_expects_nothing() -> None:
    task = corridor()
    with Engine(task, agents(task)) as engine:
        engine.expect(rollouts(task, seed=5))
        engine.run([Rollout(start=ActionTrace(task.label, 0), actions=(1,))])
        assert engine.counters.steps_executed <= 2


def test_an_agent_that_is_not_known_is_named_at_once() -> None:
    task = corridor()
    with Engine(task, backend="processes", workers=2) as engine, pytest.raises(UnknownName, match="nobody"):
        engine.expect([Rollout(start=ActionTrace(task.label, 0), agent="nobody")])


def test_randomness_that_only_the_expected_meets_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_walks, "MOST_STEPS", 0)
    task = late_slip()
    long_way = [Rollout(start=ActionTrace(task.label, seed), actions=(1,) * GOAL, seed=seed) for seed in range(60)]
    short = [Rollout(start=ActionTrace(task.label, 0), actions=(1,) * 3 + (0,) * number) for number in range(1, 6)]
    with Engine(task, backend="processes", workers=2) as engine:
        assert engine.deterministic, "the check does not come so far"
        engine.expect(long_way)
        engine.run(short)
        engine.map(lengthen, [1])
        episodes = engine.run(long_way)
        assert not engine.deterministic
        assert len({episode.outcome for episode in episodes}) == 2
