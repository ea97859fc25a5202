"""What depth-first search costs, measured in processor time because tests share their machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_search.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_search", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    import sys

    sys.modules["bench_search"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bench_search"]


@pytest.mark.parametrize("name", ["corridor", "CartPole-v1"])
def test_the_loop_costs_less_than_25_microseconds_a_step(bench, name):
    costs = [bench.measure(bench.bench_task(name), 1000) for _ in range(2)]
    assert min(cost.loop_us for cost in costs) < 25


def test_snapshots_save_most_steps(bench):
    assert bench.measure(bench.bench_task("corridor"), 1000).saved > 5
