"""Gates that stop as soon as they are decided."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tests.safety.corridor import CORRIDOR, SLIPPERY, expert, jumper, reference_of, walker
from tightrope.errors import UsageError
from tightrope.outcome import Verdict
from tightrope.safety import (
    SafetyResult,
    TestCase,
    compare_safety,
    decide_gate,
    interval_suite,
    run_suite,
    simple_suite,
)
from tightrope.safety.gate_draws import Drawing
from tightrope.safety.judging.frequencies import case_weights
from tightrope.statistics import SequentialDecision, SequentialGate
from tightrope.testing import JUMP, WALK, FunctionAgent, RandomAgent

reference = reference_of(CORRIDOR)
suite = interval_suite(reference, 1)
drunk = RandomAgent((WALK, JUMP), "drunk")


class Unsure(FunctionAgent):
    """Always does the same, but nobody knows."""

    deterministic = False


class Listener(SequentialGate):
    """A gate that is never decided and remembers what it was told."""

    def __init__(self) -> None:
        super().__init__(0.5)
        self.told: list[bool | None] = []

    def update(self, failed: bool | None) -> SequentialDecision | None:
        self.told.append(failed)
        return None


def drawing_of(gate: SequentialGate, *, most: int, seed: int = 0, patience: int = 10) -> Drawing:
    return Drawing(suite, gate, without=(), patience=patience, most=most, seed=seed)


def test_cases_are_drawn_as_often_as_they_weigh_in_the_suite() -> None:
    weights = {case.case.id: weight for case, weight in case_weights(run_suite(CORRIDOR, walker, suite).cases)}
    drawing, drawn = drawing_of(Listener(), most=6000), Counter[str]()
    while work := drawing.ask():
        drawn.update(case.id for case, _ in work)
        drawing.tell([Verdict.PASS] * len(work))
    assert drawn.total() == 6000
    for case, weight in weights.items():
        assert drawn[case] / 6000 == pytest.approx(weight, abs=0.02)


def test_every_execution_of_a_case_is_a_new_one() -> None:
    drawing, seen = drawing_of(Listener(), most=500), Counter[tuple[str, int]]()
    while work := drawing.ask():
        seen.update((case.id, repetition) for case, repetition in work)
        drawing.tell([Verdict.PASS] * len(work))
    assert set(seen.values()) == {1}
    assert all((case, number - 1) in seen for case, number in seen if number)


def test_invalid_cases_are_left_out_as_they_are_in_the_suite() -> None:
    """The first case of the first boundary state never reaches hand-over: its neighbours there take its share."""
    invalid = suite.cases[0].id
    gate = Listener()
    drawing, drawn = drawing_of(gate, most=4000, patience=3), Counter[str]()
    while work := drawing.ask():
        drawn.update(case.id for case, _ in work)
        drawing.tell([Verdict.INVALID if case.id == invalid else Verdict.PASS for case, _ in work])
    assert 3 <= drawn[invalid] <= 3 + 8, "no more than the patience, and what the batch held already"
    first = [case.id for case in suite.cases if case.boundary == 0][1:]
    total = len(gate.told)
    only = next(case for case in first if case not in {c.id for c in suite.cases if c.boundary == 1})
    assert drawn[only] / total == pytest.approx(1 / 4, abs=0.03)


def test_draws_count_in_their_order_however_long_they_take() -> None:
    """Falls reach hand-over one time in five, passes always: counted as they come in, falls would come too late."""
    rng = np.random.default_rng(0)
    falls = {case.id: case.boundary == 0 for case in suite.cases}
    shared = Counter(case.id for case in suite.cases)
    alone = [case for case in suite.cases if shared[case.id] == 1]
    assert {falls[case.id] for case in alone} == {True, False}
    first = []
    for seed in range(300):
        gate = Listener()
        drawing = drawing_of(gate, most=200, seed=seed, patience=1000)
        while not gate.told:
            work = drawing.ask()
            drawing.tell(
                [
                    (Verdict.FAIL if rng.random() < 0.2 else Verdict.INVALID) if falls[case.id] else Verdict.PASS
                    for case, _ in work
                ]
            )
        first.append(bool(gate.told[0]))
    truth = sum(falls[case.id] for case in suite.cases) / len(suite.cases)
    assert np.mean(first) == pytest.approx(truth, abs=0.09)


def test_the_error_rate_holds_for_cases_that_differ() -> None:
    """Of six places in two boundary states one fails always: with that very rate as the limit, looks are harmless."""
    certain = suite.cases[0].id
    decisions = Counter[SequentialDecision | None]()
    for seed in range(200):
        gate = SequentialGate(1 / 6)
        drawing = drawing_of(gate, most=120, seed=seed)
        while work := drawing.ask():
            drawing.tell([Verdict.FAIL if case.id == certain else Verdict.PASS for case, _ in work])
        decisions[gate.decision] += 1
    assert decisions[SequentialDecision.WITHIN] / 200 <= 0.05 + 0.03
    assert decisions[SequentialDecision.ABOVE] / 200 <= 0.05 + 0.03
    assert decisions[None] > 150


def decided(agent, limit: float, **more) -> SafetyResult:  # type: ignore[no-untyped-def]
    return decide_gate(CORRIDOR, agent, suite, limit, **more)


def test_a_drunk_fails_soon() -> None:
    result = decided(drunk, 0.05, repetitions=50)
    decision = result.decision
    assert decision is not None
    assert decision.passed is False
    assert decision.executions <= 16
    assert decision.saved == decision.whole - decision.executions == 5 * 50 - decision.executions
    assert "decided by" in str(decision)
    assert result.stopped_early
    assert sum(len(case.episodes) for case in result.distinct_cases) == decision.executions
    assert result.fail_frequency == decision.estimate
    assert result.fail_frequency.low > 0.05  # type: ignore[operator]


def test_the_same_seed_decides_the_same_way() -> None:
    one, two, other = (decided(drunk, 0.4, seed=seed) for seed in (3, 3, 4))
    assert one.decision == two.decision
    assert one.cases == two.cases
    assert [c.episodes for c in one.cases] != [c.episodes for c in other.cases]


def test_executions_are_those_of_the_suite() -> None:
    """So that a whole run afterwards repeats nothing."""
    whole = run_suite(CORRIDOR, drunk, suite, repetitions=40)
    part = decided(drunk, 0.05, repetitions=40)
    for one, all_of_it in zip(part.cases, whole.cases, strict=True):
        assert list(one.episodes) == list(all_of_it.episodes[: len(one.episodes)])


def test_a_careful_agent_passes_and_what_stopped_promises_nothing_else() -> None:
    careful = Unsure(lambda cell: JUMP if cell in (2, 5) else WALK, "careful")
    on_reference = simple_suite(reference)
    result = decide_gate(CORRIDOR, careful, on_reference, 0.05, repetitions=100)
    assert result.decision is not None
    assert (result.decision.passed, result.decision.draws) == (True, 74)
    assert result.decision.saved > 100
    for number in (result.mean_return, result.fails_per_1000_steps, result.boundary_states[0].fail_frequency):
        assert number.value is not None
        assert number.low is None
        assert "stopped" in number.method


def test_what_is_not_decided_says_so() -> None:
    result = decided(drunk, 0.6, most=10)
    assert result.decision is not None
    assert result.decision.passed is None
    assert result.decision.executions == 10
    assert "open after" in str(result.decision)


def test_where_nothing_is_random_every_case_is_executed_once_and_that_settles_it() -> None:
    for agent, passed in ((expert, True), (jumper, False)):
        decision = decided(agent, 0.05).decision
        assert decision is not None
        assert (decision.passed, decision.exact, decision.executions) == (passed, True, 5)
        assert decision.estimate.low == decision.estimate.high


def test_what_raises_cannot_pass_a_gate() -> None:
    def act(cell: int) -> int:
        if cell == 8:
            raise RuntimeError("lost")
        return JUMP if cell in (2, 5) else WALK

    shaky = Unsure(act, "shaky")
    result = decided(shaky, 0.5, most=300)
    assert result.decision is not None
    assert result.decision.passed is None
    assert result.decision.errors > 0


def test_invalid_suites_are_not_decided() -> None:
    over = simple_suite(reference_of(CORRIDOR, depths=(8,)))
    result = decide_gate(CORRIDOR, drunk, over, 0.5, repetitions=3)
    assert result.decision is not None
    assert (result.decision.passed, result.decision.draws) == (None, 0)
    assert result.fail_frequency.value is None


def test_on_slippery_ground() -> None:
    slippery = interval_suite(reference_of(SLIPPERY), 1)
    result = decide_gate(SLIPPERY, walker, slippery, 0.3, survivable=False)
    assert result.decision is not None
    assert result.decision.passed is False
    assert result.decision.executions >= result.decision.draws


def test_a_decision_survives_json_and_is_not_compared() -> None:
    result = decided(drunk, 0.05)
    again = SafetyResult.from_json(json.loads(json.dumps(result.to_json())))
    assert again == result
    # As files were before proofs of doom could be refuted after a decision.
    older = json.loads(json.dumps(result.to_json()))
    for new in ("decided", "left_out", "stands"):
        del older["decision"][new]
    assert SafetyResult.from_json(older).decision == result.decision
    with pytest.raises(UsageError, match="stopped as soon as its gate was decided"):
        compare_safety(result, run_suite(CORRIDOR, drunk, suite))


def test_limits_are_checked() -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        decided(drunk, 1.2)


def test_doomed_cases_are_not_drawn() -> None:
    doomed = suite.cases[0]
    drawing = Drawing(suite, Listener(), without={doomed.id}, patience=5, most=300, seed=0)
    while work := drawing.ask():
        assert all(isinstance(case, TestCase) and case.id != doomed.id for case, _ in work)
        drawing.tell([Verdict.PASS] * len(work))


def test_nothing_to_draw_from_ends_at_once() -> None:
    empty = replace(suite, cases=())
    assert Drawing(empty, Listener(), without=(), patience=5, most=300, seed=0).ask() == []


def test_no_more_was_avoidable_than_failed_where_a_gate_stopped() -> None:
    """The fail frequency is that of the draws; what came of the rest of their batch made 89 of 80 % avoidable."""
    task = tr.make_task("FrozenLake-v1")
    known = tr.search(task, budget=tr.Budget(steps=60_000), seed=0).reference
    careless = RandomAgent(range(4), "careless")
    for seed in range(3):
        result = decide_gate(task, careless, simple_suite(known), 0.05, seed=seed)
        decision, avoidable = result.decision, result.avoidable_fail_frequency
        assert decision is not None
        assert decision.fate is not None
        assert decision.passed is False
        assert avoidable.value == pytest.approx(max(0, result.fail_frequency.value - decision.fate.value))
        assert (avoidable.low, avoidable.n) == (None, decision.draws)
        assert SafetyResult.from_json(json.loads(json.dumps(result.to_json()))).avoidable_fail_frequency == avoidable
