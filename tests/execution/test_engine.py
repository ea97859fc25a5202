from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import tightrope as tr
from tests.execution.test_worker import naive
from tests.execution.workload import TASKS, agents, assert_same, rollouts
from tightrope.errors import UnknownName
from tightrope.execution import Engine
from tightrope.seeding import generator
from tightrope.tasks import Task
from tightrope.testing import corridor_task


@pytest.mark.parametrize("make_task", TASKS)
@pytest.mark.parametrize("backend", ["inline", "processes"])
def test_shuffled_work_gives_the_same_episodes_on_every_back_end(make_task: Callable[[], Task], backend: str) -> None:
    task = make_task()
    work = rollouts(task, count=120)
    order = generator("shuffle").permutation(len(work))
    expected = naive(task, work)
    with Engine(task, agents(task), backend=backend, workers=2 if backend == "processes" else None) as engine:
        assert_same(engine.run(work), expected)
        assert_same(engine.run([work[place] for place in order]), [expected[place] for place in order])
        assert_same(list(engine.stream(iter(work))), expected)


def test_a_misspelt_back_end_is_named_before_anything_runs() -> None:
    with pytest.raises(UnknownName, match=r"There is no back end named 'process'\. Did you mean 'processes'"):
        tr.Engine(corridor_task(), backend="process")


@pytest.mark.parametrize("make_task", TASKS)
def test_nothing_of_an_engine_waits_for_the_garbage_collector(make_task: Callable[[], Task]) -> None:
    """Rings of objects hold snapshots and remembered episodes until it comes by, and the more there are the slower."""
    task = make_task()
    work = rollouts(task, count=40)
    with Engine(task, agents(task)) as engine:
        engine.run(work[:20])
        with everything_unreachable() as waiting:
            engine.run(work[20:])
    assert waiting == []
    with everything_unreachable() as waiting:
        del engine
    assert waiting == []


@contextmanager
def everything_unreachable() -> Iterator[list[str]]:
    """The modules of this package of whose types something cannot be reached any more, and is not freed."""
    found: list[str] = []
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.disable()
    try:
        yield found
        gc.collect()
        modules = {type(each).__module__ for each in gc.garbage}
        found += sorted(module for module in modules if module.startswith("tightrope"))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
