from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightrope as tr
from tests.fuzzing.worlds import Careful, corridor_reference, rail_task, trail_solution, trail_task, turnstile_task
from tightrope.errors import EnvironmentFailure, FormatError, UsageError
from tightrope.execution import Engine, Rollout
from tightrope.fuzzing import FuzzResult, fuzz, fuzz_again, fuzz_policy
from tightrope.fuzzing.job import breeding_budget
from tightrope.outcome import Outcome, StopReason
from tightrope.progress import Progress
from tightrope.testing import WALK, corridor_task
from tightrope.trace import ActionTrace

TRAIL, SOLUTION = trail_task(), trail_solution()


def test_golden_run() -> None:
    """Pinned, so that a change of the random streams does not go unnoticed: it would change every stored run."""
    result = fuzz(TRAIL, SOLUTION, generations=4, population=6, seed=11)
    assert [(len(best.trace), best.total_return, str(best.outcome)) for best in result.individuals] == [
        (35, 40.0, "goal"), (5, 10.0, "ongoing"), (9, 11.0, "unsafe"), (8, 11.0, "unsafe"),
    ]  # fmt: skip
    assert [generation.covered for generation in result.generations] == [38, 44, 64, 70]
    assert result.fittest[-1].actions == (1,) * 8
    assert result.control is not None
    assert result.control.covered == 55


def test_the_seed_matters_and_suffices() -> None:
    first, second, other = (
        fuzz(TRAIL, SOLUTION, generations=3, population=8, seed=seed, control=False) for seed in (1, 1, 2)
    )
    assert first == second
    assert first.fittest != other.fittest


def test_one_fit_trace_per_generation_that_replays() -> None:
    result = fuzz(TRAIL, SOLUTION, generations=6, population=10)
    assert len(result.fittest) == len(result.generations) == 6
    assert [generation.index for generation in result.generations] == [1, 2, 3, 4, 5, 6]
    with Engine(TRAIL) as engine:
        replays = engine.run([Rollout(start=trace) for trace in result.fittest])
    for individual, episode in zip(result.individuals, replays, strict=True):
        assert episode.prefix_steps == len(individual.trace)
        assert episode.prefix_reward == individual.total_return
        assert episode.outcome is individual.outcome


def test_traces_are_cut_where_the_episode_ends() -> None:
    result = fuzz(TRAIL, SOLUTION, generations=5, population=10, control=False)
    with Engine(TRAIL) as engine:
        for trace in result.fittest:
            (shorter,) = engine.run([Rollout(start=trace.prefix(len(trace) - 1))])
            assert shorter.outcome is Outcome.ONGOING


def test_numbers_of_a_generation_belong_together() -> None:
    result = fuzz(TRAIL, SOLUTION, generations=5, population=10)
    (ancestor,) = result.ancestors
    assert ancestor.outcome is Outcome.GOAL
    assert ancestor.fitness.new_keys == len(SOLUTION) + 1
    before = ancestor.fitness.new_keys
    for generation, best in zip(result.generations, result.individuals, strict=True):
        assert generation.size == 10
        assert generation.goals + generation.unsafe <= 10
        assert before <= generation.covered <= before + 10 * generation.terms["new_keys"].best
        assert best.fitness.value == generation.terms["fitness"].best
        before = generation.covered
    assert result.covered == before
    assert result.steps == sum(generation.steps for generation in result.generations)
    assert 0 < result.failures <= sum(generation.unsafe for generation in result.generations)


def test_several_ancestors_and_crossover_between_them() -> None:
    task = corridor_task()
    walks, jumps = ActionTrace(task.label, 0, (0, 0)), ActionTrace(task.label, 0, (1, 1))
    result = fuzz(task, [walks, jumps], generations=1, population=60, crossover=1.0, control=False)
    assert len(result.ancestors) == 2
    assert result.settings["crossover"] == 1.0


def test_the_control_matches_number_and_lengths() -> None:
    result = fuzz(TRAIL, SOLUTION, generations=4, population=10)
    assert result.control is not None
    assert result.control.traces == 40
    assert result.control.steps <= result.steps
    assert len(result.control.covered_by_generation) == 4
    assert result.control.covered == result.control.covered_by_generation[-1] < result.covered
    assert result.control.best_return < result.best_return  # type: ignore[operator]
    assert fuzz(TRAIL, SOLUTION, generations=1, population=2, control=False).control is None


def test_results_survive_json() -> None:
    for task, ancestor in ((TRAIL, SOLUTION), (rail_task(), ActionTrace("rail", 0, ((0.5,),) * 6))):
        result = fuzz(task, ancestor, generations=2, population=4)
        assert FuzzResult.from_json(json.loads(json.dumps(result.to_json()))) == result
        assert FuzzResult.from_json(result.to_json()) == result


def test_other_and_newer_files_are_refused() -> None:
    content = fuzz(TRAIL, SOLUTION, generations=1, population=1).to_json()
    with pytest.raises(FormatError, match="up to 1"):
        FuzzResult.from_json({**content, "version": 2})
    with pytest.raises(FormatError, match="tightrope/fuzzing"):
        FuzzResult.from_json({**content, "format": "something"})


def test_a_budget_ends_the_loop_between_generations() -> None:
    result = fuzz(TRAIL, SOLUTION, generations=50, population=5, budget=tr.Budget(steps=1), control=False)
    assert result.stop_reason is StopReason.BUDGET_SPENT
    assert len(result.fittest) == 1
    nothing = fuzz(TRAIL, SOLUTION, budget=tr.Budget(seconds=0))
    assert nothing.stop_reason is StopReason.BUDGET_SPENT
    assert nothing.fittest == ()
    assert nothing.best_return is None
    assert nothing.control is None


def test_an_interrupt_returns_the_finished_generations() -> None:
    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if progress.finished == 3:
            raise KeyboardInterrupt

    seen: list[Progress] = []
    result = fuzz(TRAIL, SOLUTION, generations=10, population=4, on_progress=interrupt, control=False)
    assert result.stop_reason is StopReason.CANCELLED
    assert len(result.fittest) == 3
    assert [(progress.stage, progress.finished, progress.total) for progress in seen] == [
        ("fuzzing", 1, 10), ("fuzzing", 2, 10), ("fuzzing", 3, 10),
    ]  # fmt: skip


@pytest.mark.parametrize("stage", ["fuzzing", "fuzzing control"])
def test_a_cancelled_run_has_no_control(stage: str) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.stage == stage and progress.finished == 2:
            raise KeyboardInterrupt

    result = fuzz(TRAIL, SOLUTION, generations=4, population=4, on_progress=interrupt)
    assert result.stop_reason is StopReason.CANCELLED
    assert result.control is None


def test_truncation_keeps_successes_alive() -> None:
    paper, best_quarter = (
        fuzz(TRAIL, SOLUTION, generations=25, population=20, truncation=share, control=False) for share in (None, 0.25)
    )
    assert best_quarter.goals > paper.goals


def test_appending_only_to_unfinished_traces_wastes_nothing() -> None:
    """With append as the only thing that can happen to a finished trace, offspring equal their parent."""
    task = corridor_task(length=4, holes=(), actions=(WALK,))
    goal = ActionTrace(task.label, 0, (WALK,) * 4)
    result = fuzz(
        task, goal, generations=1, population=200, crossover=0, mutation_stop=1, append_only_unfinished=True,
        control=False,
    )  # fmt: skip
    # Walking is the only action: insert and change still reach the goal, remove never does.
    share = result.goals / 200
    assert 0.55 < share < 0.78  # two operators of three; with append it would be three of four


def test_max_length_bounds_traces() -> None:
    task = corridor_task(length=400, holes=())
    result = fuzz(
        task, ActionTrace(task.label, 0, (0,) * 10), generations=8, population=6, max_length=15, control=False
    )
    assert max(map(len, result.fittest)) <= 15
    assert max(generation.steps for generation in result.generations) <= 6 * 15


def test_a_given_action_set_is_kept_to() -> None:
    task = corridor_task(length=50, holes=())
    result = fuzz(
        task, ActionTrace(task.label, 0, (1,) * 5), generations=5, population=6, actions=[0], crossover=0, control=False
    )
    assert any(0 in trace.actions for trace in result.fittest)


def test_continuous_actions() -> None:
    task = rail_task()
    result = fuzz(task, ActionTrace("rail", 0, ((0.5,),) * 8), generations=8, population=12)
    assert result.covered > 12
    assert result.control is not None
    values = np.array([action[0] for trace in result.fittest for action in trace.actions])  # type: ignore[index]
    assert np.all(np.abs(values) <= 1)
    assert np.all(values == values.astype(np.float32))


def test_stochastic_tasks_are_executed_once_and_replay() -> None:
    task = corridor_task(length=40, holes=(12, 20, 30), slip=0.3)
    first, second = (
        fuzz(task, ActionTrace(task.label, 0, (0, 1) * 12), generations=4, population=8, seed=5) for _ in range(2)
    )
    assert first == second
    assert all(trace.reseeds for trace in first.fittest)
    with Engine(task) as engine:
        replays = engine.run([Rollout(start=trace, fixed_prefix=True) for trace in first.fittest])
    for individual, episode in zip(first.individuals, replays, strict=True):
        assert episode.prefix_reward == individual.total_return
        assert episode.outcome is individual.outcome


def test_where_traces_share_nothing_a_campaign_breeds_for_so_many_steps() -> None:
    task = corridor_task(length=10, holes=())
    replayed = replace(task, make_env=lambda: tr.renewed_env(task.make_env))
    assert [breeding_budget(task, steps).steps for steps in (None, 70)] == [600_000, 70]
    assert [breeding_budget(replayed, steps).steps for steps in (None, 70)] == [150_000, 70]


def test_action_masks_are_kept_to() -> None:
    """The turnstile raises on an action it does not offer; nothing raises, and what was played is what is reported."""
    task = turnstile_task()
    result = fuzz(task, ActionTrace(task.label, 0, (1, 2, 1, 2)), generations=5, population=10)
    assert sum(generation.errors for generation in result.generations) == 0
    assert result.control is not None
    assert result.control.steps > 0
    for trace in result.fittest:
        assert all(first != second for first, second in zip(trace.actions, trace.actions[1:], strict=False))


def explode(transition: tr.Transition) -> bool:
    if transition.observation == 30:
        raise RuntimeError("boom")
    return bool(transition.observation in NARROW)


NARROW = tuple(range(1, 22, 2))
"""Only jumping survives up to cell 22, so that a random walk hardly ever meets what raises behind it."""


def test_an_environment_that_raises_is_counted() -> None:
    task = trail_task(36, NARROW).with_options(unsafe=explode)
    over, into = (0, 1), (0, 0)
    good, bad = (ActionTrace(task.label, 0, (1,) * 14 + middle + (0,) * 8) for middle in ((0, 1, *over), into))
    result = fuzz(task, good, generations=3, population=20, control=False)
    assert sum(generation.errors for generation in result.generations) > 0
    with pytest.raises(EnvironmentFailure, match="boom"):
        fuzz(task, bad, generations=1, population=2)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"mutation_stop": 0}, "mutation_stop must be above 0 and at most 1, not 0; the default is 0.2"),
        ({"mutation_size": 0}, "mutation_size must be 1 or more"),
        ({"max_length": 0}, "max_length"),
        ({"generations": 0}, "generations must be 1 or more"),
        ({"population": 0}, "population must be 1 or more"),
        ({"ancestors": []}, "at least one ancestor"),
        ({"ancestors": ActionTrace("corridor", 0)}, "has no actions"),
        ({"ancestors": ActionTrace("chess", 0, (1,))}, "of task 'chess'"),
        ({"ancestors": ["walk"]}, "not str"),
    ],
)
def test_wrong_input(options, rule) -> None:
    arguments = {"ancestors": corridor_reference(), **options}
    with pytest.raises(UsageError, match=rule):
        fuzz(corridor_task(), **arguments)


def test_other_seeds_side_by_side_find_what_each_finds_alone() -> None:
    how: dict[str, Any] = {"generations": 3, "population": 10, "truncation": 0.5, "actions": [0, 1], "max_length": 40}
    first = fuzz(TRAIL, SOLUTION, seed=3, **how)
    told: list[Progress] = []
    alone = tuple(fuzz(TRAIL, SOLUTION, seed=seed, control=False, **how) for seed in (4, 5, 6))
    assert fuzz_again(TRAIL, FuzzResult.from_json(first.to_json()), (4, 5, 6), on_progress=told.append) == alone
    assert [progress.finished for progress in told] == [3, 6, 9]
    assert told[-1].total == 9
    assert fuzz_again(TRAIL, first, (4, 5, 6), backend="processes", workers=3) == alone
    assert fuzz_again(TRAIL, first, ()) == ()


def test_other_seeds_have_randomness_and_masks_of_their_own() -> None:
    slippery, masked = corridor_task(slip=0.3), turnstile_task()
    for task, actions in ((slippery, (WALK,) * 4), (masked, (1, 2, 1, 2))):
        how: dict[str, Any] = {"generations": 2, "population": 10, "control": False}
        first = fuzz(task, ActionTrace(task.label, 0, actions), **how)
        # In a stochastic task an ancestor may have ended earlier than it could have.
        ancestors = [ancestor.trace for ancestor in first.ancestors]
        alone = tuple(fuzz(task, ancestors, seed=seed, **how) for seed in (1, 2))
        assert fuzz_again(task, first, (1, 2)) == alone


def test_other_seeds_that_are_interrupted_are_cancelled() -> None:
    first = fuzz(TRAIL, SOLUTION, generations=4, population=10, control=False)

    def interrupt(progress: Progress) -> None:
        if progress.finished == 4:
            raise KeyboardInterrupt

    results = fuzz_again(TRAIL, first, (1, 2), on_progress=interrupt)
    assert [len(result.generations) for result in results] == [2, 2]
    assert {result.stop_reason for result in results} == {StopReason.CANCELLED}


def test_a_policy_is_not_fuzzed_again_as_a_trace() -> None:
    task = corridor_task()
    with pytest.raises(UsageError, match="call fuzz_policy"):
        fuzz_again(task, fuzz_policy(task, Careful(), generations=1, population=10, control=False), (1,))
