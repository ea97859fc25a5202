"""What it takes to see that the references of a suite still lead where they led, and need no luck for it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import pytest

import tightrope as tr
from tightrope.safety.suites.replay import parts_under_reseeding, replayed_reference

CARTPOLE = tr.make_task("CartPole-v1", max_episode_steps=100)


class Counted(gym.Wrapper):
    """Counts the steps of all environments."""

    steps = 0

    def step(self, action: Any) -> Any:
        Counted.steps += 1
        return self.env.step(action)


def _counted(make_env: Any) -> Any:
    return Counted(make_env())


@pytest.fixture(scope="module")
def suite() -> tr.TestSuite:
    found = tr.find_references(CARTPOLE, 3, budget=tr.Budget(steps=20_000), probe=False)
    assert len(found) == 3
    assert {reference.trace.outcome for reference in found} == {tr.Outcome.GOAL}
    return tr.uniform_suite(found, 6, seed=0)


def test_each_reference_is_played_twice_and_no_more(suite: tr.TestSuite) -> None:
    """Fresh seeds that somebody sets are no draw: the test under fresh seeds was itself tested under fresh seeds, which
    took ten times as long, minutes where steps are slow."""
    task = replace(CARTPOLE, make_env=partial(_counted, CARTPOLE.make_env))
    once = sum(len(way.actions) for way in suite.ways)
    with tr.Engine(task) as engine:
        Counted.steps = 0
        replayed_reference(engine, suite)
        assert Counted.steps == once
        assert parts_under_reseeding(engine, suite) is None
        assert Counted.steps == 2 * once
        replayed_reference(engine, suite)
        assert parts_under_reseeding(engine, suite) is None
        assert Counted.steps == 2 * once, "they are remembered"


def test_all_references_are_played_side_by_side(suite: tr.TestSuite, monkeypatch: pytest.MonkeyPatch) -> None:
    with tr.Engine(CARTPOLE) as engine:
        asked, carry = list[int](), engine.map

        def counted(work: Any, items: Any) -> Any:
            asked.append(len(items))
            return carry(work, items)

        monkeypatch.setattr(engine, "map", counted)
        replayed_reference(engine, suite)
        parts_under_reseeding(engine, suite)
    assert asked == [3, 3]
