"""Two agents' returns along the robust-performance curve."""

from __future__ import annotations

import pytest

from tightrope.performance import Comparison, Robustness
from tightrope.performance.results import PrefixTest
from tightrope.runs.questions.contest import _returns
from tightrope.statistics import Estimate

NOTHING = Estimate.of_nothing()


def curve(points: dict[int, list[tuple[float, ...]]], *, certain: bool) -> Robustness:
    """Prefix length → the agent's returns in each test."""
    named = ("agent", "traces", "difference", "agent_iqm", "traces_iqm", "agent_goal_share", "traces_goal_share")
    return Robustness(
        task="t", agent="a", settings={}, agent_iqm=NOTHING, traces_iqm=NOTHING, agent_goal_share=NOTHING,
        points=tuple(
            Comparison(
                prefix_length=at, agent_deterministic=certain, traces_deterministic=True,
                tests=tuple(
                    PrefixTest(
                        trace=f"trace {number}", length=9, prefix_reward=0.0, ended=False, agent_returns=returns,
                        trace_returns=(1.0,), agent_goals=0, trace_goals=0,
                    )
                    for number, returns in enumerate(tests)
                ),
                **dict.fromkeys(named, NOTHING),
            )
            for at, tests in points.items()
        ),
    )  # fmt: skip


def test_where_nothing_is_random_the_difference_is_a_fact_and_one_start_is_one() -> None:
    old = curve({0: [(10.0,)] * 50, 5: [(1.0,), (2.0,)]}, certain=True)
    new = curve({0: [(30.0,)] * 50, 5: [(4.0,), (9.0,)]}, certain=True)
    start, later = (each.difference for each in _returns(old, new))
    assert (start.value, start.low, start.high, start.n) == (20, 20, 20, 1), "not fifty: all share one episode"
    assert (later.value, later.low, later.high, later.n) == (5, 5, 5, 2)
    assert later.question == "on these cases"


def test_what_is_random_is_paired_execution_by_execution() -> None:
    old = curve({0: [(0.0, 2.0)] * 9, 5: [tuple(map(float, range(30)))] * 2}, certain=False)
    new = curve({0: [(1.0, 5.0)] * 9, 5: [tuple(2.0 * each for each in range(30))] * 2}, certain=False)
    start, later = (each.difference for each in _returns(old, new))
    assert (start.value, start.low, start.n) == (2, None, 2)
    assert later.n == 60
    assert later.value == pytest.approx(14.5)
    assert later.low < later.value < later.high  # type: ignore[operator]


def test_one_that_stands_for_all_is_set_against_each() -> None:
    old, new = curve({5: [(1.0,)]}, certain=True), curve({5: [(2.0, 4.0)]}, certain=False)
    (found,) = _returns(old, new)
    assert (found.difference.value, found.difference.n) == (2, 2)
    assert not list(_returns(old, curve({7: [(1.0,)]}, certain=True))), "no length that both have"
    assert not list(_returns(None, new))
