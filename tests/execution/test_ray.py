from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.execution.test_hangs import LIMIT, Hanging, check, work_around, world
from tests.execution.test_remembering import expected
from tests.execution.test_worker import naive
from tests.execution.workload import TASKS, agents, assert_same, frozen_lake, rollouts
from tightrope.errors import UsageError
from tightrope.execution import Engine, Rollout
from tightrope.trace import ActionTrace

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.xdist_group("ray")  # one cluster, not one for each process of the test run


@pytest.mark.parametrize("address", ["127.0.0.1:1", "[::1]:1", "auto"])
def test_a_cluster_that_is_not_there_is_said_at_once(address: str) -> None:
    with pytest.raises(UsageError, match=rf"no Ray cluster could be reached at '{re.escape(address)}'.*ray start"):
        Engine(frozen_lake(), backend="ray", ray_address=address)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes; the last may be killed."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    made.doomed = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.parametrize("make_task", TASKS)
def test_ray_gives_the_same_episodes(cluster: Any, make_task: Any) -> None:
    task = make_task()
    work = rollouts(task)
    with Engine(task, backend="ray", workers=2) as engine:
        engine.add_agents(agents(task))
        assert_same(engine.run(work), naive(task, work))
        assert engine.counters.agent_queries > 0


def test_agents_that_remember_or_draw_play_the_same(cluster: Any) -> None:
    task, made, episodes = expected("slippery")
    with Engine(task, made, backend="ray", workers=2) as engine:
        assert_same(engine.run([episode.rollout for episode in episodes]), episodes)


def test_a_node_killed_in_the_middle_changes_nothing(cluster: Any) -> None:
    task = frozen_lake()
    work = rollouts(task, count=1500)
    nodes = [cluster.doomed]
    with Engine(task, agents(task), backend="ray", workers=3) as engine:

        def kill_once(episode: Any) -> None:
            if nodes:
                cluster.remove_node(nodes.pop(), allow_graceful=False)

        assert_same(engine.run(work, on_episode=kill_once), naive(task, work))
    assert not nodes


def test_a_step_that_hangs_is_an_error_there_too(cluster: Any) -> None:
    task = world(Hanging)
    hanging = Rollout(start=ActionTrace(task.label, 0), actions=(0,) * 7)
    with Engine(task, backend="ray", workers=1, step_timeout=LIMIT) as engine:
        check(engine.run(work_around(hanging)), hanging, "step 6 with action 0 did not return")
