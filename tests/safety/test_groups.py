"""Failures with the same cause are one, checked on worlds whose causes were planted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, expert, jumper, reference_of, walker
from tightrope.exploration.escapes import Survival
from tightrope.reference import Survivability
from tightrope.safety import TestCase, TestSuite, group_failures, shares_of_groups
from tightrope.safety.failing.explained_cases import ASKED_AT_A_TIME, _surer, explain_failures
from tightrope.safety.failing.groups import HANDFUL, rest_of_groups
from tightrope.safety.failing.nearness import NEAR
from tightrope.safety.failing.remaining import remaining_kinds
from tightrope.testing import JUMP, WALK, FunctionAgent, corridor_task
from tightrope.trace import ActionTrace


def planted(seed: int) -> tuple[tr.Task, FunctionAgent, tr.TestSuite, set[int]]:
    """A corridor with holes; the agent jumps over all but some of them. Cases hand over anywhere before and behind."""
    rng = np.random.default_rng(seed)
    holes = sorted(rng.choice(np.arange(4, 60, 4), size=6, replace=False).tolist())
    traps = set(rng.choice(holes, size=3, replace=False).tolist())
    task = corridor_task(64, holes)
    before = {hole - 1 for hole in holes if hole not in traps}
    agent = FunctionAgent(lambda cell: JUMP if cell in before else WALK, f"falls-{seed}")
    way, cell = [], 0
    while cell < 64:
        action = JUMP if cell + 1 in holes else WALK
        way.append(action)
        cell += 1 + action
    reference = reference_of(task, way, range(len(way) - 1), proven=False)
    return task, agent, tr.simple_suite(reference), traps


@pytest.mark.parametrize("seed", range(4))
def test_every_planted_cause_is_one_group(seed: int) -> None:
    task, agent, suite, traps = planted(seed)
    result = tr.run_suite(task, agent, suite, length=64)
    groups = result.failure_groups
    # The agent falls into the first trap after hand-over: one decision each, however many cases lead to it.
    assert len(groups) == len({group.explanation.key for group in groups}) == len(traps)
    assert sum(len(group.members) for group in groups) == len([case for case in result.cases if case.fails])
    assert sum(group.share for group in groups) == pytest.approx(1.0)
    assert [group.share for group in groups] == sorted((group.share for group in groups), reverse=True)
    for group in groups:
        assert group.avoidable
        assert (group.explanation.action, group.explanation.better) == (WALK, (JUMP,))
        assert group.agents == (agent.name,)
        shortest = min(len(case.failing_episodes[0].trace) for case in group.members)
        assert len(group.representative.failing_episodes[0].trace) == shortest


def test_causes_are_shared_between_agents() -> None:
    suite = tr.interval_suite(reference_of(CORRIDOR), 1)
    results = [tr.run_suite(CORRIDOR, agent, suite) for agent in (walker, jumper, expert)]
    groups = group_failures(results)
    by_decision = {(group.explanation.key, group.explanation.action): group.agents for group in groups}
    assert len(by_decision) == len(groups)
    assert set(by_decision.values()) == {("walker",), ("jumper",)}
    assert group_failures([*results, tr.run_suite(CORRIDOR, walker, suite)])[0].share > 0


def test_what_was_not_explained_stands_for_itself_and_the_rest_is_stored() -> None:
    suite = tr.simple_suite(reference_of(CORRIDOR))
    plain = tr.run_suite(CORRIDOR, walker, suite, explain=False)
    assert [group.explanation for group in plain.failure_groups] == [None, None]
    explained = tr.run_suite(CORRIDOR, walker, suite)
    again = tr.SafetyResult.from_json(json.loads(json.dumps(explained.to_json())))
    assert again.explanations == explained.explanations
    assert again.failure_groups == explained.failure_groups


WAIT = 2
DUST = 0.001


class Dusty(gym.Env[Any, Any]):
    """A corridor in which waiting raises a little dust: no two ways see quite the same, so no key comes twice."""

    observation_space = gym.spaces.Box(-1, 100, (1,), np.float64)
    action_space = gym.spaces.Discrete(3)
    holes = frozenset({6, 20})

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell, self.dust = 0, 0.0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.cell += {WALK: 1, JUMP: 2, WAIT: 0}[int(action)]
        self.dust += DUST * (action == WAIT)
        return self._seen(), 0.0, self.cell in self.holes or self.cell >= 30, False, {"fell": self.cell in self.holes}

    def _seen(self) -> Any:
        return np.array([self.cell + self.dust])


DUSTY = tr.Task(
    name="dusty",
    make_env=Dusty,
    goal=lambda step: step.terminated and not step.info["fell"],
    unsafe=lambda step: step.terminated and step.info["fell"],
)


def dusty_result(ways: list[tuple[int, ...]]) -> tr.SafetyResult:
    """Cases that hand over at the ends of these ways to an agent that walks on."""
    cases = tuple(
        TestCase(prefix=ActionTrace(DUSTY.label, 0, way), boundary=0, depth=0, kept=0) for way in dict.fromkeys(ways)
    )
    suite = TestSuite(kind="simple", parameters={}, reference=cases[0].prefix, checksums=(), depths=(0,), cases=cases)
    walks = FunctionAgent(lambda seen: WALK, "walks")
    return tr.run_suite(DUSTY, walks, suite, length=10, allow_changed=True)


TO_FIRST, TO_SECOND = (WALK,) * 3, (WALK,) * 5 + (JUMP,) + (WALK,) * 10


def test_blame_points_near_each_other_are_one_place_though_no_key_comes_twice() -> None:
    waits = [(WAIT,) * number for number in range(4)]
    result = dusty_result([wait + way for way in (TO_FIRST, TO_SECOND) for wait in waits])
    groups = result.failure_groups
    assert len({why.key for why in result.explanations.values()}) == 8, "no two see the same"
    assert sorted(len(group.members) for group in groups) == [4, 4]
    for group in groups:
        assert group.avoidable
        places = {round(result.explanations[case.case.id].observation[0]) for case in group.members}
        assert places in ({5}, {19})


def test_one_cause_alone_stays_one_however_little_else_there_is_to_compare_with() -> None:
    result = dusty_result([(WAIT,) * number + TO_FIRST for number in range(6)])
    assert [len(group.members) for group in result.failure_groups] == [6]


def test_groups_do_not_grow_from_neighbour_to_neighbour() -> None:
    made = dusty_result([TO_FIRST, (WAIT, *TO_FIRST), (WAIT, WAIT, *TO_FIRST)])
    ids = [case.case.id for case in made.cases]
    step = 0.8 * NEAR * 10.0
    moved = {
        case: replace(made.explanations[case], key=place, observation=(place * step,), reach=((0.0, 10.0),))
        for place, case in enumerate(ids)
    }
    # Each is near its neighbour, and the third is not near the first.
    groups = replace(made, explanations=moved).failure_groups
    assert sorted(len(group.members) for group in groups) == [1, 2]


def strewn(places: Any) -> tr.SafetyResult:
    """As many fails, lost where these were seen, each number of which reaches from 0 to 10."""
    made = dusty_result([(WAIT,) * number + TO_FIRST for number in range(len(places))])
    moved = {
        case.case.id: replace(
            made.explanations[case.case.id],
            key=number,
            observation=tuple(map(float, seen)),
            reach=((0.0, 10.0),) * len(seen),
        )
        for number, (case, seen) in enumerate(zip(made.cases, places, strict=True))
    }
    return replace(made, explanations=moved)


def test_blame_points_all_over_a_space_become_a_handful() -> None:
    """As of a pole that can fall anywhere on its track: hardly any two are lost at nearly the same place."""
    places = np.random.default_rng(0).uniform(0, 10, size=(40, 4))
    groups = strewn(places).failure_groups
    assert len(groups) <= HANDFUL
    assert sum(len(group.members) for group in groups) == len(places)


def test_many_causes_that_come_again_stay_apart() -> None:
    causes, rng = np.repeat(np.arange(12) * 0.8, 3), np.random.default_rng(0)
    places = np.stack([causes + rng.uniform(0, 0.1, len(causes)), np.full(len(causes), 5.0)], axis=1)
    assert [len(group.members) for group in strewn(places).failure_groups] == [3] * 12


def test_what_is_known_of_hand_over_is_not_asked_again() -> None:
    result = dusty_result([(WAIT,) * number + TO_SECOND for number in range(3)])
    assert all(case.survivable is Survivability.YES for case in result.cases)
    for why in result.explanations.values():
        assert min(depth for depth, _ in why.curve) == why.handover
        # Four moments remain, and of one of them it is known.
        assert len(why.curve) <= 3
    unknown = [replace(case, survival=Survival(survivable=Survivability.UNKNOWN)) for case in result.cases]
    with tr.Engine(DUSTY) as engine:
        anyway = explain_failures(engine, [replace(result, cases=tuple(unknown), explanations={})], None, 100_000)
    assert {case: (why.depth, why.better) for case, why in anyway.items()} == {
        case: (why.depth, why.better) for case, why in result.explanations.items()
    }


def test_a_second_look_with_few_steps_left_takes_nothing_back() -> None:
    [why] = dusty_result([TO_FIRST]).explanations.values()
    early = replace(why, depth=why.depth - 2, proven=False)
    late = replace(why, proven=False)
    assert _surer(None, early) is early
    assert _surer(early, late) is late
    assert _surer(late, early) is late
    assert _surer(late, replace(early, depth=None)) is late
    assert _surer(late, replace(early, proven=True)).proven


def test_fails_of_which_nothing_was_decided_are_told_once_and_may_be_of_many_kinds() -> None:
    made = dusty_result([(WAIT,) * number + TO_FIRST for number in range(4)])
    nothing = {
        case: replace(why, depth=None, action=None, better=(), proven=False, agents_fault=None, observation=None)
        for case, why in list(made.explanations.items())[1:]
    }
    # Of two of them nobody is known who survives from hand-over on.
    lost = [replace(case, survival=Survival(survivable=Survivability.UNKNOWN)) for case in made.cases[2:]]
    result = replace(made, cases=(*made.cases[:2], *lost), explanations={**made.explanations, **nothing})
    told = [(len(group.members), group.decided, group.avoidable) for group in result.failure_groups]
    assert told == [(1, True, True), (1, False, True), (2, False, None)]
    assert (
        result.failure_groups[1].sentence(DUSTY)
        == "At which step it was lost could not be found out within the steps allowed for it"
    )
    assert remaining_kinds(result).kinds == 4


def test_the_same_place_with_another_decision_is_another_cause() -> None:
    made = dusty_result([TO_FIRST, (WAIT, *TO_FIRST)])
    second = made.cases[1].case.id
    other = {**made.explanations, second: replace(made.explanations[second], action=JUMP)}
    assert len(made.failure_groups) == 1
    assert len(replace(made, explanations=other).failure_groups) == 2


def test_no_fails_no_groups() -> None:
    assert tr.run_suite(CORRIDOR, expert, tr.simple_suite(reference_of(CORRIDOR))).failure_groups == ()


def test_decisions_of_real_numbers_are_one_where_they_were_made_near_each_other() -> None:
    """No network chooses the same torque twice."""
    result = dusty_result([(WAIT,) * number + TO_FIRST for number in range(4)])
    torques = {
        case: replace(why, action=(0.1 * number, -1.0))
        for number, (case, why) in enumerate(result.explanations.items())
    }
    assert [len(group.members) for group in replace(result, explanations=torques).failure_groups] == [4]
    numbers = {case: replace(why, action=number) for number, (case, why) in enumerate(result.explanations.items())}
    assert len(replace(result, explanations=numbers).failure_groups) == 4


def test_explaining_keeps_its_budget_and_says_what_it_left_out() -> None:
    result = dusty_result([(WAIT,) * number + way for way in (TO_FIRST, TO_SECOND) for number in range(8)])
    bare = replace(result, explanations={})
    with tr.Engine(DUSTY) as engine:
        enough = explain_failures(engine, [bare], None, 100_000)
        assert enough.keys() == {case.case.id for case in result.distinct_cases}
        dearest = max(why.steps for why in enough.values())
        few = explain_failures(engine, [bare], None, 4 * dearest)
    assert 0 < len(few) < len(enough)
    assert sum(why.steps for why in few.values()) <= 4 * dearest + ASKED_AT_A_TIME * dearest
    groups = replace(bare, explanations=few).failure_groups
    unasked = sum(group.explanation is None for group in groups)
    assert rest_of_groups(groups, len(groups) - unasked) == (
        f"… and {unasked} more, not explained: the steps for that (explain_steps) were spent"
    )
    assert rest_of_groups(groups, 0).startswith(f"… and {len(groups)} more, {unasked} of them not explained")
    assert rest_of_groups(result.failure_groups, 1) == "… and 1 more"
    assert rest_of_groups(result.failure_groups, 2) == ""


def test_a_way_out_from_hand_over_makes_a_fail_avoidable_though_its_moment_was_not_found() -> None:
    task, agent, suite, _ = planted(0)
    result = tr.run_suite(task, agent, suite, length=64)
    lost = {case: replace(each, depth=None, agents_fault=None) for case, each in result.explanations.items()}
    assert all(group.avoidable for group in replace(result, explanations=lost).failure_groups)
    # So it is where nobody asked why, and those come last.
    first, *others = result.explanations
    some = replace(result, explanations={first: lost[first]}).failure_groups
    assert [group.explanation is None for group in some] == [False] + [True] * (len(some) - 1)
    assert all(group.avoidable for group in some)
    assert others
    # Without a way out nobody knows.
    unknown = replace(
        result,
        explanations=lost,
        cases=tuple(replace(case, survival=case.survival.withdrawn("not asked")) for case in result.cases),
    )
    assert {group.avoidable for group in unknown.failure_groups} == {None}


def test_who_fails_the_same_cases_in_a_way_that_nobody_knows_is_not_said_to_fail_them_in_another() -> None:
    task, falls, suite, _ = planted(0)
    walks = FunctionAgent(lambda cell: WALK, "walks")
    explained, other = (tr.run_suite(task, agent, suite, length=64) for agent in (falls, walks))
    known = shares_of_groups(group_failures([explained, other]), [other])
    assert any(share.fails < share.executions for share in known), "in these cases it fails otherwise"
    nothing = {
        case: replace(why, depth=None, action=None, better=(), witnesses={}, agents_fault=None)
        for case, why in other.explanations.items()
    }
    undecided = replace(other, explanations=nothing)
    fails = {result.agent: {case.case.id for case in result.cases if case.fails} for result in (explained, undecided)}
    groups = group_failures([explained, undecided])
    assert {group.decided for group in groups} == {True, False}
    for result in (explained, undecided):
        for group, share in zip(groups, shares_of_groups(groups, [result]), strict=True):
            if group.agents != (result.agent,):
                passed = {case.case.id for case in group.members} - fails[result.agent]
                assert (share.fails, share.executions) == (0, len(passed))
