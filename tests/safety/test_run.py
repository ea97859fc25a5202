"""Every count, frequency and verdict in the corridor, worked out by hand."""

import pytest

from tests.safety.corridor import CORRIDOR, REFERENCE, SLIPPERY, expert, jumper, reference_of, walker
from tightrope.agents import Answer
from tightrope.errors import NotReproducible, UsageError
from tightrope.execution import Engine
from tightrope.outcome import Outcome, Verdict
from tightrope.progress import Progress
from tightrope.reference import Survivability
from tightrope.safety import (
    SafetyResult,
    action_coverage_suite,
    interval_suite,
    random_suite,
    run_suite,
    simple_suite,
)
from tightrope.safety.judging.survival import exact_replay
from tightrope.tasks import Task
from tightrope.testing import JUMP, WALK, ConstantAgent, CountingAgent, RandomAgent, corridor_task
from tightrope.trace import ActionTrace

reference = reference_of(CORRIDOR)
PASS, FAIL, INVALID, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.INVALID, Verdict.ERROR


def verdicts(result: SafetyResult) -> list[Verdict]:
    return [case.verdicts[0] for case in result.cases]


def test_simple_suite_without_slipping() -> None:
    result = run_suite(CORRIDOR, walker, simple_suite(reference))
    assert verdicts(result) == [FAIL, FAIL]
    assert result.fail_frequency.value == 1.0
    assert [case.mean_return.value for case in result.cases] == [-11.0, -11.0]

    result = run_suite(CORRIDOR, jumper, simple_suite(reference))
    # From cell 2 the jumper lands on 4 and then in the hole at 6; from cell 5 on 7, 9 and the goal.
    assert verdicts(result) == [FAIL, PASS]
    assert [case.mean_return.value for case in result.cases] == [-12.0, 7.0]
    assert [case.episodes[0].actions for case in result.cases] == [(JUMP,) * 2, (JUMP,) * 3]
    assert result.fail_frequency.value == 0.5
    assert result.mean_return.value == -2.5

    result = run_suite(CORRIDOR, expert, simple_suite(reference))
    assert verdicts(result) == [PASS, PASS]
    assert result.fail_frequency.value == 0.0
    assert result.fail_frequency.high == 0.0  # nothing is random on these cases
    assert result.fail_frequency_in_general.high is None  # and one reference says nothing about others
    assert [case.episodes[0].outcome for case in result.cases] == [Outcome.GOAL] * 2


def test_interval_suite_without_slipping() -> None:
    result = run_suite(CORRIDOR, jumper, interval_suite(reference, 1))
    # Hand-over in the cells 1 2 4 and 4 5 7: falls into 3, 6, 6 and 6, reaches the goal from 5 and 7.
    assert verdicts(result) == [FAIL, FAIL, FAIL, FAIL, PASS, PASS]
    assert [state.fail_frequency.value for state in result.boundary_states] == [1.0, pytest.approx(1 / 3)]
    assert result.fail_frequency.value == pytest.approx(2 / 3)
    # The returns are -11 -12 -11 and -11 7 8.
    assert result.boundary_states[0].mean_return.value == pytest.approx(-34 / 3)
    assert result.mean_return.value == pytest.approx((-34 / 3 + 4 / 3) / 2)
    # Five distinct cases: 1+1, 2+2, 3+1, 4+3, 5+2 steps, and three fails.
    assert len(result.distinct_cases) == 5
    assert result.counts == {FAIL: 3, PASS: 2}
    assert result.fails_per_1000_steps.value == pytest.approx(1000 * 3 / 24)


def test_coverage_suite_without_slipping() -> None:
    result = run_suite(CORRIDOR, walker, action_coverage_suite(reference, 2, (WALK, JUMP)))
    # Cells after the prefix: 2, hole, hole, 4 and hole, hole, 5, hole.
    assert verdicts(result) == [FAIL, INVALID, INVALID, FAIL, INVALID, INVALID, FAIL, INVALID]
    assert [case.invalid for case in result.cases] == [verdict is INVALID for verdict in verdicts(result)]
    assert result.invalid_cases == 5
    assert all(case.fail_frequency.value is None for case in result.cases if case.invalid)
    assert [state.fail_frequency.n for state in result.boundary_states] == [2, 1]
    assert result.fail_frequency.value == 1.0


def test_length_limits_the_agent() -> None:
    result = run_suite(CORRIDOR, jumper, simple_suite(reference), length=1)
    # Within one step the jumper is on 4 or on 7; it would fall later.
    assert verdicts(result) == [PASS, PASS]
    assert [case.episodes[0].outcome for case in result.cases] == [Outcome.ONGOING] * 2
    assert [case.mean_return.value for case in result.cases] == [-1.0, -1.0]


def test_one_execution_stands_for_all_only_where_nothing_is_random() -> None:
    result = run_suite(CORRIDOR, walker, simple_suite(reference), repetitions=10)
    assert result.deterministic
    assert [len(case.episodes) for case in result.cases] == [1, 1]
    assert (result.cases[0].fail_frequency.low, result.cases[0].fail_frequency.n) == (1.0, 1)
    assert "one execution" in result.cases[0].fail_frequency.method

    drunk = RandomAgent((WALK, JUMP), "drunk")
    result = run_suite(CORRIDOR, drunk, simple_suite(reference), repetitions=10)
    assert not result.deterministic
    assert [len(case.episodes) for case in result.cases] == [10, 10]
    assert result.cases[0].fail_frequency.n == 10


def test_a_drunk_fails_as_often_as_coins_say() -> None:
    # From cell 5: walk (1/2) falls, jump reaches 7, where no hole follows.
    drunk = RandomAgent((WALK, JUMP), "drunk")
    result = run_suite(CORRIDOR, drunk, simple_suite(reference), repetitions=400, survivable=False)
    late = result.cases[1].fail_frequency
    assert late.n == 400
    assert late.value == pytest.approx(0.5, abs=0.075)  # three standard errors
    # From cell 2: walk falls; jump to 4, where jump falls and walk leads to 5: 1/2 + 1/2 (1/2 + 1/2 1/2).
    assert result.cases[0].fail_frequency.value == pytest.approx(0.875, abs=0.05)


def test_slipping_with_a_fixed_prefix() -> None:
    slippery = reference_of(SLIPPERY, reseeds=GOOD_LUCK)
    result = run_suite(
        SLIPPERY, expert, simple_suite(slippery), repetitions=600, fixed_prefix=True, survivable=False
    )  # fmt: skip
    assert all(case.ended_early == 0 for case in result.cases)
    assert [case.fail_frequency.n for case in result.cases] == [600, 600]
    # A jump slips into the hole with probability 1/4: 1/4 from cell 5, 1/4 + 3/4 1/4 from cell 2.
    assert result.cases[1].fail_frequency.value == pytest.approx(0.25, abs=0.054)
    assert result.cases[0].fail_frequency.value == pytest.approx(0.4375, abs=0.061)
    assert result.fail_frequency.value == pytest.approx(
        (result.cases[0].fail_frequency.value + result.cases[1].fail_frequency.value) / 2
    )


def test_slipping_on_the_way_is_counted_apart() -> None:
    slippery = reference_of(SLIPPERY, reseeds=GOOD_LUCK)
    suite = simple_suite(slippery)
    result = run_suite(SLIPPERY, expert, suite, repetitions=600, fixed_prefix=False, survivable=False)
    first, second = result.cases
    # The prefix of the second case jumps over hole 3 and slips into it in a quarter of the executions.
    assert first.ended_early == 0
    assert second.ended_early == pytest.approx(150, abs=32)
    assert second.fail_frequency.n == 600 - second.ended_early
    assert second.fail_frequency.value == pytest.approx(0.25, abs=0.062)
    assert not second.invalid
    assert result.ended_early == second.ended_early
    for episode, verdict in zip(second.episodes, second.verdicts, strict=True):
        slipped = episode.prefix_outcome is Outcome.UNSAFE
        fell = episode.outcome is Outcome.UNSAFE and not slipped
        assert verdict is (INVALID if slipped else FAIL if fell else PASS)


def test_failures_replay_without_the_agent() -> None:
    slippery = reference_of(SLIPPERY, reseeds=GOOD_LUCK)
    result = run_suite(SLIPPERY, expert, simple_suite(slippery), repetitions=30, survivable=False)
    falls = [episode for case in result.cases for episode in case.failing_episodes]
    assert falls
    with Engine(SLIPPERY) as engine:
        for fall, again in zip(falls, engine.run([exact_replay(fall.trace) for fall in falls]), strict=True):
            assert again.prefix_outcome is Outcome.UNSAFE
            assert again.prefix_steps == len(fall.trace)
            assert again.prefix_reward == pytest.approx(fall.prefix_reward + fall.total_reward)


def test_a_recurrent_agent_has_watched_the_prefix() -> None:
    # It plays the reference from its own count: right at every hand-over only if it counted the prefix too.
    copycat = CountingAgent(REFERENCE, "copycat")
    result = run_suite(CORRIDOR, copycat, interval_suite(reference, 1))
    assert verdicts(result) == [PASS] * 6


def test_two_agents_and_two_suites_share_seeds_and_work() -> None:
    drunk, other = RandomAgent((WALK, JUMP), "drunk"), RandomAgent((JUMP, WALK), "other")
    a = run_suite(CORRIDOR, drunk, simple_suite(reference), repetitions=3)
    b = run_suite(CORRIDOR, other, interval_suite(reference, 1), repetitions=3)
    seeds = {case.case.id: [episode.rollout.seed for episode in case.episodes] for case in b.cases}
    assert all(seeds[case.case.id] == [e.rollout.seed for e in case.episodes] for case in a.cases)
    again = run_suite(CORRIDOR, drunk, simple_suite(reference), repetitions=3)
    assert again == a
    elsewhere = run_suite(CORRIDOR, drunk, simple_suite(reference), repetitions=3, seed=1)
    assert elsewhere.cases[0].episodes[0].rollout.seed != a.cases[0].episodes[0].rollout.seed


def test_processes_give_the_same_result() -> None:
    suite = action_coverage_suite(reference, 2, (WALK, JUMP))
    drunk = RandomAgent((WALK, JUMP), "drunk")
    alone = run_suite(CORRIDOR, drunk, suite, repetitions=4)
    assert run_suite(CORRIDOR, drunk, suite, repetitions=4, backend="processes", workers=2) == alone


def test_golden_run() -> None:
    """Pinned: the same seed gives the same falls on every machine."""
    result = run_suite(CORRIDOR, RandomAgent((WALK, JUMP), "drunk"), interval_suite(reference, 1), seed=7)
    assert [case.fails for case in result.cases] == [8, 7, 9, 9, 5, 0]
    assert result.fail_frequency.value == pytest.approx((2.4 / 3 + 1.4 / 3) / 2)


def test_empty_suites_give_no_data() -> None:
    bare = reference_of(CORRIDOR, depths=())
    result = run_suite(CORRIDOR, walker, simple_suite(bare))
    assert not result.judged
    for estimate in (result.fail_frequency, result.mean_return, result.fails_per_1000_steps):
        assert str(estimate) == "no data"
    deep = run_suite(CORRIDOR, walker, action_coverage_suite(reference, 3, (WALK, JUMP)))
    assert str(deep.boundary_states[0].fail_frequency) == "no data"
    assert deep.fail_frequency.n == 1


def test_a_reference_of_one_action() -> None:
    tiny = corridor_task(length=1, holes=(), name="tiny-corridor")
    result = run_suite(tiny, walker, interval_suite(reference_of(tiny, (WALK,), (0,)), 1))
    assert verdicts(result) == [PASS, INVALID]  # the second prefix is at the goal already
    assert result.fail_frequency.value == 0.0


class RaisingAgent(ConstantAgent):
    def act(self, observations, memories, generators, masks) -> Answer:
        raise RuntimeError("no idea")


@pytest.mark.parametrize(
    "agent", [RaisingAgent(0, "raiser"), ConstantAgent(7, "stranger"), ConstantAgent(-1, "negative")]
)
def test_agents_that_cannot_act_are_errors_and_no_data(agent: ConstantAgent) -> None:
    result = run_suite(CORRIDOR, agent, simple_suite(reference))
    assert verdicts(result) == [ERROR, ERROR]
    assert result.errors == 2
    assert not result.judged
    assert result.cases[0].episodes[0].error


def test_the_control_has_the_same_size_and_its_own_price() -> None:
    suite = simple_suite(reference)
    control = run_suite(CORRIDOR, walker, random_suite(CORRIDOR, 20, like=suite))
    assert len(control.cases) == len(control.boundary_states) == 20
    assert control.counts[FAIL] + control.counts[INVALID] + control.counts[PASS] == len(control.distinct_cases)
    assert control.fails_per_1000_steps.value is not None
    assert control.boundary_states[0].depth is None


def test_a_changed_environment_is_said_and_not_silently_tested() -> None:
    shifted = corridor_task(holes=(3, 5))
    with pytest.raises(NotReproducible, match="after 5 of the 8 reference actions"):
        run_suite(shifted, walker, simple_suite(reference))
    result = run_suite(shifted, walker, simple_suite(reference), allow_changed=True)
    assert verdicts(result) == [FAIL, INVALID]


def test_another_task_is_refused_unless_it_is_said_to_be_the_same() -> None:
    with pytest.raises(UsageError, match="made for the task 'corridor' and cannot test 'slippery-corridor'"):
        run_suite(SLIPPERY, walker, simple_suite(reference))
    renamed = corridor_task(name="renamed-corridor")
    assert verdicts(run_suite(renamed, walker, simple_suite(reference), allow_changed=True)) == [FAIL, FAIL]


def test_what_does_not_depend_on_the_agent_is_found_out_once() -> None:
    suite = action_coverage_suite(reference, 2, (WALK, JUMP))
    with Engine(CORRIDOR) as engine:
        first = run_suite(CORRIDOR, walker, suite, engine=engine)
        asked: list[Progress] = []
        second = run_suite(CORRIDOR, expert, suite, engine=engine, on_progress=asked.append)
    assert "survival" not in {step.stage for step in asked}
    assert [case.survival for case in first.cases] == [case.survival for case in second.cases]
    assert first == run_suite(CORRIDOR, walker, suite)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="repetitions must be 1 or more, not 0"):
        run_suite(CORRIDOR, walker, simple_suite(reference), repetitions=0)
    with pytest.raises(UsageError, match="length must be 1 or more, not 0"):
        run_suite(CORRIDOR, walker, simple_suite(reference), length=0)


def test_progress_is_told() -> None:
    seen: list[Progress] = []
    run_suite(CORRIDOR, walker, interval_suite(reference, 1), on_progress=seen.append)
    assert [(step.finished, step.total) for step in seen if step.stage == "safety"] == [(i, 5) for i in range(1, 6)]
    assert "4 fails" in [step.note for step in seen if step.stage == "safety"][-1]


@pytest.mark.parametrize("task", [CORRIDOR, SLIPPERY])
def test_the_search_for_escapes_is_seen_to_go_on(task: Task) -> None:
    """It stood at its beginning until sixteen places, or all that chance decides, were done."""
    seen: list[Progress] = []
    run_suite(task, walker, random_suite(task, 6, seed=1), repetitions=2, on_progress=seen.append)
    told = [(step.finished, step.note) for step in seen if step.stage == "survival"]
    assert told[0] != told[-1]
    if task is CORRIDOR:
        assert len({finished for finished, _ in told}) > 2, told
    else:
        assert {note.partition(":")[0] for _, note in told} > {"trying who survives", "learning from what was seen"}


def test_witnesses_of_cases_on_the_reference() -> None:
    result = run_suite(CORRIDOR, walker, interval_suite(reference, 1), length=4)
    for case in result.cases:
        assert case.survivable is Survivability.YES
        assert case.witness == REFERENCE[len(case.case.prefix) :][:4]
    assert result.survivable_fail_frequency == result.fail_frequency


def _lucky_seeds() -> tuple[tuple[int, int], ...]:
    """Random events under which the reference's two jumps do not slip."""
    from tightrope.simulation import open_simulator

    simulator = open_simulator(SLIPPERY)
    for seed in range(1000):
        simulator.reset(SLIPPERY.seed, reseed=seed)
        for action in REFERENCE:
            if simulator.outcome is not Outcome.ONGOING:
                break
            simulator.step(action)
        if simulator.outcome is Outcome.GOAL and simulator.depth == len(REFERENCE):
            return ((0, seed),)
    raise AssertionError("no luck")


GOOD_LUCK = _lucky_seeds()


def test_prefixes_are_action_traces() -> None:
    assert simple_suite(reference).cases[0].prefix == ActionTrace("corridor", 0, REFERENCE[:2])
