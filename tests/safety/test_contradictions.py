"""No sentence contradicts another: what cases, kinds of failure, suite, headline, JUnit and gate say of one agent."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest

import tightrope as tr
from tests.exploration.mdps import Mdp, best_survival, random_mdp
from tests.exploration.test_best_survival import chapter, situations
from tightrope.exploration.escapes import Survival
from tightrope.pytest_plugin.messages import _why
from tightrope.reference import Survivability
from tightrope.report import AgentInfo, Results, RunResults
from tightrope.report.headline import NO_MORE_THAN_THE_BEST, headline
from tightrope.report.writers.junit import junit_xml
from tightrope.runs.gates import judge_gate
from tightrope.runs.measurements import measured_fails
from tightrope.safety import TestCase, TestSuite, group_failures
from tightrope.statistics import rate_estimate
from tightrope.testing import FunctionAgent

LENGTH = 12


def dangerous(mdp: Mdp) -> Mdp:
    """The same, but every third state harms one in four times, whatever one does."""
    harm = min(mdp.unsafe)
    table = {
        state: [(*((0.75 * p, t) for p, t in row), (0.25, harm)) for row in rows] if state % 3 == 0 else rows
        for state, rows in mdp.table.items()
    }
    return replace(mdp, table=table)


@cache
def judged(seed: int, *, learnable: bool = True) -> tuple[tr.Task, tr.SafetyResult]:
    """A random agent, or the safest there is, in a random world of chance, with few executions: luck abounds."""
    mdp, rng = dangerous(random_mdp(seed)), np.random.default_rng(seed)
    task = mdp.task() if learnable else mdp.task(state_key=chapter)
    _, policy = best_survival(mdp.table, mdp.goals, mdp.unsafe, LENGTH)
    table = dict(policy[-1])
    for state in rng.choice(sorted(table), size=seed % 2, replace=False):
        table[int(state)] = int(rng.integers(3))
    cases = tuple(
        TestCase(prefix=trace, boundary=place, depth=0, kept=0) for place, trace in enumerate(situations(task, 4, seed))
    )
    suite = TestSuite(
        kind="simple", parameters={}, reference=cases[0].prefix, checksums=(), cases=cases,
        depths=tuple(range(len(cases))),
    )  # fmt: skip
    agent = FunctionAgent(lambda state: table.get(int(state), 0), "agent")
    return task, tr.run_suite(task, agent, suite, repetitions=4, length=LENGTH, allow_changed=True, explain=True)


def contradictions(task: tr.Task, result: tr.SafetyResult, limit: float = 0.0) -> list[str]:
    """What is said that the avoidable fail frequency of the suite denies."""
    run = RunResults(
        name="run", task=task, agents=(AgentInfo(name="agent"),), safety={"simple": {"agent": result}},
    )  # fmt: skip
    rate = result.avoidable_fail_frequency
    (suite,) = run.suites
    groups = group_failures([result])
    of_case = {member.case.id: group for group in groups for member in group.members}
    told = {
        "group": [group.avoidable for group in groups],
        "case": [case.blame == "avoidable" for case in suite.distinct],
        "headline": [
            avoidable in headline(run).sentence.replace("at least 0 % was", "")
            for avoidable in (" was avoidable", " were avoidable", " may have been avoidable")
        ],
        "JUnit": [node.find("failure") is not None for node in cases_of(junit_xml(Results(title="", runs=(run,))))],
        "pytest": [_why(result, case, of_case, task).startswith("avoidable") for case in result.cases],
        "gate": [judge_gate("", measured_fails("agent", "simple", result.cases), limit).passed is False],
    }
    if rate.value != 0:
        denied = headline(run).sentence
        return ["headline"] if NO_MORE_THAN_THE_BEST in denied else []
    return [name for name, said in told.items() if any(said)]


def cases_of(xml: str) -> list[ElementTree.Element]:
    return [node for node in ElementTree.fromstring(xml).iter("testcase") if "gates" not in node.get("classname", "")]


@pytest.mark.parametrize("learnable", [True, False])
def test_nothing_is_called_avoidable_where_the_suite_reads_zero(learnable: bool) -> None:
    zeros = fails = 0
    for seed in range(5):
        task, result = judged(seed, learnable=learnable)
        assert contradictions(task, result) == []
        zeros += result.avoidable_fail_frequency.value == 0 and bool(result.fails)
        fails += bool(result.fails)
    assert fails > 2
    assert zeros > 0 or not learnable, "the interesting worlds: it fails, and is not to blame"


def test_a_decision_that_seems_to_have_cost_something_is_luck_where_the_suite_is_as_good_as_the_best() -> None:
    """The kind of failure blames a decision; the suite as a whole fails no more than the best player known."""
    task, result = next(
        (task, result)
        for task, result in map(judged, range(1, 30, 2))
        if any(g.avoidable for g in group_failures([result]))
    )
    best = Survival(survivable=Survivability.UNKNOWN, best=rate_estimate(1, 100), thorough=True)
    survival = replace(result.survival, by_case=dict.fromkeys(result.survival.by_case, best))
    excused = replace(result, survival=survival, cases=tuple(replace(case, survival=best) for case in result.cases))
    assert excused.avoidable_fail_frequency.value == 0
    groups = group_failures([excused])
    assert [group._avoidable for group in groups].count(True) > 0
    assert all(group.avoidable is not True for group in groups)
    assert contradictions(task, excused) == []


def test_where_too_few_others_were_tried_nobody_says_that_all_was_avoidable() -> None:
    for seed in range(8):
        task, result = judged(seed, learnable=False)
        run = RunResults(name="run", task=task, agents=(AgentInfo(name="agent"),), safety={"simple": {"agent": result}})
        (suite,) = run.suites
        if any(case.counted_in_full for case in suite.distinct):
            assert "all of that was avoidable" not in headline(run).sentence
            return
    pytest.fail("no world in which chance decides and too few were tried")
