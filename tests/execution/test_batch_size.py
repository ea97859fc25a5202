"""How many lanes pay is measured on the agent as the lanes will ask it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tightrope.agents import Answer
from tightrope.execution.worker.batch_size import BATCHES, best_lane_count, seconds_per_observation
from tightrope.tasks import Transition


class Asked:
    """Answers anything, and remembers what it was given to draw from."""

    name = fingerprint = "asked"
    recurrent = False

    def __init__(self, *, deterministic: bool) -> None:
        self.deterministic = deterministic
        self.given: list[Any] = []

    def act(self, observations: Any, memories: Any, generators: Any, masks: Any) -> Answer:
        self.given += generators
        return Answer([0] * len(observations), [None] * len(observations))


@pytest.mark.parametrize("deterministic", [True, False])
def test_only_who_draws_is_given_something_to_draw_from(deterministic: bool) -> None:
    agent = Asked(deterministic=deterministic)
    seconds = seconds_per_observation(agent, Transition(np.zeros(3), 0.0, False, False, {}), step=1e-9)
    assert set(seconds) <= set(BATCHES)
    assert {type(given) for given in agent.given} == {type(None) if deterministic else np.random.Generator}


def test_a_larger_batch_must_save_more_than_it_may_cost() -> None:
    step = 5e-6
    assert best_lane_count({1: 3e-6, 16: 0.3e-6, 64: 0.1e-6}, step, 0.0) == 64
    assert best_lane_count({1: 3e-6, 16: 0.3e-6, 64: 0.28e-6}, step, 0.0) == 16
    assert best_lane_count({1: 3e-6, 16: 0.3e-6}, step, 4e-6) == 1
