"""Episodes that are far back are let go, and the number stays what it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tests.risk.worlds import height, ladder, ladder_truth
from tightrope.risk import repeating
from tightrope.risk.guides import GivenGuide
from tightrope.risk.repeating import Order, repetition
from tightrope.risk.roulette import GOES_ON, Course, Roulette, learned_roulette
from tightrope.risk.splitting import split
from tightrope.risk.swarm import Swarm
from tightrope.risk.work import DEARER

WORLD = (5, 0.25, 30)
STEEP = Roulette((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 2.0, 3.0, 4.0), recovery=1.0)
"""Lets go of whoever falls by a single rung: far too early, and so most able to change the number."""


def still(task):
    return tr.load_agent(lambda observation: 0, task, name="still")


def repetitions(roulette, size, count):
    task = ladder(*WORLD)
    swarm = Swarm(task, still(task), GivenGuide(task, height), length=None, roulette=roulette)
    found = [split(swarm, size, seed) for seed in range(count)]
    swarm.close()
    return found


@pytest.fixture(scope="module")
def with_roulette():
    return repetitions(STEEP, 30, 150)


def test_letting_go_spares_steps_and_keeps_the_mean(with_roulette) -> None:
    estimates = np.array([found.estimate for found in with_roulette])
    error = estimates.std(ddof=1) / np.sqrt(len(estimates))
    truth = ladder_truth(*WORLD)
    assert error < 0.2 * truth, "else the next line could not fail"
    assert abs(estimates.mean() - truth) < 4 * error
    without = np.mean([found.steps for found in repetitions(None, 30, 10)])
    assert np.mean([found.steps for found in with_roulette]) < 0.7 * without


def test_the_family_tree_tells_how_far_repetitions_differ(with_roulette) -> None:
    seen = np.var([found.estimate for found in with_roulette], ddof=1)
    told = np.mean([found.variance for found in with_roulette])
    assert told == pytest.approx(seen, rel=0.4)
    assert told < 0.7 * np.mean([found.estimate**2 for found in with_roulette]), "not all that could be"


def test_episodes_of_the_plain_sample_are_never_let_go() -> None:
    task = ladder(*WORLD)
    swarm = Swarm(task, still(task), GivenGuide(task, height), length=None, roulette=STEEP, courses=True)
    paths = swarm.from_resets(range(40))
    swarm.close()
    assert {path.weight for path in paths} == {1.0}
    assert all(len(course.dangers) in (30, 31) for course in swarm.courses if course.first), "to the time limit"


def test_weights_are_one_or_what_letting_go_gives() -> None:
    task = ladder(*WORLD)
    swarm = Swarm(task, still(task), GivenGuide(task, height), length=None, roulette=STEEP)
    first = swarm.from_resets(range(40))
    copies = [path.above((0.0, -40)) for path in first if path.top > (0.0, -40)]
    swarm.onwards(copies, range(100, 100 + len(copies)))
    swarm.close()
    assert max(path.weight for path in copies) == 1 / GOES_ON, "each is put to it once, however often it recovers"


def test_far_back_is_from_where_episodes_seldom_come_back() -> None:
    levels = [(0.0, 0.3), (1.0, 0.09), (2.0, 0.027), (3.0, 0.0081)]
    returning = Course([2.0, 1.0, 3.0], first=False)  # a fall of one rung is made good …
    lost = Course([3.0, 2.0, 1.0, 0.0, 0.0, 0.0], first=False)  # … one of two never is
    found = learned_roulette(levels, [returning] * 10 + [lost] * 40)
    assert found is not None
    assert not found.far_back(3.0, 2.0)
    assert found.far_back(3.0, 1.0)
    assert found.spared([lost]) == (1 - GOES_ON) * 4
    assert found.spared([Course(lost.dangers, first=True)]) == 0
    assert learned_roulette(levels, [lost] * 5) is None, "too few to know"
    assert learned_roulette(levels, [Course([3.0, 0.0, 4.0], first=False)] * 60) is None, "they come back from anywhere"


def test_a_trial_learns_what_the_repetitions_cost() -> None:
    task = ladder(11, 0.2, 40)
    order = Order(still(task), GivenGuide(task, height), None, 16, 3, 10**6, learn=True)
    found = [repetition(task, replace(order, seed=seed)) for seed in range(8)]
    learned = [each for each in found if each.roulette is not None]
    assert len(learned) >= 5
    done = repetition(task, replace(order, size=64, roulette=learned[0].roulette, learn=False))
    assert done.roulette == learned[0].roulette
    told = np.mean([each.each for each in learned])
    assert told < done.each < 1.2 * DEARER * told
    assert told < 0.7 * np.mean([each.steps / 16 for each in learned])


def test_roulette_that_spares_little_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    task = ladder(11, 0.2, 40)
    order = Order(still(task), GivenGuide(task, height), None, 16, 3, 10**6, learn=True)
    monkeypatch.setattr(repeating, "WORTHWHILE", 0.9)
    found = repetition(task, order)
    assert (found.roulette, found.each) == (None, found.steps / 16)
