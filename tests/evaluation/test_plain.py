from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.fuzzing.worlds import Careful
from tightrope.errors import UsageError
from tightrope.evaluation.plain import SAMPLE_OF_STARTS
from tightrope.execution import Episode, Rollout
from tightrope.execution.naive import run_naively
from tightrope.outcome import Outcome
from tightrope.simulation import open_simulator
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace

CORRIDOR = corridor_task()
SLIPPERY = corridor_task(slip=0.2)
GALLERY = Path(__file__).parents[2] / "agents" / "gallery"


def walk_into_the_hole(observation):
    return 0


def random_start():
    """A corridor whose start is drawn at reset: cells 0 … 3, the hole at 2."""

    class Env(gym.Env):
        observation_space = gym.spaces.Discrete(8)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.cell = int(self.np_random.integers(4)) * 2 + 1
            return self.cell, {}

        def step(self, action):
            return self.cell, float(self.cell), True, False, {}

    return Env()


STARTS = tr.Task(
    name="starts",
    make_env=random_start,
    goal=lambda t: t.terminated and t.observation > 1,
    unsafe=lambda t: t.terminated and t.observation == 1,
)


def test_starts_that_are_all_alike_are_tried_a_few_times_and_have_no_width() -> None:
    result = tr.evaluate(CORRIDOR, Careful(), episodes=100)
    assert len(result.episodes) == SAMPLE_OF_STARTS
    assert result.starts_alike
    assert (result.goal_rate.value, result.goal_rate.low, result.goal_rate.high) == (1, 1, 1)
    assert (result.unsafe_rate.value, result.unsafe_rate.high) == (0, 0)
    assert result.mean_return.value == result.mean_return.low == 2
    assert "same episode" in result.goal_rate.method


def test_an_agent_that_fails_plainly_is_said_to_fail() -> None:
    agent = tr.load_agent(walk_into_the_hole, CORRIDOR, name="blind")
    result = tr.evaluate(CORRIDOR, agent, episodes=20)
    assert result.unsafe_rate.value == result.fail_frequency.value == 1
    assert len(result.failing_episodes) == SAMPLE_OF_STARTS


def test_starts_that_differ_are_all_played_and_counted() -> None:
    agent = tr.load_agent(walk_into_the_hole, STARTS, name="any")
    result = tr.evaluate(STARTS, agent, episodes=200, seed=1)
    assert len(result.episodes) == 200
    assert not result.starts_alike
    assert result.unsafe_rate.low < 0.25 < result.unsafe_rate.high
    assert result.unsafe_rate.n == 200
    assert result.unsafe_rate.value + result.goal_rate.value + result.timeout_rate.value == pytest.approx(1)


def test_the_rates_of_a_stochastic_task_hold_the_truth() -> None:
    # Careful jumps twice over holes; each jump falls short with probability 0.2.
    result = tr.evaluate(SLIPPERY, Careful(), episodes=400, seed=0)
    assert result.unsafe_rate.low < 1 - 0.8**2 < result.unsafe_rate.high


def test_every_episode_is_what_the_naive_way_gives() -> None:
    result = tr.evaluate(SLIPPERY, Careful(), episodes=12)
    simulator = open_simulator(SLIPPERY)
    for episode in result.episodes:
        assert run_naively(simulator, {"careful": Careful(), Careful().name: Careful()}, episode.rollout) == episode


def test_the_same_seed_gives_the_same_result_and_another_does_not() -> None:
    first, again, other = (tr.evaluate(SLIPPERY, Careful(), episodes=40, seed=seed) for seed in (0, 0, 1))
    assert first.episodes == again.episodes
    assert first.episodes != other.episodes


def test_two_agents_meet_the_same_starts() -> None:
    blind = tr.load_agent(walk_into_the_hole, STARTS, name="blind")
    other = tr.load_agent(lambda observation: 1, STARTS, name="other")
    starts = [[e.rollout.start for e in tr.evaluate(STARTS, agent, episodes=20).episodes] for agent in (blind, other)]
    assert starts[0] == starts[1]


def test_a_budget_stops_between_batches_and_what_was_played_counts() -> None:
    result = tr.evaluate(SLIPPERY, Careful(), episodes=1000, budget=tr.Budget(steps=100))
    assert SAMPLE_OF_STARTS < len(result.judged) < 100
    assert result.unsafe_rate.n == len(result.judged)


def test_the_last_batch_is_no_larger_than_the_rest_of_the_budget_should_be_enough_for() -> None:
    """Where steps are slow, a whole batch beyond the budget had taken as long as all before it."""
    task = tr.make_task("CartPole-v1", max_episode_steps=100)
    upright = tr.load_agent(lambda seen: int(seen @ [0.1, 0.5, 3.0, 1.0] > 0), task, name="upright")
    result = tr.evaluate(task, upright, episodes=1000, budget=tr.Budget(steps=1_450))
    assert {episode.outcome for episode in result.episodes} == {tr.Outcome.GOAL}
    assert len(result.episodes) == 15


def test_episodes_cut_by_the_length_are_timeouts() -> None:
    result = tr.evaluate(CORRIDOR, Careful(), episodes=3, length=2)
    assert result.timeout_rate.value == 1
    assert {len(episode.actions) for episode in result.episodes} == {2}


def test_errors_are_counted_and_are_in_no_rate() -> None:
    def breaks(observation):
        raise RuntimeError("no")

    result = tr.evaluate(CORRIDOR, tr.load_agent(breaks, CORRIDOR, name="breaks"), episodes=3)
    assert result.errors == 3
    assert result.unsafe_rate.value is None
    assert result.mean_return.value is None
    assert "3 raised errors, the first with " in repr(result)
    assert "RuntimeError: no" in repr(result)


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"length": 0}])
def test_wrong_arguments_are_named(wrong) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        tr.evaluate(CORRIDOR, Careful(), **wrong)


def test_a_trained_agent_on_cart_pole() -> None:
    task = tr.make_task("CartPole-v1")
    early = tr.evaluate(task, tr.load_agent(GALLERY / "cartpole-early.onnx", task, name="early"), episodes=40)
    late = tr.evaluate(task, tr.load_agent(GALLERY / "cartpole-late.onnx", task, name="late"), episodes=40)
    assert early.mean_return.value < 0.5 * late.mean_return.value
    assert early.unsafe_rate.low > 0.5


@pytest.mark.parametrize("given", [walk_into_the_hole, "agent.zip", object()])
def test_what_was_not_loaded_is_refused_with_the_way_to_load_it(given):
    with pytest.raises(UsageError, match=r"an agent is what tightrope\.load_agent\(…, task=task\) returns, not"):
        tr.evaluate(CORRIDOR, given, episodes=1)
    with pytest.raises(UsageError, match=r"load it first"):
        tr.demonstrate(task=CORRIDOR, agent=given)
    with pytest.raises(UsageError, match=r"load it first"):
        tr.find_references(CORRIDOR, 1, agents=[given])


def failing(steps: int | None) -> Episode:
    """An episode that earns 1 a step: a fail after so many, or a hundred of them."""
    length, outcome = (100, Outcome.GOAL) if steps is None else (steps, Outcome.UNSAFE)
    return Episode(
        rollout=Rollout(start=ActionTrace("t", 0), length=100), prefix_steps=0, prefix_reward=0.0,
        prefix_outcome=Outcome.ONGOING, outcome=outcome, actions=(0,) * length, rewards=(1.0,) * length,
    )  # fmt: skip


def returns_of(fails: Sequence[int | None]) -> tr.Estimate:
    return tr.Evaluation(task="t", agent="a", fingerprint="", episodes=tuple(map(failing, fails))).mean_return


@pytest.mark.parametrize("episodes", [60, 100])
def test_the_mean_return_covers_where_fails_are_so_rare_that_many_samples_miss_them(episodes: int) -> None:
    rng = np.random.default_rng(5)
    truth, hits = 0.98 * 100 + 0.02 * 30.5, 0
    for _ in range(200):
        fails = [int(rng.integers(1, 61)) if rng.random() < 0.02 else None for _ in range(episodes)]
        found = returns_of(fails)
        hits += found.low <= truth <= found.high  # type: ignore[operator]
    assert hits / 200 >= 0.95


def test_who_always_earns_the_same_may_fail_yet() -> None:
    found = returns_of([None] * 100)
    assert (found.value, found.high) == (100, 100)
    # As often as its unsafe ends say: 3.6 % of a hundred, each for what it had earned after a step.
    assert found.low == pytest.approx(100 - 0.0362 * 99, abs=0.1)
    assert returns_of([None] * 20).low is None, "too few to know how far returns reach"
