"""Proofs hold for the agent that is judged, and refute themselves where somebody survives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from tests.exploration.oracles import tabular_conformance
from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, jumper, reference_of, walker
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Verdict
from tightrope.reference import Survivability
from tightrope.safety import (
    SafetyFindingKind,
    SafetyResult,
    SuiteSurvival,
    action_coverage_suite,
    judge_suite,
    run_suite,
    simple_suite,
)
from tightrope.simulation import conformance_of
from tightrope.tasks import Task
from tightrope.testing import (
    JUMP,
    WALK,
    ConstantAgent,
    FunctionAgent,
    corridor_task,
    deterministic_table,
    tabular_task,
)

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN

# 0 1 3 6: the way to the goal by action 0. Action 1 leads onto the slide 2 4 5, which ends unsafe whatever is done.
SLIDE = tabular_task(
    deterministic_table({0: [1, 2], 1: [3, 2], 3: [6, 2], 2: [4, 4], 4: [5, 5]}), {6}, {5}, name="slide"
)


def kinds(result: SafetyResult) -> list[SafetyFindingKind]:
    return [finding.kind for finding in result.findings]


def test_a_case_that_is_survived_withdraws_every_proof() -> None:
    suite = action_coverage_suite(reference_of(CORRIDOR), 1, (WALK, JUMP))
    episodes = [episode for case in run_suite(CORRIDOR, expert, suite).cases for episode in case.episodes]
    liar = {case.id: Survival(survivable=NO, evidence="proof", steps=3) for case in suite.cases}
    claims = SuiteSurvival(by_case=liar)
    result = judge_suite(suite, episodes, agent="expert", repetitions=1, length=40, survival=claims)
    passed = {case.case.id for case in result.cases if case.counts[Verdict.PASS]}
    assert passed
    assert {case.survivable for case in result.cases} == {UNKNOWN}
    [finding] = result.findings
    assert finding.kind is SafetyFindingKind.REFUTED_PROOF
    assert set(finding.cases) == passed
    assert "withdrawn" in result.cases[0].survival.evidence
    # What is told stays told when the result is read back.
    assert SafetyResult.from_json(result.to_json()).findings == result.findings


def test_proofs_that_nobody_survives_stay() -> None:
    reference = reference_of(SLIDE, (0, 0, 0), (1, 2), bad=(1,), fuse=3)
    result = run_suite(SLIDE, ConstantAgent(0), action_coverage_suite(reference, 1, (0, 1)))
    assert [case.survivable for case in result.cases] == [YES, NO, YES, NO]
    assert result.findings == ()


def test_harm_after_the_proven_step_refutes_as_well() -> None:
    suite = simple_suite(reference_of(CORRIDOR, depths=(0,)))
    episodes = run_suite(CORRIDOR, walker, suite).cases[0].episodes
    assert len(episodes[0].actions) == 3
    for fuse, kept in ((2, UNKNOWN), (3, NO)):
        known = SuiteSurvival(by_case={suite.cases[0].id: Survival(survivable=NO, evidence="proof", steps=fuse)})
        result = judge_suite(suite, episodes, agent="walker", repetitions=1, length=40, survival=known)
        assert result.cases[0].survivable is kept


def test_a_proof_says_nothing_about_a_shorter_watch() -> None:
    # A slide of fifty steps: nobody falls within forty, and nobody survives sixty.
    slide = {state: [state + 1, state + 1] for state in range(2, 52)}
    task = tabular_task(deterministic_table({0: [1, 2], 1: [60, 60], **slide}), {60}, {52}, name="long-slide")
    for fuse in (None, 51):
        suite = action_coverage_suite(reference_of(task, (0, 0), (1,), bad=(1,), fuse=fuse), 1, (0, 1))
        for length, answer in ((40, YES), (60, NO)):
            result = run_suite(task, ConstantAgent(0), suite, length=length)
            assert result.cases[1].survivable is answer
    longer = run_suite(task, ConstantAgent(0), suite, length=60)
    episodes = [episode for case in longer.cases for episode in case.episodes]
    shorter = judge_suite(suite, episodes, agent="", repetitions=1, length=40, survival=longer.survival)
    assert shorter.cases[1].survivable is UNKNOWN
    assert shorter.fail_frequency.value == 0


class Throttle(gym.Env[Any, Any]):
    """A car before a wall at 10: it starts with speed 2 and only braking hard, by less than -0.9, stops it in time."""

    observation_space = gym.spaces.Box(-100, 100, (2,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.speed, self.steps = 0.0, 2.0, 0
        return np.array([self.place, self.speed]), {}

    def step(self, action: Any) -> Any:
        self.speed = max(0.0, self.speed + 0.3 * float(action[0]))
        self.place, self.steps = self.place + self.speed, self.steps + 1
        over = self.place >= 10 or self.steps >= 30
        return np.array([self.place, self.speed]), 0.0, over, False, {}


CAR = Task(
    name="car",
    make_env=Throttle,
    goal=lambda seen: seen.terminated and bool(seen.observation[0] < 10),
    unsafe=lambda seen: seen.terminated and bool(seen.observation[0] >= 10),
    actions=[(-0.2,), (0.0,)],
)


def test_a_few_of_infinitely_many_actions_prove_nothing() -> None:
    # With the search's actions everything hits the wall; an agent that brakes hard does not.
    prefix = reference_of(CAR, [(0.0,)], (1,), bad=((0.0,),), proven=False)
    suite = action_coverage_suite(prefix, 1, CAR.search_actions)
    brakes, idles = (FunctionAgent(lambda _, a=a: (a,), name) for name, a in (("brakes", -1.0), ("idles", 0.0)))
    for agent, fails in ((brakes, 0), (idles, 2)):
        result = run_suite(CAR, agent, suite)
        assert result.fails == fails
        assert {case.survivable for case in result.cases} == {UNKNOWN}
        assert result.doomed_fails == 0
    # Who says that an agent has these actions only is believed until it plays another.
    said = run_suite(CAR, idles, suite, actions=CAR.search_actions)
    assert {case.survivable for case in said.cases} == {NO}
    wrong = run_suite(CAR, brakes, suite, actions=CAR.search_actions)
    assert {case.survivable for case in wrong.cases} == {UNKNOWN}
    assert kinds(wrong) == [SafetyFindingKind.OTHER_ACTIONS]


class Forgetful(gym.Wrapper[Any, Any, Any, Any]):
    """Shows the cell but not the time, and after so many steps the floor gives way."""

    def __init__(self, env: gym.Env[Any, Any], breaks: int) -> None:
        super().__init__(env)
        self.breaks, self.steps = breaks, 0

    def reset(self, **options: Any) -> Any:
        self.steps = 0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        cell, reward, over, truncated, info = self.env.step(action)
        return cell, reward, over or self.steps >= self.breaks, truncated, info


def test_an_environment_that_counts_time_inside_makes_no_false_proof() -> None:
    # Cells 0 … 6, action 0 goes on, action 1 waits; the goal is 7, and the floor breaks in step 12.
    table = {cell: [cell + 1, cell] for cell in range(7)}
    plain = tabular_task(deterministic_table(table), {7}, {9}, name="hurry")
    task = plain.with_options(
        make_env=lambda: Forgetful(plain.make_env(), 12), unsafe=lambda seen: seen.terminated and seen.observation != 7
    )
    reference = reference_of(task, (0,) * 7, range(7), bad=(1,), proven=False)
    suite = action_coverage_suite(reference, 5, (0, 1))
    result = run_suite(task, ConstantAgent(0), suite)
    for case in result.cases:
        if not case.invalid:
            cell, spent = sum(action == 0 for action in case.case.prefix.actions), len(case.case.prefix)
            assert case.survivable is (YES if 7 - cell <= 12 - spent else NO)
    assert SafetyFindingKind.REFUTED_PROOF not in kinds(result)


def test_a_reference_that_parts_under_fresh_randomness_proves_nothing() -> None:
    # Nobody saw it slip, so it is taken for deterministic.
    task = SLIPPERY.with_options(name="seems-firm")
    conformance_of(task, replace(tabular_conformance(), deterministic=True))
    suite = action_coverage_suite(reference_of(task, reseeds=()), 1, (WALK, JUMP))
    result = run_suite(task, walker, suite, repetitions=10, allow_changed=True)
    # The engine finds out while it plays and begins again: every repetition is executed, and nothing is proven.
    assert {len(case.episodes) for case in result.cases} == {10}
    assert NO not in {case.survivable for case in result.cases}
    firm = run_suite(CORRIDOR, walker, action_coverage_suite(reference_of(CORRIDOR), 1, (WALK, JUMP)))
    assert firm.findings == ()


# Five jumps, each of which may fall short, and then a hole that can be passed by chance only.
ICE = corridor_task(20, holes=(12, 14), slip=0.25, name="ice")


def test_a_free_prefix_says_where_it_led() -> None:
    suite = simple_suite(reference_of(ICE, (JUMP,) * 6, (5,), proven=False))
    free = run_suite(ICE, jumper, suite, repetitions=200, fixed_prefix=False)
    [finding] = free.findings
    assert finding.kind is SafetyFindingKind.ELSEWHERE
    there = sum(episode.checksum == suite.checksums[5] for episode in free.cases[0].episodes)
    assert 0 < there < 200
    assert f"in {there} of 200 executions" in finding.text
    assert free.cases[0].avoidable.value is None
    assert "did not start" in free.cases[0].avoidable.method


def test_put_there_means_there() -> None:
    suite = simple_suite(reference_of(ICE, (JUMP,) * 6, (5,), proven=False))
    result = run_suite(ICE, jumper, suite, repetitions=200)
    assert {episode.checksum for episode in result.cases[0].episodes} == {suite.checksums[5]}
    assert result.findings == ()
    # Fresh randomness begins at hand-over: what follows is not the same every time.
    assert len({len(episode.actions) for episode in result.cases[0].episodes}) > 1
    assert result.cases[0].avoidable.value is not None
