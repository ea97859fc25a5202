"""The guide is taught by what is known already."""

from __future__ import annotations

import pytest

import tightrope as tr
from tests.risk.worlds import ladder_truth, slope
from tightrope.agents.noisy import NoisyAgent
from tightrope.errors import UsageError
from tightrope.risk.learning import ENOUGH_TAUGHT
from tightrope.risk.lessons import lessons_from

WORLD = (8, 0.2, 40)


@pytest.fixture(scope="module")
def known():
    """Plain episodes of an early agent that fails often, and of one that never does."""
    task = slope(*WORLD)
    still = tr.load_agent(lambda observation: 0, task, name="still")
    early = tr.evaluate(task, NoisyAgent(still, 0.9, task.action_space), 90, seed=5)
    assert ENOUGH_TAUGHT <= len(early.failing_episodes) < 90
    return task, still, early


def test_a_guide_that_was_taught_needs_no_episodes_with_random_actions(known) -> None:
    task, still, early = known
    truth, held = ladder_truth(*WORLD), 0
    for seed in range(3):
        found = tr.estimate_failure(task, still, learn_from=early, budget=tr.Budget(steps=40_000), seed=seed)
        assert (found.method, found.guide) == ("splitting", "learned from what was given")
        assert found.cost <= 40_400
        held += found.probability.low < truth < found.probability.high
    assert held >= 2  # fewer in 0.7 % of such series


def test_what_it_may_be_learned_from(known) -> None:
    task, _, early = known
    failed = early.failing_episodes
    for source in (early, {"plain": [early]}, failed, failed[:1], [failed[0].trace]):
        lessons = lessons_from(task, "still", source)
        assert sum(lesson.failed for lesson in lessons) == (
            len(failed) if source in (early, failed) or isinstance(source, dict) else 1
        )
    own = [
        lesson.agent
        for lesson in lessons_from(
            task,
            early.agent,
            [
                failed,
                tr.estimate_failure(
                    task, tr.load_agent(lambda observation: 1, task, name="up"), budget=tr.Budget(steps=2_000)
                ),
            ],
        )
    ]
    assert own == sorted(own, key=lambda agent: agent != early.agent), "its own failures come first"


def test_what_teaches_nothing_is_refused(known) -> None:
    task, still, early = known
    with pytest.raises(UsageError, match="no failed episode"):
        tr.estimate_failure(
            task, still, learn_from=[each for each in early.episodes if each not in early.failing_episodes]
        )
    with pytest.raises(UsageError, match="give what was found in the same task"):
        tr.estimate_failure(slope(7, 0.2, 40), still, learn_from=early)
    with pytest.raises(UsageError, match="learn_from takes a run"):
        tr.estimate_failure(task, still, learn_from="run/")
    with pytest.raises(UsageError, match="learn_from takes a run"):
        tr.estimate_failure(task, still, learn_from=7)
