"""How much is played by more than one of many workers, in a level where the clock is reckoned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tightrope as tr
from tests.execution.simulated import LeapingAgent, level_task, simulated_engine
from tightrope.fuzzing import ActionSource
from tightrope.fuzzing.breeding import Bred
from tightrope.fuzzing.control import run_control
from tightrope.fuzzing.playing import TracePlayer

TASK = level_task()
AGENT = LeapingAgent()


@pytest.fixture(scope="module")
def reference() -> Any:
    return tr.probe_boundary(TASK, tr.search(TASK, seed=0).reference)


def played(workers: int, work: Callable[[tr.Engine], Any]) -> tuple[int, Any]:
    """Steps executed by so many workers, and what came out."""
    engine = simulated_engine(TASK, {AGENT.name: AGENT}, workers)
    with engine:
        found = work(engine)
        return engine.counters.steps_executed, found


def test_workers_of_a_fuzzing_play_little_that_another_knows(reference: Any) -> None:
    def fuzzed(engine: tr.Engine) -> Any:
        return tr.fuzz(TASK, reference.actions, 12, 100, engine=engine, control=False)

    alone, expected = played(1, fuzzed)
    # As they are: 1.08 and 1.15; divided in the order of the paths, to the last who was there: 1.22 and 1.42.
    for workers, most in ((8, 1.16), (16, 1.26)):
        steps, found = played(workers, fuzzed)
        assert steps <= most * alone
        assert found.individuals == expected.individuals


def test_workers_of_a_suite_play_the_way_to_its_cases_and_little_else(reference: Any) -> None:
    suite = tr.action_coverage_suite(reference, 2, TASK.search_actions)

    def tested(engine: tr.Engine) -> Any:
        return tr.run_suite(TASK, AGENT, suite, repetitions=10, length=40, survivable=False, engine=engine)

    alone, expected = played(1, tested)
    steps, found = played(16, tested)
    assert found.fail_frequency == expected.fail_frequency
    # Each of the others plays the way to its cases, half of the reference on average, and some of it twice.
    assert steps - alone <= 15 * len(reference.actions) * 1.1


def test_the_control_of_a_fuzzing_waits_for_no_generation() -> None:
    generations = [[tr.ActionTrace(TASK.label, 0, (0,) * 100)] * 25 for _ in range(20)]

    def matched(engine: tr.Engine) -> Any:
        traces = TracePlayer(engine, ActionSource(TASK.open_env().action_space, TASK.search_actions), 0)
        return run_control(Bred(traces=generations), traces, size=15, independent=False, seed=0)

    alone, expected = played(1, matched)
    steps, found = played(16, matched)
    assert found == expected
    # Generation by generation 1.30, this way 1.15.
    assert steps <= 1.2 * alone


def test_fuzzings_with_several_seeds_do_not_wait_for_the_longest_trace_of_each(reference: Any) -> None:
    first = tr.fuzz(TASK, reference.actions, 6, 20, control=False)

    def seconds(work: Callable[[tr.Engine], Any]) -> float:
        engine = simulated_engine(TASK, {}, 16)
        with engine:
            work(engine)
            backend: Any = engine._runner.backend
            return float(backend.clock)

    def alone(seed: int) -> float:
        return seconds(lambda engine: tr.fuzz(TASK, reference.actions, 6, 20, seed=seed, engine=engine, control=False))

    # As it is: 0.35 of the time that one after the other takes.
    assert seconds(lambda engine: tr.fuzz_again(TASK, first, (1, 2, 3, 4), engine=engine)) < 0.6 * sum(
        map(alone, (1, 2, 3, 4))
    )
