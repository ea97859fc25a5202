"""The guide is taught by what is known already."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

import tightrope as tr
from tests.risk.worlds import ladder_truth, slope
from tightrope.agents.noisy import NoisyAgent
from tightrope.errors import UsageError
from tightrope.risk.guides import NoGuide
from tightrope.risk.learning import ENOUGH_TAUGHT, fitted_guide
from tightrope.risk.lessons import Lesson, lessons_from, replayed_lessons
from tightrope.risk.swarm import Swarm
from tightrope.testing import deterministic_table, tabular_task

WORLD = (8, 0.2, 40)
CELLS = 14


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


@pytest.fixture(scope="module")
def cliff():
    """A path along which the second action is a step into doom, from each of its cells; harm comes two steps later."""
    table = {cell: [cell + 1, 20 + cell] for cell in range(CELLS)}
    table |= {20 + cell: [40 + cell] * 2 for cell in range(CELLS)} | {40 + cell: [60, 60] for cell in range(CELLS)}
    task = tabular_task(deterministic_table(table), goals={CELLS}, unsafe={60}, name="cliff")
    found = tr.search(task).reference
    assert found is not None
    return task, tr.load_agent(lambda observation: 0, task, name="still"), tr.probe_boundary(task, found)


def test_what_comes_after_a_boundary_state_counts_as_lost(cliff) -> None:
    task, still, reference = cliff
    lessons = lessons_from(task, "still", reference)
    assert [lesson.lost_at for lesson in lessons] == list(range(CELLS))
    taught, steps = replayed_lessons(task, still, lessons, most_steps=1000)
    assert steps == sum(range(1, CELLS + 1)), "up to the step that is proven to lose, and no further"
    swarm = Swarm(task, still, NoGuide(), length=None, watch=True)
    guide = fitted_guide(task, [*taught, *swarm.from_resets(range(3))], taught=True)
    swarm.close()
    on_the_path, beside_it = (
        guide.levels([_Seen(cell) for cell in cells]) for cells in (range(CELLS), range(20, 20 + CELLS))
    )
    assert min(beside_it) > max(on_the_path) + 1


def test_a_run_without_a_failure_teaches_by_its_boundary_states(cliff) -> None:
    task, _, reference = cliff
    noisy = tr.load_agent(lambda observation: 0, task, name="noisy", epsilon=0.001)
    budget = tr.Budget(steps=5_000)
    found = tr.estimate_failure(task, noisy, learn_from=reference, budget=budget)
    assert found.guide == "learned from what was given"
    with pytest.raises(UsageError, match="no boundary state"):
        tr.estimate_failure(task, noisy, learn_from=replace(reference, boundary_states=()), budget=budget)


def test_what_is_known_of_a_case_is_learned(cliff) -> None:
    task, still, reference = cliff
    result = tr.run_suite(task, still, tr.make_suite("coverage:1", reference, task=task))
    doomed = [lesson for lesson in lessons_from(task, "still", result) if lesson.failed]
    assert doomed
    assert all(lesson.trace.actions[lesson.lost_at] == 1 for lesson in doomed), "lost where the case begins"


def test_how_often_somebody_survives_is_what_a_moment_is_learned_with(known) -> None:
    task, _, early = known
    episode = early.failing_episodes[0]
    told = Lesson(episode.trace, True, losing=((0, 0.25), (1, 0.5))), Lesson(episode.trace, True, lost_at=7)
    (lesson,) = lessons_from(task, "still", told)
    assert (lesson.losing, lesson.lost_at) == (((0, 0.25), (1, 0.5)), 7), "what is known of one episode goes together"


@dataclass(frozen=True)
class _Seen:
    observation: int
