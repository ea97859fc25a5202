from __future__ import annotations

import json

import pytest

from tests.fuzzing.worlds import Blind, Careful, Counting, Dice, trail_solution, trail_task
from tests.performance.test_simple import BEST, FALL, SHORT, Recording, trace
from tightrope.agents import Agent
from tightrope.errors import FormatError, UsageError
from tightrope.fuzzing import fuzz
from tightrope.performance import Robustness, compare_performance, compare_robustness
from tightrope.performance.robust import draw_traces, expect_comparison
from tightrope.testing import corridor_task

CORRIDOR = corridor_task()
TRACES = [BEST, BEST.prefix(5), FALL, SHORT]


def test_by_hand() -> None:
    result = compare_robustness(CORRIDOR, Careful(), [BEST], tests=1, step_width=2)
    assert [point.prefix_length for point in result.points] == [0, 2, 4, 6]
    # After 2 steps at cell 4: walks to 5, jumps to 7, walks three times: seven steps instead of six.
    assert [point.agent.value for point in result.points] == [2, 3, 3, 4]
    assert [point.traces.value for point in result.points] == [4, 4, 4, 4]
    assert [point.difference.value for point in result.points] == [-2, -1, -1, 0]
    assert [test.prefix_reward for point in result.points for test in point.tests] == [0, -2, -4, 4]


def test_a_prefix_after_which_nothing_is_left_counts_for_returns_but_not_for_goals() -> None:
    result = compare_robustness(CORRIDOR, Careful(), [BEST], tests=1, step_width=6)
    last = result.points[-1]
    assert last.tests[0].ended
    assert (last.agent.value, last.traces.value) == (4, 4)
    assert str(last.agent_goal_share) == str(last.traces_goal_share) == "no data"


def test_the_point_at_zero_is_the_simple_comparison() -> None:
    for task, agent in ((CORRIDOR, Careful()), (CORRIDOR, Dice()), (corridor_task(slip=0.3), Careful())):
        robust = compare_robustness(task, agent, TRACES, tests=2, episodes=6, step_width=2, seed=3)
        assert robust.points[0] == compare_performance(task, agent, TRACES, episodes=6, seed=3)


def test_it_stops_when_too_few_traces_are_long_enough() -> None:
    lengths = [len(item) for item in TRACES]
    assert lengths == [6, 5, 3, 1]
    for tests, expected in ((1, [0, 1, 2, 3, 4, 5, 6]), (2, [0, 1, 2, 3, 4, 5]), (3, [0, 1, 2, 3]), (5, [0])):
        result = compare_robustness(CORRIDOR, Blind(), TRACES, tests=tests, step_width=1)
        assert [point.prefix_length for point in result.points] == expected
        assert all(len(point.tests) == tests for point in result.points[1:])
    assert str(result.agent_iqm) == str(result.agent_goal_share) == "no data"


def test_only_traces_that_are_long_enough_are_drawn_and_all_of_them_may_be() -> None:
    drawn = draw_traces(TRACES, 2, 1, seed=0)
    for point in drawn:
        assert len(point.traces) == 2
        assert all(len(item) >= point.prefix_length for item in point.traces)
    seen = {item.id for seed in range(40) for item in draw_traces(TRACES, 2, 3, seed=seed)[0].traces}
    assert seen == {BEST.id, BEST.prefix(5).id, FALL.id}


def test_several_agents_meet_the_same_situations() -> None:
    careful, blind = (
        compare_robustness(CORRIDOR, agent, TRACES, tests=3, step_width=1) for agent in (Careful(), Blind())
    )
    for first, second in zip(careful.points, blind.points, strict=True):
        assert [test.trace for test in first.tests] == [test.trace for test in second.tests]
        assert first.traces == second.traces
    assert careful.agent_goal_share.value > blind.agent_goal_share.value  # type: ignore[operator]


def test_what_cannot_differ_is_executed_once() -> None:
    with Recording(CORRIDOR) as engine:
        result = compare_robustness(CORRIDOR, Careful(), [BEST] * 5, tests=5, episodes=10, step_width=3, engine=engine)
        # From reset, and from two prefixes: the agent once and the trace once each.
        assert len(engine.asked) == 6
    assert len(result.points[1].tests) == 5
    assert all(point.agent_deterministic and point.traces_deterministic for point in result.points)


def test_a_stochastic_task_branches_from_one_situation() -> None:
    """The prefix of a fuzz trace leads where the trace went, every time; randomness begins behind it."""
    task = corridor_task(40, (12, 20, 30), slip=0.3)
    fuzzed = fuzz(task, trace(*(0, 1) * 12), generations=12, population=8, control=False)
    result = compare_robustness(task, Careful(), fuzzed.fittest, tests=4, episodes=5, step_width=3)
    assert len(result.points) > 2
    for point in result.points[1:]:
        assert not point.agent_deterministic
        assert all(len(test.agent_returns) == len(test.trace_returns) == 5 for test in point.tests)
    assert any(len(set(test.trace_returns)) > 1 for point in result.points for test in point.tests)
    returns = {
        (test.trace, point.prefix_length): test.prefix_reward for point in result.points[1:] for test in point.tests
    }
    for individual in fuzzed.individuals:
        for (name, length), reward in returns.items():
            if name == individual.trace.id:
                assert reward == -length or length == len(individual.trace)


def test_a_recurrent_agent_has_watched_the_prefix() -> None:
    task = corridor_task(12, ())
    result = compare_robustness(task, Counting(), [trace(*(0,) * 12)], tests=1, step_width=2)
    # Jumps at its steps 3, 6, 9 …, whoever played before.
    assert [point.agent.value for point in result.points[:3]] == [1, 1, 0]


def test_interquartile_mean_and_goal_share_over_all_prefixes() -> None:
    task, solution = trail_task(), trail_solution()
    fuzzed = fuzz(task, solution, generations=20, population=20, truncation=0.25, control=False)
    result = compare_robustness(task, Careful(), fuzzed.fittest, tests=5, step_width=5)
    assert result.agent_iqm.n == 5 * (len(result.points) - 1)
    assert "stratified" in result.agent_iqm.method
    # The prefixes are what was drawn; the episodes from one are no further draws.
    assert {point.agent_iqm.n for point in result.points[1:]} == {5}
    assert result.agent_iqm.low <= result.agent_iqm.value <= result.agent_iqm.high  # type: ignore[operator]
    assert 0 <= result.agent_goal_share.low <= result.agent_goal_share.high <= 1  # type: ignore[operator]


def test_progress_is_told_per_execution_and_names_the_prefix_lengths() -> None:
    seen = []
    compare_robustness(CORRIDOR, Careful(), [BEST], tests=1, step_width=2, on_progress=seen.append)
    assert [progress.finished for progress in seen] == list(range(1, seen[0].total + 1))
    assert seen[-1].note == "4 of 4 prefix lengths"
    assert {progress.stage for progress in seen} == {"performance"}


def test_json() -> None:
    result = compare_robustness(corridor_task(slip=0.2), Dice(), TRACES, tests=2, episodes=3, step_width=2)
    content = json.loads(json.dumps(result.to_json()))
    assert Robustness.from_json(content) == result
    with pytest.raises(FormatError):
        Robustness.from_json({**content, "format": "tightrope/performance"})


@pytest.mark.parametrize(
    ("options", "rule"),
    [({"tests": 0}, "tests must be"), ({"episodes": 0}, "episodes must be"), ({"step_width": 0}, "step_width must be")],
)
def test_wrong_input(options, rule) -> None:
    with pytest.raises(UsageError, match=rule):
        compare_robustness(CORRIDOR, Careful(), [BEST], **options)


class Expecting(Recording):
    """Keeps also what it was told to expect."""

    def expect(self, rollouts):
        self.named = list(rollouts)


@pytest.mark.parametrize("agent", [Careful(), Dice()])
@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_what_is_expected_before_there_are_traces_is_asked_for_later(agent: Agent, slip: float) -> None:
    task = corridor_task(slip=slip)
    with Expecting(task, {agent.name: agent}) as engine:
        expect_comparison(engine, agent, BEST, 6, 3)
        compare_robustness(task, agent, TRACES, tests=2, episodes=6, step_width=2, seed=3, engine=engine)
    assert len(engine.named) == (1 if agent.deterministic and not slip else 6)
    assert set(engine.named) <= set(engine.asked)
