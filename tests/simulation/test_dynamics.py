"""Chance that comes late is found by the check itself; draws without effect are not taken for it."""

from __future__ import annotations

from typing import Any

import pytest

import tightrope as tr
from tests.execution.late_randomness import Pipes, foggy_task, late_slip, own_dice_task, pipes_task
from tightrope.simulation import Conformance
from tightrope.simulation.conformance import deep_walks
from tightrope.tasks import Task
from tightrope.testing import corridor_task

HOWEVER_SLOW = 600.0
"""Seconds; so steps decide how far the walks come, not the clock."""


def check_task(task: Task) -> Conformance:
    return tr.check_task(task, seconds=HOWEVER_SLOW)


@pytest.mark.parametrize("make_task", [pipes_task, foggy_task, late_slip, own_dice_task])
def test_what_is_drawn_rarely_and_late_is_met(make_task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = check_task(make_task())
    assert not found.deterministic
    assert found.dynamics_evidence.startswith("under fresh seeds, ")
    assert int(found.dynamics_evidence.rsplit(" ", 1)[1]) >= 25, "none of these worlds draws earlier"
    monkeypatch.setattr(deep_walks, "MOST_STEPS", 0)
    assert check_task(make_task()).deterministic, "uniformly random walks do not come so far"


class Steady(Pipes):
    """Draws late, too, but nothing comes of it."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = super().step(action)
        self.gap = 1
        observation = self._observation()
        return observation, *result[1:]


class Busy(Pipes):
    """Draws at every step without effect, and with effect only late."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.np_random.random()
        return super().step(action)


class Fixed(Pipes):
    """All gaps are where the first one is; nothing is drawn at all."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place -= 1_000_000
        observation, reward, crashed, truncated, info = super().step(action)
        self.place += 1_000_000
        return observation, reward, crashed or self.place == 60, truncated, info


def test_draws_without_effect_leave_it_deterministic_and_are_named() -> None:
    found = check_task(pipes_task().with_options(name="steady", make_env=Steady))
    assert found.deterministic
    assert "its generators are drawn from, but " in found.dynamics_evidence
    assert "fresh seeds changed nothing" in found.dynamics_evidence
    assert "at most 60 in one episode" in found.dynamics_evidence


def test_draws_without_effect_do_not_hide_those_with_one() -> None:
    assert not check_task(pipes_task().with_options(name="busy", make_env=Busy)).deterministic


def test_where_nothing_is_drawn_it_says_how_far_it_came() -> None:
    found = check_task(pipes_task().with_options(name="fixed", make_env=Fixed))
    assert found.deterministic
    assert found.dynamics_evidence.startswith("nothing was drawn in 4,")
    assert found.dynamics_evidence.endswith("at most 60 in one episode")


def test_a_short_world_is_walked_again_and_again() -> None:
    assert "at most 8 in one episode" in check_task(corridor_task()).dynamics_evidence


class Fragile(Fixed):
    """Breaks far in."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.place == 40:
            raise ZeroDivisionError("the fortieth")
        return super().step(action)


def test_an_environment_that_breaks_far_in_is_noted_not_refused() -> None:
    found = check_task(pipes_task().with_options(name="fragile", make_env=Fragile))
    assert found.deterministic
    assert any("deep into an episode" in note and "the fortieth" in note for note in found.notes)
