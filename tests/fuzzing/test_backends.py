from __future__ import annotations

import pytest

from tests.fuzzing.worlds import Careful, Dice, trail_solution, trail_task, turnstile_task
from tightrope.execution import Engine
from tightrope.fuzzing import fuzz, fuzz_policy
from tightrope.performance import compare_robustness
from tightrope.testing import corridor_task
from tightrope.trace import ActionTrace


@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_processes_breed_and_compare_the_same(slip: float) -> None:
    task = corridor_task(30, (3, 6, 12), slip=slip)
    start = ActionTrace(task.label, 0, (0, 0, 1) * 4)

    def results(backend: str) -> tuple[object, ...]:
        with Engine(task, backend=backend, workers=2) as engine:
            bred = fuzz(task, start, generations=3, population=8, engine=engine)
            near = fuzz_policy(task, Careful(), generations=3, population=6, engine=engine)
            robust = compare_robustness(task, Dice(), near.fittest, tests=2, episodes=3, step_width=3, engine=engine)
        return bred, near, robust

    assert results("inline") == results("processes")


def test_masks_are_kept_to_in_processes() -> None:
    task = turnstile_task()
    start = ActionTrace(task.label, 0, (1, 2, 1, 2))
    inline, processes = (
        fuzz(task, start, generations=2, population=6, backend=backend, workers=2)
        for backend in ("inline", "processes")
    )
    assert inline == processes


def test_offspring_share_their_parents_steps() -> None:
    task = trail_task()
    with Engine(task) as engine:
        fuzz(task, trail_solution(), generations=15, population=20, truncation=0.25, control=False, engine=engine)
        assert engine.counters.steps_asked > 2 * engine.counters.steps_executed
