"""Doomed or not, within a horizon: against fixpoints, and against environments that lie about what is the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import closing
from functools import cache, partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exploration.oracles import World, doomed_states, doomed_within, tabular_conformance, worlds
from tightrope.exploration.doom import Classifier
from tightrope.exploration.knowledge import Knowledge, Witness
from tightrope.outcome import Outcome
from tightrope.reference import Survivability
from tightrope.simulation import Conformance, Simulator, check_task, conformance_of, open_simulator
from tightrope.tasks import Task
from tightrope.tasks.task import Predicate, Transition
from tightrope.testing import TabularWorld, deterministic_table
from tightrope.testing.worlds import in_states

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN
PLENTY = 20_000

Situations = Mapping[int, tuple[int, ...]]


def ways_to(world: World) -> Situations:
    """A shortest way to every state that can be reached and is not an end."""
    ways: dict[int, tuple[int, ...]] = {0: ()}
    for state in (queue := [0]):
        for action, successor in enumerate(world.table[state]):
            if successor not in ways and successor in world.table:
                ways[successor] = (*ways[state], action)
                queue.append(successor)
    return ways


def stand_at(simulator: Simulator, way: tuple[int, ...]) -> None:
    simulator.reset()
    for action in way:
        simulator.step(action)


def survives(simulator: Simulator, way: tuple[int, ...], witness: Witness, steps: int) -> bool:
    """Whether a witness holds out for so many steps, or ends well before."""
    stand_at(simulator, way)
    for action in witness.lasting(steps):
        if simulator.outcome.terminal:
            break
        simulator.step(action)
    lasted = simulator.depth - len(way) >= steps
    return simulator.outcome is not Outcome.UNSAFE and (lasted or simulator.outcome.terminal)


@settings(max_examples=150, deadline=None)
@given(worlds(max_states=14), st.lists(st.integers(1, 12) | st.none(), min_size=1, max_size=4))
def test_every_horizon_gets_the_right_answer_whatever_was_asked_before(world, horizons):
    task, ways = world.task(), ways_to(world)
    with closing(open_simulator(task)) as simulator:
        classifier = Classifier(simulator, Knowledge(), deterministic=True)
        for horizon in horizons:
            doomed = doomed_states(world) if horizon is None else doomed_within(world, horizon)
            for state, way in ways.items():
                stand_at(simulator, way)
                verdict, witness = classifier.classify(PLENTY, horizon)
                assert verdict is (NO if state in doomed else YES)
                if witness is not None:
                    assert survives(simulator, way, witness, 40 if horizon is None else horizon)
                else:
                    assert state in doomed_within(world, classifier.fuse)
        assert classifier.exact


@settings(max_examples=100, deadline=None)
@given(worlds(max_states=10, max_actions=3), st.integers(1, 3))
def test_a_proof_holds_for_the_actions_it_was_made_with(world, fewer):
    actions = tuple(range(min(fewer, len(world.table[0]))))
    narrower = World({state: row[: len(actions)] for state, row in world.table.items()}, world.goals, world.unsafe)
    with closing(open_simulator(world.task())) as simulator:
        classifier = Classifier(simulator, Knowledge(), actions=actions, deterministic=True)
        for state, way in ways_to(narrower).items():
            stand_at(simulator, way)
            assert (classifier.classify(PLENTY)[0] is NO) == (state in doomed_states(narrower))


def late_is_unsafe(unsafe: frozenset[int], transition: Transition) -> bool:
    return transition.observation in unsafe or (transition.truncated and not transition.terminated)


def wins_in_time(world: World, steps: int) -> frozenset[int]:
    """States from which a goal can be reached within so many steps."""
    winning = set(world.goals)
    for _ in range(steps):
        winning |= {state for state, row in world.table.items() if winning.intersection(row)}
    return frozenset(winning)


@settings(max_examples=150, deadline=None)
@given(worlds(max_states=10), st.integers(1, 10), st.integers(1, 12) | st.none())
def test_where_a_timeout_is_unsafe_a_cycle_is_no_survival(world, limit, horizon):
    task = world.task(max_steps=limit).with_options(unsafe=partial(late_is_unsafe, world.unsafe))
    conformance_of(task, tabular_conformance())
    with closing(open_simulator(task)) as simulator:
        classifier = Classifier(simulator, Knowledge(), deterministic=True)
        for state, way in sorted(ways_to(world).items(), key=lambda item: -len(item[1])):
            if len(way) >= limit:
                continue
            stand_at(simulator, way)
            verdict, _ = classifier.classify(PLENTY, horizon)
            left = limit - len(way)
            if horizon is not None and horizon < left:
                assert verdict is (NO if state in doomed_within(world, horizon) else YES)
            else:
                assert verdict is (YES if state in wins_in_time(world, left) else NO)


class Hurried(gym.Wrapper[Any, Any, Any, Any]):
    """Cuts its episodes after so many steps, and nothing in it says so before."""

    def __init__(self, env: gym.Env[Any, Any], cut: float) -> None:
        super().__init__(env)
        self.cut, self.steps = cut, 0

    def reset(self, **options: Any) -> Any:
        self.steps = 0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        state, reward, over, _, info = self.env.step(action)
        return state, reward, over, self.steps >= self.cut and not over, info


def hurried_task(world: World, cut: float, unsafe: Predicate) -> Task:
    def make_env() -> Hurried:
        return Hurried(TabularWorld(deterministic_table(world.table), world.goals, world.unsafe), cut)

    return Task(name="hurried", make_env=make_env, goal=partial(in_states, world.goals), unsafe=unsafe)


@cache
def hurried_conformance() -> Conformance:
    return check_task(hurried_task(RING, math.inf, partial(in_states, RING.unsafe)))


@pytest.mark.parametrize("late", [late_is_unsafe, in_states])
@settings(max_examples=100, deadline=None)
@given(world=worlds(max_states=10), cut=st.integers(1, 10), horizon=st.integers(1, 12))
def test_a_time_limit_that_nobody_told_is_part_of_the_name_once_it_was_met(late, world, cut, horizon):
    task = hurried_task(world, cut, partial(late, world.unsafe))
    conformance_of(task, hurried_conformance())
    ways = [item for item in sorted(ways_to(world).items(), key=lambda item: -len(item[1])) if len(item[1]) < cut]
    with closing(open_simulator(task)) as simulator:
        classifier = Classifier(simulator, Knowledge(), deterministic=True, play_witnesses=True)
        # What was said before time was first met is asked again, as whoever asks does.
        for turn in range(2):
            for state, way in ways:
                stand_at(simulator, way)
                verdict, _ = classifier.classify(PLENTY, horizon)
                left = cut - len(way)
                survives = state not in doomed_within(world, min(horizon, left))
                if late is late_is_unsafe and horizon >= left:
                    survives = state in wins_in_time(world, left)
                assert turn == 0 or verdict is (YES if survives else NO)
        assert not classifier.sameness.refutation


class Liar(gym.Wrapper[Any, Any, Any, Any]):
    """Hides something: ``twins`` are states that look alike, and after ``breaks`` steps the floor gives way."""

    def __init__(self, env: gym.Env[Any, Any], twins: tuple[int, int] | None, breaks: float) -> None:
        super().__init__(env)
        self.twins, self.breaks, self.steps = twins, breaks, 0

    def reset(self, **options: Any) -> Any:
        self.steps = 0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        state, reward, over, truncated, _ = self.env.step(action)
        broken = self.steps >= self.breaks and not over
        shown = self.twins[0] if self.twins and state == self.twins[1] else state
        return shown, reward, over or broken, truncated, {"state": -1 if broken else state}


def told_state(states: frozenset[int], transition: Transition) -> bool:
    return transition.info.get("state") in states


def lying_task(world: World, *, twins: tuple[int, int] | None = None, breaks: float = math.inf) -> Task:
    """Its key is the observation, which is believed to be exact until the contrary is seen."""
    task = Task(
        name="liar",
        make_env=lambda: Liar(TabularWorld(deterministic_table(world.table), world.goals, world.unsafe), twins, breaks),
        goal=partial(told_state, world.goals),
        unsafe=partial(told_state, world.unsafe | {-1}),
    )
    conformance_of(task, liars_conformance())
    return task


@cache
def liars_conformance() -> Conformance:
    def make_env() -> Liar:
        return Liar(TabularWorld(deterministic_table(RING.table), RING.goals, RING.unsafe), None, math.inf)

    nothing = partial(told_state, frozenset())
    return check_task(Task(name="liar", make_env=make_env, goal=nothing, unsafe=nothing))


# Round a ring of eight cells; at 7 one may leave for the goal. Late on, there is no time left for it.
RING = World({**{cell: [cell + 1, 0] for cell in range(7)}, 7: [8, 0]}, frozenset({8}), frozenset({9}))


@pytest.mark.parametrize("order", [1, -1])
def test_an_environment_that_counts_time_inside_is_found_out(order: int) -> None:
    breaks = 20
    with closing(open_simulator(lying_task(RING, breaks=breaks))) as simulator:
        classifier = Classifier(simulator, Knowledge(), deterministic=True, play_witnesses=True)
        # Cells 0 and 1 by turns: soon after reset and so late that nobody can get out any more.
        for depth in list(range(18))[::order]:
            stand_at(simulator, ((0, 1) * 10)[:depth])
            in_time = depth % 2 in wins_in_time(RING, breaks - depth)
            assert classifier.classify(PLENTY)[0] is (YES if in_time else NO)
        assert "one state key, two continuations" in classifier.sameness.refutation
        assert not classifier.exact


# 1 looks like 5. From 1 both ways are deadly at once; from 5 one of them leads to the goal.
TWINS = World({0: [1, 5], 1: [9, 9], 5: [9, 8]}, frozenset({8}), frozenset({9}))


def test_twins_are_told_apart() -> None:
    for first in (0, 1):
        with closing(open_simulator(lying_task(TWINS, twins=(1, 5)))) as simulator:
            classifier = Classifier(simulator, Knowledge(), deterministic=True, play_witnesses=True)
            for action in (first, 1 - first):
                stand_at(simulator, (action,))
                assert classifier.classify(PLENTY)[0] is (NO if action == 0 else YES)


def layered_world(seed: int) -> World:
    """Three states wide and five long, downwards only; most steps are deadly, so that about half are doomed."""
    rng, goal, unsafe = np.random.default_rng(seed), 98, 99
    table = {0: [1, 2, 3]}
    for layer in range(5):
        for state in range(1 + 3 * layer, 4 + 3 * layer):
            below = [goal] if layer == 4 else range(4 + 3 * layer, 7 + 3 * layer)
            table[state] = [unsafe if rng.random() < 0.6 else int(rng.choice(below)) for _ in range(3)]
    return World(table, frozenset({goal}), frozenset({unsafe}))


def test_keys_that_lie_are_nearly_always_found_out_before_they_make_a_false_proof() -> None:
    lies = found_out = wrong = 0
    for seed in range(120):
        world = layered_world(seed)
        ways, doomed = ways_to(world), doomed_states(world)
        first, second = np.random.default_rng(seed).permutation(sorted(ways)[1:])[:2].tolist()
        if (first in doomed) != (second in doomed):
            with closing(open_simulator(lying_task(world, twins=(first, second)))) as simulator:
                classifier = Classifier(simulator, Knowledge(), deterministic=True, play_witnesses=True)
                answers = asked_until_trusted(classifier, ways)
            lies += 1
            found_out += not classifier.exact
            wrong += any((verdict is NO) != (state in doomed) for state, verdict in answers.items())
    # Only some reuses of a name are tested, or nothing would be gained by remembering.
    assert lies > 30
    assert found_out >= lies - 1
    assert wrong <= 1


def asked_until_trusted(classifier: Classifier, ways: Situations) -> dict[int, Survivability]:
    """What it says of every state; once names are refuted, what was said before is asked again."""
    trusted, answers = None, dict[int, Survivability]()
    while trusted is not classifier.exact:
        trusted = classifier.exact
        for state, way in ways.items():
            stand_at(classifier.simulator, way)
            answers[state] = classifier.classify(PLENTY)[0]
    return answers
