from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.execution.test_worker import naive
from tests.execution.workload import TASKS, agents, assert_same, rollouts
from tightrope.execution import Engine
from tightrope.seeding import generator
from tightrope.tasks import Task


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
