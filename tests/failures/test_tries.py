"""What a search for failures tries next."""

from __future__ import annotations

from typing import Any

import pytest

import tightrope as tr
from tightrope.failures import Disturbance
from tightrope.failures.bandit import Arms
from tightrope.failures.tries import AGAIN, BEGINNING, BEGINNINGS, NO_RUN, SHIFT, Tries, Try
from tightrope.seeding import generator
from tightrope.testing import JUMP, WALK, corridor_task

CORRIDOR = corridor_task(length=60, holes=(30,))


def tries_near(known: Try) -> Tries:
    """Tries on one run of sixty steps, of which one has failed."""
    walker = tr.load_agent(lambda cell: JUMP if int(cell) == 29 else WALK, CORRIDOR, name="walker")
    with tr.Engine(CORRIDOR, {"walker": walker}) as engine:
        [run] = engine.run([tr.Rollout(start=tr.ActionTrace(CORRIDOR.label, 0), agent="walker")])
    rng = generator("near", 0)
    tries = Tries(task=CORRIDOR, arms=Arms(rng, 100), rng=rng, seed=0, longest=4, noise=0.0, length=100)
    tries.add(run, Disturbance(reset=0, depth=0))
    tries.add_failed(known)
    return tries


def test_among_many_choices_the_one_that_brought_failures_is_made_again() -> None:
    """Were those never tried taken for good ones, hundreds of them would each win before it."""
    arms = Arms(generator("arms", 0), 100)
    names = list(range(300))
    for name in names[:100]:
        arms.learn([name], 0.0, 100)
    for _ in range(5):
        arms.learn([7], 1.0, 100)
    assert sum(arms.best_of_many(names) == 7 for _ in range(50)) > 10
    assert sum(arms.best(names) == 7 for _ in range(50)) < 3


def test_among_many_choices_the_cheaper_is_made_more_often() -> None:
    arms = Arms(generator("arms", 0), 100)
    chosen = [arms.best_of_many(["near", "far"], [100, 900]) for _ in range(100)]
    assert 75 < chosen.count("near") < 100


def test_less_hope_means_fewer_tries() -> None:
    arms = Arms(generator("arms", 0), 100)
    assert [arms.best(["run", "moment"], {"run": 0.2}) for _ in range(100)].count("run") < 25


@pytest.mark.parametrize(("run", "depth"), [(NO_RUN, 0), (0, 1), (0, 40)])
def test_what_failed_is_tried_again_a_little_different(run: int, depth: int) -> None:
    """An action more, less or another; at a moment of a run also sooner or later, never outside of it."""
    known = Try(run, depth, 3, (JUMP, WALK, JUMP, JUMP), (BEGINNING,), 0)
    tries = tries_near(known)
    drawn = [tries.drawn(AGAIN) for _ in range(60)]
    assert {len(each.played) for each in drawn} == {2, 3, 4}
    assert all(each.steps == len(each.played) for each in drawn)
    assert len({each.played for each in drawn}) > 5
    depths = {each.depth for each in drawn}
    assert depths == {0} if run == NO_RUN else max(0, depth - SHIFT) <= min(depths) < max(depths) <= depth + SHIFT
    # What it is like was made as small as it can be.
    assert all(each.fails == 0 and each.survived == each.steps - 1 for each in drawn)


def test_most_random_beginnings_are_long() -> None:
    """What is led astray for a few steps survives, and is dear: it is watched to its end."""
    tries = tries_near(Try(NO_RUN, 0, 3, (JUMP, WALK, JUMP), (BEGINNING,), 0))
    assert sum(tries.drawn(BEGINNING).steps > BEGINNINGS[-2] for _ in range(100)) > 60


def test_what_led_to_nothing_is_not_tried_again() -> None:
    tries = tries_near(Try(NO_RUN, 0, 0, (), (BEGINNING,), 0))
    assert not tries.failed


def test_a_disturbance_that_ends_the_episode_itself_has_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what kills at once would seem to cost nothing, and be tried for ever."""
    paid: list[tuple[Any, int]] = []
    learn = Arms.learn

    def noting(self: Arms, arms: Any, failed: float, steps: int) -> None:
        paid.append((arms, steps))
        learn(self, arms, failed, steps)

    monkeypatch.setattr(Arms, "learn", noting)
    task = tr.make_task("CartPole-v1")
    balanced = tr.load_agent(lambda seen: int(seen @ [0.1, 0.5, 3.0, 1.0] > 0), task, name="balanced")
    tr.search_failures(task, balanced, tr.Budget(steps=4_000), judging=0)
    held = [steps for arms, steps in paid if ("lasts", 16) in arms]
    assert held
    assert min(held) >= 16
