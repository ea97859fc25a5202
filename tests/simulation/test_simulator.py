"""Resetting, stepping, saving, putting back, reseeding, counting."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.broken import HiddenState, Line, line_task
from tightrope.errors import UsageError
from tightrope.outcome import Outcome
from tightrope.simulation import Reseed, Simulator, Snapshot, check_task, open_simulator
from tightrope.simulation.snapshots import AttributesSnapshotter
from tightrope.tasks import Task, make_task
from tightrope.testing import JUMP, WALK, corridor_task


def simulators(task: Task) -> tuple[Simulator, Simulator]:
    """One that saves and one that replays."""
    saved, replayed = task.open_env(), task.open_env()
    return Simulator(task, saved, AttributesSnapshotter(saved)), Simulator(task, replayed, None)


def test_an_episode_from_reset_to_goal() -> None:
    simulator = open_simulator(corridor_task(length=4, holes=(3,)))
    assert simulator.reset().observation == 0
    for action, outcome in ((WALK, Outcome.ONGOING), (WALK, Outcome.ONGOING), (JUMP, Outcome.GOAL)):
        simulator.step(action)
        assert simulator.outcome is outcome
    assert simulator.depth == 3
    assert simulator.events() == [0, WALK, WALK, JUMP]
    with pytest.raises(UsageError, match="the episode is over"):
        simulator.step(WALK)


def test_what_a_step_showed_is_one_transition_until_the_next() -> None:
    simulator = open_simulator(line_task())
    simulator.reset()
    shown = simulator.step(1)
    assert shown is simulator.transition
    assert shown.reward == simulator.reward
    assert (shown.observation is simulator.observation, shown.info is simulator.info) == (True, True)
    snapshot = simulator.save()
    assert simulator.advance(1) == simulator.transition.reward
    assert simulator.transition is not shown
    simulator.load(snapshot)
    assert simulator.transition is snapshot.transition
    assert (simulator.reward, simulator.info) == (shown.reward, shown.info)
    np.testing.assert_array_equal(simulator.observation, shown.observation)


def test_a_start_that_comes_again_is_put_back_without_a_reset() -> None:
    resets = []

    class Counting(Line):
        def reset(self, **options: Any) -> Any:
            resets.append(options.get("seed"))
            return super().reset(**options)

    simulator = open_simulator(line_task(Counting))
    resets.clear()
    for seed in (5, 5, 5, *range(40, 60), 5):
        simulator.reset(seed)
        assert simulator.events() == [seed]
    assert resets == [5, 5, *range(40, 60), 5]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there a look at an object's __dict__ slows nothing")
def test_attributes_of_opened_environments_stay_quick_to_read() -> None:
    """Their dict has names of its own, which makes it larger than one on the table that its class shares."""
    task = make_task("CartPole-v1")
    there, here = task.open_env().unwrapped, open_simulator(task).env.unwrapped
    assert list(vars(here)) == list(vars(there))
    assert sys.getsizeof(vars(here)) > sys.getsizeof(vars(there))


def test_unsafe_wins_over_goal() -> None:
    simulator = open_simulator(line_task(goal=lambda t: t.reward != 0, unsafe=lambda t: t.reward > 0))
    simulator.reset()
    simulator.step(1)
    assert simulator.outcome is Outcome.UNSAFE


def test_the_time_limit_is_counted_and_saved() -> None:
    simulator = open_simulator(line_task(max_steps=3))
    simulator.reset()
    simulator.step(1)
    snapshot = simulator.save()
    for _ in range(2):
        simulator.load(snapshot)
        assert not simulator.step(1).truncated
        assert simulator.step(1).truncated
        assert simulator.outcome is Outcome.TRUNCATED


def test_a_snapshot_keeps_its_observation_when_the_environment_reuses_the_array() -> None:
    class Reusing(Line):
        def observe(self) -> Any:
            self.buffer = getattr(self, "buffer", np.zeros(1))
            self.buffer[0] = self.place
            return self.buffer

    simulator = open_simulator(line_task(Reusing))
    simulator.reset()
    snapshot = simulator.save()
    simulator.step(1)
    simulator.load(snapshot)
    assert simulator.observation[0] == 0


def test_starting_again_at_a_known_seed_is_the_same_start() -> None:
    task = line_task(lambda: gym.make("CartPole-v1"), unsafe=lambda transition: bool(transition.terminated))
    simulator = open_simulator(task)
    starts = [simulator.reset(seed).observation.tobytes() for seed in (*range(20), *range(20), 0)]
    assert starts[:20] == starts[20:40]
    assert starts[40] == starts[0]
    assert len(set(starts)) == 20
    assert simulator.counters.resets == 41


def test_reseeding_is_part_of_the_history() -> None:
    simulator = open_simulator(corridor_task(slip=0.5))
    simulator.reset(3, reseed=9)
    simulator.step(JUMP)
    snapshot = simulator.save()
    simulator.load(snapshot, reseed=4)
    assert simulator.events() == [3, Reseed(9), JUMP, Reseed(4)]


def test_fresh_randomness_makes_other_futures_from_the_same_situation() -> None:
    simulator = open_simulator(corridor_task(length=12, holes=(), slip=0.5))
    simulator.reset()
    snapshot = simulator.save()
    places = []
    for seed in range(40):
        simulator.load(snapshot, reseed=seed)
        places.append(simulator.step(JUMP).observation)
    assert 8 < places.count(1) < 32
    assert set(places) == {1, 2}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["step", "save", "load", "reseed", "reset"]), st.integers(0, 5)), max_size=25)
)
def test_saving_equals_replaying(plan: list[tuple[str, int]]) -> None:
    pair = simulators(corridor_task(length=30, holes=(), slip=0.3))
    snapshots: list[list[Snapshot]] = [[], []]
    for simulator, saved in zip(pair, snapshots, strict=True):
        simulator.reset()
        saved.append(simulator.save())
    for verb, number in plan:
        seen = []
        for simulator, saved in zip(pair, snapshots, strict=True):
            play(simulator, saved, verb, number)
            seen.append((simulator.key(), simulator.depth, simulator.outcome, simulator.events()))
        assert seen[0] == seen[1]
    assert pair[0].counters.steps == pair[1].counters.steps
    assert pair[0].counters.replayed_steps == 0


def play(simulator: Simulator, saved: list[Snapshot], verb: str, number: int) -> None:
    if verb == "save":
        saved.append(simulator.save())
    elif verb == "load":
        simulator.load(saved[number % len(saved)])
    elif verb == "reseed":
        simulator.reseed(number)
    elif verb == "reset":
        simulator.reset(number)
    elif not simulator.outcome.terminal:
        simulator.step(number % 2)


def test_replay_starts_where_the_two_histories_part() -> None:
    task = line_task(HiddenState)
    assert check_task(task).method == "replay"
    simulator = open_simulator(task)
    simulator.reset()
    for _ in range(5):
        simulator.step(1)
    snapshot = simulator.save()
    simulator.load(snapshot)
    assert simulator.counters.replayed_steps == 0
    simulator.step(1)
    simulator.load(snapshot)
    assert simulator.counters.replayed_steps == 5
    assert simulator.observation.tolist() == [5, 5]
    assert simulator.counters.steps == 6


def test_the_action_mask_is_kept_to() -> None:
    class Masked(Line):
        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            observation, reward, terminated, truncated, _ = super().step(action)
            return observation, reward, terminated, truncated, {"action_mask": np.array([0, 1], dtype=np.int8)}

    simulator = open_simulator(line_task(Masked))
    simulator.reset()
    assert simulator.available_actions() == (0, 1)
    simulator.step(0)
    assert simulator.available_actions() == (1,)


def test_identity_falls_back_on_the_key() -> None:
    simulator = open_simulator(corridor_task())
    simulator.reset()
    assert simulator.identity() == simulator.key() == 0
    exact = open_simulator(corridor_task(identity=lambda env, observation, info: ("exact", observation)))
    exact.reset()
    assert exact.identity() == ("exact", 0)
