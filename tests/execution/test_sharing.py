"""What is stepped, and what is not: the counters tell."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.execution.test_worker import by_worker, naive
from tests.execution.workload import agents, assert_same, cartpole, corridor, frozen_lake
from tightrope.execution import Engine, Episode, Rollout
from tightrope.execution.prefixes.costs import Costs
from tightrope.execution.prefixes.tree import PrefixTree
from tightrope.execution.worker.worker import Worker
from tightrope.outcome import Outcome
from tightrope.simulation import conformance_of
from tightrope.simulation.snapshot import Snapshot
from tightrope.tasks.task import Transition
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace

LONG = corridor_task(length=400, holes=())


def at(length: int, seed: int = 0) -> ActionTrace:
    return ActionTrace(LONG.label, seed, (0,) * length)


def test_a_common_prefix_is_stepped_once() -> None:
    with Engine(LONG) as engine:
        episodes = engine.run([Rollout(start=at(100), actions=(1,) * n + (0,)) for n in range(20)])
        assert engine.counters.steps_asked == sum(100 + n + 1 for n in range(20))
        assert engine.counters.steps_asked == sum(e.prefix_steps + len(e.actions) for e in episodes)
        # The prefix, the longest tail, and one last step for each; a few steps more to come back to branches.
        assert engine.counters.steps_executed < 100 + 19 + 20 + 20 * 32
        known = engine.counters.steps_executed
        engine.run([Rollout(start=at(n), actions=(0,) * (100 - n)) for n in range(100)])
        assert engine.counters.steps_saved > 10_000
        assert engine.counters.steps_executed <= known + 200


def test_identical_rollouts_and_deterministic_repetitions_run_once_and_say_so() -> None:
    made = agents(LONG)
    with Engine(LONG, made) as engine:
        quiet = engine.run([Rollout(start=at(3), agent="steady", length=30, seed=seed) for seed in range(10)])
        assert all(episode.deterministic for episode in quiet)
        assert [episode.rollout.seed for episode in quiet] == list(range(10))
        assert engine.counters.steps_executed <= 33
        assert engine.counters.episodes == 10
        before = engine.counters.steps_executed
        noisy = engine.run([Rollout(start=at(3), agent="noisy", length=30, seed=seed % 2) for seed in range(10)])
        assert not any(episode.deterministic for episode in noisy)
        assert len({episode.actions for episode in noisy}) == 2
        assert engine.counters.steps_executed - before <= 2 * 33
        before = engine.counters.steps_executed
        assert engine.run([Rollout(start=at(3), agent="noisy", length=30, seed=1)])[0] == noisy[1]
        assert engine.counters.steps_executed == before


def test_stochastic_repetitions_are_all_run_but_a_fixed_prefix_only_once() -> None:
    lake = frozen_lake()
    start = ActionTrace(lake.label, 0, (3, 3))
    free = [Rollout(start=start, actions=(3,), seed=seed) for seed in range(50)]
    fixed = [Rollout(start=start, actions=(3,), seed=seed, fixed_prefix=True) for seed in range(50)]
    with Engine(lake) as engine:
        episodes = engine.run(free)
        assert not any(episode.deterministic for episode in episodes)
        assert engine.counters.steps_executed >= 100
        before = engine.counters.steps_executed
        checksums = {episode.checksum for episode in engine.run(fixed)}
        assert len(checksums) == 1
        assert engine.counters.steps_executed - before <= 2 + 50 + 2


def test_one_agent_query_serves_all_lanes() -> None:
    with Engine(LONG, agents(LONG), lanes=8) as engine:
        engine.run([Rollout(start=at(n), agent="noisy", length=20, seed=n) for n in range(16)])
        assert engine.counters.mean_batch == 8
        assert engine.counters.agent_queries == 40


def test_cursors_share_steps_between_repetitions_and_agents() -> None:
    cheap = Costs(step=1.0, save=0.0, load=0.0)
    work = [Rollout(start=at(5), agent=name, length=30, seed=seed) for name in ("noisy", "steady") for seed in range(8)]
    worker = Worker(LONG, agents(LONG), conformance_of(LONG), memory_limit=2**28, costs=cheap)
    assert_same(by_worker(worker, work), naive(LONG, work))
    paths = {episode.trace.actions[:n] for episode in naive(LONG, work) for n in range(1, 36)}
    assert worker.counters.steps_executed == len(paths)


def test_the_memory_limit_holds_on_a_long_job() -> None:
    limit = 400_000
    pole = cartpole()
    worker = Worker(pole, agents(pole), conformance_of(pole), memory_limit=limit)
    largest = 0

    def work() -> Iterator[list[Rollout]]:
        for block in range(16):
            yield [Rollout(start=ActionTrace(pole.label, 50 * block + n), actions=(0, 1) * 8) for n in range(50)]

    by_worker(worker, next(work()))
    tracemalloc.start()
    for block in work():
        by_worker(worker, block)
        largest = max(largest, worker._tree.bytes)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert limit / 2 < largest <= limit * 1.5
    assert held < 3 * limit + 500_000


class Payload:
    """Something whose end can be watched."""


@pytest.mark.parametrize("forget", [PrefixTree.clear, lambda tree: tree._forget_before(1)])
def test_what_is_forgotten_is_freed_at_once_and_not_when_python_collects(forget: Callable[[PrefixTree], None]) -> None:
    tree = PrefixTree(limit=2**20)
    payload = Payload()
    freed = weakref.ref(payload)
    point = (tree.plant(seed=0), 0)
    for label in (0, 1):
        point = tree.branch(point, label), 0
    tree.keep(point, Snapshot(payload, Transition(None, 0.0, False, False, {}), Outcome.ONGOING, 2, None))
    del payload, point
    gc.disable()
    try:
        assert freed() is not None
        forget(tree)
        assert freed() is None
    finally:
        gc.enable()


def test_the_memory_limit_holds_while_lanes_are_under_way() -> None:
    limit = 1_000_000
    work = [Rollout(start=at(0), agent="noisy", seed=seed) for seed in range(30)]
    cheap = Costs(step=1.0, save=0.0, load=0.0)
    worker = Worker(LONG, agents(LONG), conformance_of(LONG), memory_limit=limit, lanes=10, costs=cheap)
    found: dict[int, Episode] = {}
    for place, episode in worker.run(work):
        found[place] = episode
        assert worker._tree.bytes <= 1.5 * limit
    assert_same([found[place] for place in range(30)], naive(LONG, work))


def test_a_stream_holds_few_episodes_and_takes_rollouts_as_it_goes() -> None:
    taken = 0

    def endless() -> Iterator[Rollout]:
        nonlocal taken
        while True:
            taken += 1
            yield Rollout(start=at(taken % 50), actions=(0,), seed=taken)

    with Engine(LONG) as engine:
        stream = engine.stream(endless())
        first = [next(stream) for _ in range(100)]
        assert [episode.rollout.seed for episode in first] == list(range(1, 101))
        assert taken < 10_000
        stream.close()


def test_counters_add_up_and_say_nothing_where_nothing_was_measured() -> None:
    with Engine(corridor()) as engine:
        assert engine.counters.mean_batch is None
        assert engine.counters.as_dict()["steps_saved"] == 0
        engine.run([Rollout(start=ActionTrace("corridor", 0), actions=(0, 0))])
        assert engine.counters.episodes == 1
        assert engine.counters.seconds_environment > 0
        assert engine.counters.mean_batch is None


actions = st.lists(st.integers(0, 1), max_size=14).map(tuple)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(
    paths=st.lists(st.tuples(actions, actions, st.booleans(), st.booleans()), min_size=1, max_size=12),
    limit=st.sampled_from([0, 3_000, 2**28]),
    spacing=st.sampled_from([0.0, 1e-4, 1.0]),
)
def test_any_set_of_paths_is_told_rightly(
    paths: list[tuple[tuple[int, ...], tuple[int, ...], bool, bool]], limit: int, spacing: float
) -> None:
    task = TOY
    work = [
        Rollout(start=ActionTrace(task.label, 0, prefix), actions=rest, record_keys=keys, record_positions=places)
        for prefix, rest, keys, places in paths
    ]
    costs = Costs(step=1e-4, save=spacing, load=0.0)
    worker = Worker(task, {}, conformance_of(task), memory_limit=limit, costs=costs)
    expected = naive(task, work)
    assert_same(by_worker(worker, work), expected)
    assert_same(by_worker(worker, work[::-1]), expected[::-1])


TOY = corridor()
