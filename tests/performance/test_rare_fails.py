"""Mean returns of step 4 where failing is so rare that many samples show no fail: how often their intervals hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tightrope as tr
from tightrope.execution import Episode, Rollout
from tightrope.outcome import Outcome
from tightrope.performance.between import return_differences
from tightrope.performance.play import ComparisonPlan, prefix_test
from tightrope.performance.reach import Reach
from tightrope.performance.results import Comparison, PrefixTest
from tightrope.performance.robust import _point
from tightrope.performance.simple import simple_comparison
from tightrope.statistics.earnings import COST_OF_A_FAIL_NOT_KNOWN, Earnings
from tightrope.trace import ActionTrace

STEPS, FAILS = 20, 0.02
PLAN = ComparisonPlan(
    agent="a", agent_repetitions=1, trace_repetitions=1, agent_deterministic=False, traces_deterministic=False,
    length=None, seed=0,
)  # fmt: skip
NOTHING = tr.Estimate.of_nothing()


class World:
    """Earns 1 a step for twenty steps, or fails in one of the first twelve; both ends may be paid."""

    def __init__(self, seed: int, *, goal: float = 0.0, fail: float = 0.0) -> None:
        self.rng, self.goal, self.fail = np.random.default_rng(seed), goal, fail
        self.truth = (1 - FAILS) * (STEPS + goal) + FAILS * (6.5 + fail)

    def episode(self) -> Episode:
        failed = self.rng.random() < FAILS
        steps = int(self.rng.integers(1, 13)) if failed else STEPS
        rewards = [1.0] * steps
        rewards[-1] += self.fail if failed else self.goal
        return Episode(
            rollout=Rollout(start=ActionTrace("t", 0), length=STEPS), prefix_steps=0, prefix_reward=0.0,
            prefix_outcome=Outcome.ONGOING, outcome=Outcome.UNSAFE if failed else Outcome.GOAL,
            actions=(0,) * steps, rewards=tuple(rewards),
        )  # fmt: skip

    def tests(self, number: int, *, shared: Sequence[Episode] | None = None) -> tuple[PrefixTest, ...]:
        """One for each of so many traces; at reset the agent's episodes are shared."""
        return tuple(
            prefix_test(ActionTrace("t", 0, (each,)), shared or [self.episode()], [self.episode()])
            for each in range(number)
        )


def holds(found: tr.Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


@pytest.mark.parametrize(("episodes", "rounds"), [(50, 100), (100, 60), (200, 20)])
def test_from_reset_the_mean_return_allows_for_earlier_ends_than_any_seen(episodes: int, rounds: int) -> None:
    world, hits = World(3), 0
    for _ in range(rounds):
        tests = world.tests(1, shared=[world.episode() for _ in range(episodes)])
        reach = Reach.of({0: tests}, tests, traces_deterministic=False)
        hits += holds(simple_comparison(PLAN, tests, tests, reach).agent, world.truth)
    assert hits / rounds >= 0.95


@pytest.mark.parametrize(("goal", "fail"), [(0.0, 0.0), (10.0, -10.0)])
def test_from_prefixes_means_and_differences_cover(goal: float, fail: float) -> None:
    world, names = World(4, goal=goal, fail=fail), ("agent", "traces", "difference")
    hits, given = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(60):
        rows = {at: world.tests(10) for at in (1, 2, 3, 4, 5, 6)}
        point = _point(PLAN, 1, rows[1], Reach.of(rows, (), traces_deterministic=False))
        for name in names:
            found = getattr(point, name)
            given[name] += found.low is not None
            hits[name] += holds(found, 0.0 if name == "difference" else world.truth)
            assert found.low is not None or found.method == COST_OF_A_FAIL_NOT_KNOWN
    assert min(given.values()) >= 40
    assert all(hits[name] / given[name] >= 0.95 for name in names)


def test_two_agents_from_the_same_situations_cover() -> None:
    world, hits = World(5), 0
    for _ in range(100):
        old, new = (world.tests(1, shared=[world.episode() for _ in range(60)]) for _ in range(2))
        ((_, found),) = return_differences(curve(old), curve(new))
        hits += holds(found, 0.0)
    assert hits >= 95


def curve(tests: tuple[PrefixTest, ...]) -> tr.Robustness:
    named = ("agent", "traces", "difference", "agent_iqm", "traces_iqm", "agent_goal_share", "traces_goal_share")
    point = Comparison(
        prefix_length=0, agent_deterministic=False, traces_deterministic=False, tests=tests,
        **dict.fromkeys(named, NOTHING),
    )  # fmt: skip
    return tr.Robustness(
        task="t", agent="a", settings={}, points=(point,), agent_iqm=NOTHING, traces_iqm=NOTHING,
        agent_goal_share=NOTHING,
    )  # fmt: skip


@pytest.mark.parametrize("fail", [0.0, -20.0])
def test_plain_returns_cover_or_are_not_given_where_ends_are_paid(fail: float) -> None:
    world, given, hits = World(6, goal=4.0, fail=fail), 0, 0
    for _ in range(100):
        episodes = tuple(world.episode() for _ in range(60))
        found = tr.Evaluation(task="t", agent="a", fingerprint="", episodes=episodes).mean_return
        failed = any(episode.outcome is Outcome.UNSAFE for episode in episodes)
        assert (found.low is not None) == failed
        assert failed or found.method == COST_OF_A_FAIL_NOT_KNOWN
        given, hits = given + failed, hits + holds(found, world.truth)
    assert given > 50
    assert hits / given >= 0.95


def test_what_a_fail_costs_is_learned_from_whoever_fails() -> None:
    passed = Earnings.of([1.0, 1.0, 9.0], Outcome.GOAL)
    assert isinstance(passed.bounds, str)
    fell = Earnings.of([1.0, -5.0], Outcome.UNSAFE)
    both = Earnings.joined([passed, fell])
    assert both is not None
    assert both.bounds == (-5.0, 11.0), "a fail with the very first step"
    assert Earnings.of([1.0, 1.0, 1.0], Outcome.GOAL).bounds == (1.0, 3.0), "an end that is not paid may come earlier"
    assert Earnings.of([1.0, 1.0, 9.0], Outcome.TRUNCATED).bounds == (1.0, 11.0), "nobody was paid for an end"
    assert Earnings.joined([]) is None
    assert Earnings.of([], Outcome.UNSAFE, before=3.0).reach == (3.0, 3.0)
