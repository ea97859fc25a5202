from __future__ import annotations

import json

import pytest

from tests.fuzzing.worlds import Blind, Careful, Dice
from tightrope.errors import FormatError, UsageError
from tightrope.execution import Engine
from tightrope.performance import Comparison, compare_performance
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace

CORRIDOR = corridor_task()


def trace(*actions: int, seed: int = 0, task: str = "corridor") -> ActionTrace:
    return ActionTrace(task, seed, actions)


BEST = trace(1, 1, 0, 1, 1, 0)  # 2, 4, 5, 7, 9, 10: six steps, return 4
FALL = trace(0, 0, 0)  # into the hole at 3: return -13
SHORT = trace(1)  # stands at 2: return -1


class Recording(Engine):
    """An engine that keeps what it was asked."""

    def run(self, rollouts, **options):
        self.asked = list(rollouts)
        return super().run(self.asked, **options)


def test_by_hand() -> None:
    result = compare_performance(CORRIDOR, Careful(), [BEST, FALL, SHORT])
    assert result.prefix_length == 0
    assert result.agent.value == 2  # eight steps, ten for the goal
    assert result.traces.value == pytest.approx((4 - 13 - 1) / 3)
    assert result.difference.value == pytest.approx(2 + 10 / 3)
    assert result.difference.low is None  # three traces do not show how far such traces reach
    assert "fewer than 50" in result.difference.method
    assert result.traces.n == result.difference.n == 3
    assert result.agent_goal_share.value == 1
    assert result.traces_goal_share.value == pytest.approx(1 / 3)
    assert [test.trace_returns for test in result.tests] == [(4,), (-13,), (-1,)]
    assert [test.agent_returns for test in result.tests] == [(2,)] * 3
    assert result.errors == 0


def test_what_cannot_differ_is_executed_once_and_said_to_be_so() -> None:
    with Recording(CORRIDOR) as engine:
        result = compare_performance(CORRIDOR, Careful(), [BEST, FALL, BEST], episodes=10, engine=engine)
        assert len(engine.asked) == 3  # the agent once, two different traces
    assert result.agent_deterministic
    assert result.traces_deterministic
    assert result.agent.n == 1
    assert "one execution stands for all" in result.agent.method
    assert result.agent.low == result.agent.high == 2


def test_a_random_agent_gets_all_its_episodes() -> None:
    result = compare_performance(CORRIDOR, Dice(), [BEST, SHORT], episodes=40)
    assert not result.agent_deterministic
    assert result.traces_deterministic
    assert result.agent.n == 40
    assert len(set(result.tests[0].agent_returns)) > 1
    assert result.tests[0].agent_returns == result.tests[1].agent_returns
    assert result.agent_goal_share.n == 40


def test_a_stochastic_task_executes_everything() -> None:
    task = corridor_task(slip=0.5)
    result = compare_performance(task, Careful(), [BEST, SHORT], episodes=200)
    first, second = result.tests
    assert len(first.trace_returns) == len(first.agent_returns) == 200
    assert second.trace_returns == (-1,) * 200
    # The agent jumps twice, each time into the hole's far side with probability one half, else into the hole.
    assert result.agent_goal_share.value == pytest.approx(0.25, abs=0.09)
    assert result.agent_goal_share.n == 200
    assert not result.traces_deterministic


def test_the_seed_matters_and_suffices() -> None:
    task = corridor_task(slip=0.5)
    first, second, other = (compare_performance(task, Dice(), [BEST], episodes=20, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other


def test_several_reset_seeds() -> None:
    result = compare_performance(CORRIDOR, Careful(), [BEST, trace(1, seed=5)])
    assert result.agent.n == 2
    assert result.agent.value == 2


def test_length_bounds_the_agent() -> None:
    result = compare_performance(CORRIDOR, Careful(), [BEST], length=3)
    assert result.agent.value == -3
    assert result.agent_goal_share.value == 0


class Broken(Blind):
    name, fingerprint = "broken", "broken"

    def act(self, observations, memories, generators, masks):
        raise RuntimeError("no idea")


def test_an_agent_that_raises_leaves_no_data() -> None:
    result = compare_performance(CORRIDOR, Broken(), [BEST])
    assert result.errors == 1
    assert result.agent.value is None
    assert result.agent.n == 0
    assert str(result.difference) == "no data"
    assert str(result.agent_goal_share) == "no data"
    assert result.traces.value == 4
    assert result.tests[0].agent_mean is None


def test_json() -> None:
    result = compare_performance(CORRIDOR, Dice(), [BEST, FALL])
    content = json.loads(json.dumps(result.to_json()))
    assert Comparison.from_json(content) == result
    with pytest.raises(FormatError):
        Comparison.from_json({**content, "version": 99})


@pytest.mark.parametrize(
    ("traces", "options", "rule"),
    [
        ([], {}, "no traces"),
        ([trace(0, task="chess")], {}, "of task 'chess'"),
        ([BEST], {"episodes": 0}, "episodes must be 1 or more"),
        (7, {}, "not int"),
    ],
)
def test_wrong_input(traces, options, rule) -> None:
    with pytest.raises(UsageError, match=rule):
        compare_performance(CORRIDOR, Careful(), traces, **options)
