"""What a failure is worth to the search, and how little plain runs may take of it."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym

import tightrope as tr
from tightrope.failures import Disturbance, FoundFailure
from tightrope.failures.bandit import Arms
from tightrope.failures.causes import one_of_each_cause
from tightrope.failures.ledger import Ledger
from tightrope.failures.moments import LastMoment, look_back
from tightrope.failures.own_runs import OwnRuns
from tightrope.failures.tries import AGAIN, Tries
from tightrope.failures.worth import Worth
from tightrope.seeding import generator
from tightrope.testing import WALK, corridor_task

SLIDE = 12
"""Steps from the trap's mouth to its end: long after hand-over."""


class Trap(gym.Env[int, int]):
    """Straight on is safe. Whoever steps aside slides for a dozen steps and falls; ``ladder``: unless he climbs out."""

    observation_space, action_space = gym.spaces.Discrete(200), gym.spaces.Discrete(2)

    def __init__(self, ladder: bool) -> None:
        self.ladder = ladder

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.steps, self.slid = 0, 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.slid == 3 and self.ladder and action:
            self.slid = 0
        elif self.slid or action:
            self.slid += 1
        fell = self.slid > SLIDE
        return min(self.steps, 99) + 100 * bool(self.slid), 0.0, fell, self.steps >= 99, {"fell": fell}


def trap(*, ladder: bool) -> tr.Task:
    return tr.Task(
        name="trap",
        make_env=lambda: Trap(ladder),
        goal=lambda t: t.truncated and not t.info["fell"],
        unsafe=lambda t: t.info.get("fell", False),
        state_key=lambda env, observation, info: (env.unwrapped.steps, env.unwrapped.slid),
    )


def worth_of_falls(*, ladder: bool) -> list[float]:
    """Of eight falls after hand-over in the trap, at eight places."""
    task = trap(ladder=ladder)
    straight = tr.load_agent(lambda seen: 0, task, name="straight")
    with tr.Engine(task, {"straight": straight}) as engine:
        ledger = Ledger(engine=engine, agent="straight", seed=0, meter=tr.Budget(steps=100_000).start())
        starts = [tr.ActionTrace(task.label, 0).then((0,) * place + (1,)) for place in range(8)]
        falls = ledger.run([tr.Rollout(start=start, agent="straight", record_keys=True) for start in starts])
        assert all(fall.outcome is tr.Outcome.UNSAFE and len(fall.actions) == SLIDE for fall in falls)
        worth = Worth(ledger, generator("worth", 0))
        return [worth.of(fall, AGAIN) for fall in falls]


def test_what_nobody_survives_is_soon_worth_little() -> None:
    """Long after hand-over is no proof of anybody's fault: a search would breed such failures for all of its steps."""
    assert worth_of_falls(ladder=False)[-1] <= 0.25


def test_what_somebody_survives_keeps_its_worth() -> None:
    assert worth_of_falls(ladder=True) == [1.0] * 8


def test_who_was_not_examined_to_the_end_is_not_said_to_be_beyond_help() -> None:
    """The steps ran out before anybody was found, and it read: no survivor found."""
    task = trap(ladder=False)
    with tr.Engine(task) as engine:
        start = tr.ActionTrace(task.label, 0).then((1,))
        [fall] = engine.run([tr.Rollout(start=start, actions=(0,) * SLIDE)])
        ([whole], steps), ([cut], spent) = (look_back(engine, [fall], limit=most) for most in (math.inf, 200))
    # It was lost by the step aside, before hand-over.
    assert (whole.moment and whole.moment.depth, whole.finished) == (0, True)
    assert (cut.moment, cut.finished) == (None, False)
    assert spent < steps


def test_where_nobody_survives_from_hand_over_that_is_asked_once() -> None:
    """From the harm backwards all moments were asked about, each of which is dear."""
    task = trap(ladder=False)
    with tr.Engine(task) as engine:
        start = tr.ActionTrace(task.label, 0).then((1,))
        [fall] = engine.run([tr.Rollout(start=start, actions=(0,) * SLIDE)])
        [look], steps = look_back(engine, [fall])
    assert look.finished
    assert steps < 1_500, "one search of 800 steps, and the step aside that could have been left out"


def test_first_runs_keep_their_share() -> None:
    """Of an agent that lives long, as many as fit."""
    task = tr.make_task("CartPole-v1")
    balanced = tr.load_agent(lambda seen: int(seen @ [0.1, 0.5, 3.0, 1.0] > 0), task, name="balanced")
    with tr.Engine(task, {"balanced": balanced}) as engine:
        rng = generator("runs", 0)
        ledger = Ledger(engine=engine, agent="balanced", seed=0, meter=tr.Budget(steps=12_000).start())
        arms = Arms(rng, 100)
        tries = Tries(task=task, arms=arms, rng=rng, seed=0, longest=16, noise=0.0, length=100)
        runs = OwnRuns(ledger, tries, arms, Worth(ledger, rng))
        runs.play_first(8, tr.Budget(steps=1_200).start())
    assert (runs.played, ledger.meter.steps) == (2, 1_000)


def test_where_every_run_fails_the_first_is_disturbed() -> None:
    """Or nothing beyond its first failure is ever met: all other runs that can be disturbed are survived ones."""
    task = corridor_task(length=12, holes=(4, 8))
    walker = tr.load_agent(lambda cell: WALK, task, name="walker")
    with tr.Engine(task, {"walker": walker}) as engine:
        rng = generator("runs", 0)
        ledger = Ledger(engine=engine, agent="walker", seed=0, meter=tr.Budget(steps=500).start())
        arms = Arms(rng, 100)
        tries = Tries(task=task, arms=arms, rng=rng, seed=0, longest=16, noise=0.0, length=100)
        runs = OwnRuns(ledger, tries, arms, Worth(ledger, rng))
        runs.play_first(8, tr.Budget(steps=500).start())
    assert [run.outcome for run in tries.runs] == [tr.Outcome.UNSAFE]
    assert runs.usual_steps == 4


def test_failures_that_are_all_alike_are_one() -> None:
    """How far apart is far is told by all that was seen on the ways there, not by the moments themselves."""
    task = tr.make_task("CartPole-v1")
    start = tr.ActionTrace(task.label, 0).then((0,) * 9)

    def lost(place: float, number: int) -> FoundFailure:
        moment = LastMoment(
            depth=5, action=0, escape=start, who="somebody", key=number, observation=(place,), reach=((-1.0, 1.0),)
        )
        episode = tr.Episode(
            rollout=tr.Rollout(start=start),
            prefix_steps=0,
            prefix_reward=0.0,
            prefix_outcome=tr.Outcome.ONGOING,
            outcome=tr.Outcome.UNSAFE,
        )
        return FoundFailure(episode=episode, disturbance=Disturbance(reset=0, depth=0), moment=moment, looked=True)

    alike = [lost(0.01 * number, number) for number in range(8)]
    assert len(one_of_each_cause(alike)) == 1
    assert len(one_of_each_cause([*alike, lost(0.9, 9)])) == 2
