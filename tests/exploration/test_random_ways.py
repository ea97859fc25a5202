"""Ways out by random actions: found where steering is needed, and only ways that were really played."""

from __future__ import annotations

from contextlib import closing

import tightrope as tr
from tightrope.exploration.random_ways import find_random_way
from tightrope.outcome import Outcome
from tightrope.seeding import generator
from tightrope.simulation import open_simulator, play

LENGTH = 60


def test_a_pole_is_kept_up_where_no_held_action_keeps_it_up() -> None:
    task = tr.make_task("CartPole-v1")
    with closing(open_simulator(task)) as simulator:
        for action in task.search_actions:
            held = tr.ActionTrace(task.label, 0).then([action] * LENGTH)
            for _ in play(simulator, held):
                pass
            assert simulator.outcome is Outcome.UNSAFE
        simulator.reset(seed=0)
        start = simulator.save()
        found = [
            find_random_way(simulator, start, task.search_actions, LENGTH, 2_000, generator("feeling", number))
            for number in range(4)
        ]
        ways = [way for way in found if way is not None]
        assert ways
        for way in ways:
            for _ in play(simulator, tr.ActionTrace(task.label, 0).then(way)):
                pass
            assert len(way) == LENGTH
            assert simulator.outcome is not Outcome.UNSAFE


def test_it_takes_no_more_steps_than_it_may_and_the_same_each_time() -> None:
    task = tr.make_task("CartPole-v1")
    with closing(open_simulator(task)) as simulator:
        simulator.reset(seed=0)
        start, before = simulator.save(), simulator.counters.steps
        assert find_random_way(simulator, start, (1,), LENGTH, 300, generator("feeling")) is None
        assert 300 <= simulator.counters.steps - before < 300 + LENGTH
        one, two = (find_random_way(simulator, start, (0, 1), 20, 2_000, generator("feeling")) for _ in range(2))
        assert one == two is not None
