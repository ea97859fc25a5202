"""Where chance decides: planted causes, and luck, come out as so many groups, and hardly a fail is left without one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tightrope as tr
from tests.exploration.mdps import Mdp
from tests.exploration.test_best_survival import RING, chapter
from tightrope.execution import Engine
from tightrope.explanation import Cause
from tightrope.explanation.storage import explanation_from_json, explanation_to_json
from tightrope.progress import Progress
from tightrope.runs.campaign import run_campaign
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.questions.reasons import groups_of
from tightrope.safety import TestCase, TestSuite, group_failures
from tightrope.safety.failing.together import explain_together
from tightrope.safety.judging.storage import survival_from_json, survival_to_json
from tightrope.simulation import Simulator
from tightrope.testing import FunctionAgent
from tightrope.trace import ActionTrace

# From 0 chance leads to one of three places. In 1 and in 2 the agent plays a coin where others walk on; in 3 a stone
# falls whatever one does. Action 2 at first leads to 7, from where nobody returns.
PLACES = ((1 / 3, 1), (1 / 3, 2), (1 / 3, 3))
PLANTED = Mdp(
    {
        0: [PLACES, PLACES, ((1.0, 7),)],
        1: [((1.0, 5),), ((0.6, 5), (0.4, 9)), ((1.0, 5),)],
        2: [((0.3, 5), (0.7, 9)), ((1.0, 5),), ((1.0, 5),)],
        3: [((0.7, 5), (0.3, 9))] * 3,
        5: [((1.0, 5),)] * 3,
        7: [((1.0, 9),)] * 3,
    },
    frozenset({8}),
    frozenset({9}),
)
CARELESS = {1: 1, 2: 0}
"""What the agent plays in the two places; elsewhere 0."""


def result_of(task: tr.Task, agent: FunctionAgent, prefixes: list[ActionTrace], **options: object) -> tr.SafetyResult:
    cases = tuple(TestCase(prefix=prefix, boundary=0, depth=0, kept=0) for prefix in prefixes)
    suite = TestSuite(kind="simple", parameters={}, reference=prefixes[0], checksums=(), depths=(0,), cases=cases)
    return tr.run_suite(task, agent, suite, length=10, allow_changed=True, **options)


def planted_result(**options: object) -> tr.SafetyResult:
    task = PLANTED.task()
    agent = FunctionAgent(lambda state: CARELESS.get(int(state), 0), "careless")
    here = [ActionTrace(task.label, seed) for seed in range(60)]
    lost = [ActionTrace(task.label, seed, (2,)) for seed in range(4)]
    return result_of(task, agent, here + lost, repetitions=2, explain=True, **options)


@pytest.fixture(scope="module")
def planted() -> tr.SafetyResult:
    return planted_result()


def test_every_planted_cause_is_one_group_and_luck_is_one(planted: tr.SafetyResult) -> None:
    groups = planted.failure_groups
    by_decision = [group for group in groups if group.explanation.cause is None]
    assert {group.explanation.cause for group in groups} == {None, Cause.LUCK, Cause.LOST}
    assert len(groups) == 4
    assert {(group.explanation.action, group.avoidable) for group in by_decision} == {(1, True), (0, True)}
    for group in by_decision:
        true = 0.4 if group.explanation.action == 1 else 0.7
        assert group.explanation.drop.low < true < group.explanation.drop.high
        assert group.explanation.better
        assert group.explanation.action not in group.explanation.better
        assert set(group.explanation.witnesses) & set(group.explanation.better)
    [luck] = [group for group in groups if group.explanation.cause is Cause.LUCK]
    [lost] = [group for group in groups if group.explanation.cause is Cause.LOST]
    assert luck.avoidable is lost.avoidable is None
    assert luck.explanation.given_away.high < 0.1
    assert {len(case.case.prefix) for case in lost.members} == {1}
    # The agent's fault comes first, and every fail has its group.
    assert [group.avoidable for group in groups] == [True, True, None, None]
    assert sum(group.share for group in groups) == pytest.approx(1.0)


def test_each_member_is_told_by_its_own_episode(planted: tr.SafetyResult) -> None:
    for group in planted.failure_groups:
        for case in group.members:
            why = planted.explanations[case.case.id]
            assert why.trace == case.failing_episodes[0].trace
            assert why.depth is None or why.trace.actions[why.depth] == why.action


def test_groups_are_the_same_on_two_workers_and_when_read_back(planted: tr.SafetyResult) -> None:
    for why in planted.explanations.values():
        assert explanation_from_json(json.loads(json.dumps(explanation_to_json(why)))) == why
    assert planted_result(backend="processes", workers=2).explanations == planted.explanations


def test_what_two_agents_have_by_their_own_numbers_is_not_one_group(planted: tr.SafetyResult) -> None:
    other = {
        case: replace(why, given_away=replace(why.given_away, value=0.03))
        for case, why in planted.explanations.items()
        if why.cause is Cause.LUCK
    }
    another = replace(planted, agent="another", explanations={**planted.explanations, **other})
    groups = group_failures([planted, another])
    assert [group.agents for group in groups if group.explanation.cause is Cause.LUCK] == [("careless",), ("another",)]
    assert [group.agents for group in groups if group.explanation.cause is Cause.LOST] == [("careless", "another")]


def test_where_nothing_comes_again_it_is_compared_with_others() -> None:
    task = RING.task(state_key=chapter)
    here = [ActionTrace(task.label, seed) for seed in range(6)]
    wrong, knows = FunctionAgent(lambda cell: 1, "wrong"), FunctionAgent(lambda cell: cell % 3, "knows")
    with Engine(task, {"wrong": wrong, "knows": knows}) as engine:
        result = result_of(task, wrong, here, repetitions=10, engine=engine)
        told: list[Progress] = []
        found = explain_together(engine, [result], None, 20_000, told.append)
        [group] = replace(result, explanations=found).failure_groups
    assert [each.note for each in told] == [
        "wrong: learning what each decision costs", "wrong: against the best player known", "wrong: one by one",
    ], "nobody waits without being told for what"  # fmt: skip
    assert (group.explanation.cause, group.avoidable) == (Cause.WORSE, True)
    assert group.explanation.behind.low > 0.9
    said = group.sentence(task)
    assert said.startswith("Another player would have survived more often: from where it took over, it survives ")
    assert "(here knows)" in said
    # Files of before say it in the words of an estimate alone.
    content = explanation_to_json(group.explanation)
    del content["who"]
    assert explanation_from_json(json.loads(json.dumps(content))) == group.explanation
    survival = survival_to_json(result.survival)
    assert {each["who"] for each in survival["cases"].values()} == {"knows"}
    for each in survival["cases"].values():
        del each["who"]
    assert survival_from_json(survival) == result.survival


def test_who_is_the_best_that_is_known_is_said_to_be() -> None:
    task = RING.task(state_key=chapter)
    here = [ActionTrace(task.label, seed) for seed in range(6)]
    # Slips in one of ten steps, so that it fails now and then, and all others at once.
    slips = FunctionAgent(lambda cell: cell % 3 if cell != 5 else 0, "slips")
    with Engine(task, {"slips": slips}) as engine:
        result = result_of(task, slips, here, repetitions=20, engine=engine)
        found = explain_together(engine, [result], None, 20_000)
        # Who it is says a name, not words that are read again.
        unnamed = {name: replace(each, who="somebody") for name, each in result.survival.by_case.items()}
        other = replace(result, survival=replace(result.survival, by_case=unnamed))
        cases = tuple(replace(case, survival=unnamed[case.case.id]) for case in result.cases)
        elsewhere = explain_together(engine, [replace(other, cases=cases)], None, 20_000)
    assert Cause.UNBEATEN not in {why.cause for why in elsewhere.values()}
    causes = {why.cause for why in found.values()}
    assert causes == {Cause.UNBEATEN}
    assert all(why.agents_fault is None for why in found.values())


def test_a_model_that_says_what_was_not_seen_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from tightrope.safety.failing import together

    def wrong(*given: object) -> object:
        made = explain(*given)
        return [
            why and replace(why, estimates=tuple((depth, replace(each, value=0.05)) for depth, each in why.estimates))
            for why in made
        ]

    explain = together.explain_by_model
    monkeypatch.setattr(together, "explain_by_model", wrong)
    told = planted_result()
    assert {why.cause for why in told.explanations.values()} >= {Cause.LOST, Cause.WORSE}
    assert all(why.given_away is None for why in told.explanations.values())


@pytest.mark.parametrize("budget", [6_000, 60_000])
def test_the_budget_is_kept(planted: tr.SafetyResult, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, step = 0, Simulator.advance

    def counted(self: Simulator, action: object) -> object:
        nonlocal steps
        steps += 1
        return step(self, action)

    monkeypatch.setattr(Simulator, "advance", counted)
    task = PLANTED.task()
    agent = FunctionAgent(lambda state: CARELESS.get(int(state), 0), "careless")
    with Engine(task, {agent.name: agent}) as engine:
        explain_together(engine, [replace(planted, explanations={})], None, budget)
    # Decisions are measured with at least 40 runs of each action, whatever they cost.
    assert 0 < steps <= 1.2 * budget + 5_000


def test_a_campaign_on_slippery_ice_ends_with_a_handful_of_findings(tmp_path: Path) -> None:
    """With the steps that a campaign has for it by default."""
    config = {
        "task": "FrozenLake-v1",
        "agents": [{"source": "tests.sample_agents:careful", "name": "careful"}],
        "plain": {"episodes": 0},
        "search": {"probe_steps": 500, "references": 6, "reference_steps": 4_000},
        "safety": {"suites": ["simple", "interval:1", "coverage:1"], "control": False},
        "fuzzing": {"enabled": False},
        "performance": {"enabled": False},
        "execution": {"backend": "inline"},
        "report": {"videos": 0},
    }
    run = run_campaign(CampaignConfig.model_validate(config), tmp_path / "run")
    [groups] = groups_of(run.safety).values()
    assert sum(len(group.members) for group in groups) > 20
    explained = [group for group in groups if group.explanation is not None]
    assert len(explained) <= 6
    assert sum(group.share for group in explained) > 0.9
    assert any(group.explanation.cause is None and group.avoidable for group in explained)
