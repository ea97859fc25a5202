"""Failures with the same cause are one, checked on worlds whose causes were planted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, expert, jumper, reference_of, walker
from tightrope.safety import group_failures
from tightrope.testing import JUMP, WALK, FunctionAgent, corridor_task


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


def test_no_fails_no_groups() -> None:
    assert tr.run_suite(CORRIDOR, expert, tr.simple_suite(reference_of(CORRIDOR))).failure_groups == ()
