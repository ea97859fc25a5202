"""Predicates that hold only where an episode ends are asked there alone, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tightrope.outcome import Outcome
from tightrope.simulation import check_task, open_simulator
from tightrope.tasks import Task, Transition, make_task
from tightrope.tasks.builtin import box2d, classic_control, making
from tightrope.tasks.predicates import at_end_only, holds_at_end_only

MARKED = sorted(
    {
        predicate
        for module in (box2d, classic_control, making)
        for predicate in vars(module).values()
        if callable(predicate) and holds_at_end_only(predicate)
    },
    key=lambda predicate: predicate.__name__,
)


def test_the_usual_predicates_are_marked() -> None:
    assert {predicate.__name__ for predicate in MARKED} >= {
        "ended",
        "ended_rewarded",
        "ended_unrewarded",
        "upright_to_the_end",
    }


@pytest.mark.parametrize("predicate", MARKED)
@pytest.mark.parametrize("reward", [-100.0, 0.0, 1.0])
def test_a_marked_predicate_is_false_before_the_end(predicate: Callable[[Transition], bool], reward: float) -> None:
    assert not predicate(Transition(None, reward, False, False, {}))


def falling_pole(
    mark: Callable[[Callable[[Transition], bool]], Callable[[Transition], bool]],
) -> tuple[Task, list[bool]]:
    """CartPole that notes at each question about ``unsafe`` whether the episode was over."""
    asked: list[bool] = []

    def fell(transition: Transition) -> bool:
        asked.append(bool(transition.terminated or transition.truncated))
        return transition.terminated

    pole = make_task("CartPole-v1", max_episode_steps=12)
    return replace(pole, registered=False, unsafe=mark(fell)), asked


@pytest.mark.parametrize("action", [0, None])
def test_marked_predicates_are_asked_at_the_end_alone(action: int | None) -> None:
    """Falling to one side at once, and lasting to the time limit by turns."""
    seen = []
    for mark in (at_end_only, lambda predicate: predicate):
        task, asked = falling_pole(mark)
        simulator = open_simulator(task, check_task(make_task("CartPole-v1", max_episode_steps=12)))
        simulator.reset(3)
        asked.clear()
        while simulator.outcome is Outcome.ONGOING:
            simulator.step(simulator.depth % 2 if action is None else action)
        assert asked == ([True] if mark is at_end_only else [False] * (simulator.depth - 1) + [True])
        seen.append((simulator.outcome, simulator.depth, simulator.events(), simulator.transition.terminated))
        simulator.close()
    assert seen[0] == seen[1]
    assert seen[0][0] is (Outcome.GOAL if action is None else Outcome.UNSAFE)
