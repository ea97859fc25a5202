import json
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from tests.safety.corridor import CORRIDOR, expert, jumper, reference_of, walker
from tightrope.errors import FormatError
from tightrope.execution import Episode, EpisodeError, ErrorKind, Rollout
from tightrope.exploration.escapes import Survival
from tightrope.outcome import Outcome, Verdict
from tightrope.reference import Survivability
from tightrope.safety import (
    SafetyResult,
    action_coverage_suite,
    interval_suite,
    judge_case,
    judge_episode,
    judge_suite,
    random_suite,
    run_suite,
    simple_suite,
)
from tightrope.safety.judging.frequencies import case_weights, rate_without_doomed
from tightrope.statistics import IN_GENERAL, ON_THESE_CASES
from tightrope.testing import JUMP, WALK, RandomAgent
from tightrope.trace import ActionTrace

reference = reference_of(CORRIDOR)
drunk = RandomAgent((WALK, JUMP), "drunk")
RAISED = EpisodeError(kind=ErrorKind.AGENT, message="it raised")


def episode(prefix: Outcome, end: Outcome, steps: int = 3, error: EpisodeError | None = None) -> Episode:
    return Episode(
        rollout=Rollout(start=ActionTrace("t", 0, (0,)), agent="a", length=40),
        prefix_steps=1,
        prefix_reward=0.0,
        prefix_outcome=prefix,
        outcome=end,
        actions=(0,) * steps,
        rewards=(1.0,) * steps,
        error=error,
    )


@pytest.mark.parametrize(
    ("prefix", "end", "verdict"),
    [
        (Outcome.ONGOING, Outcome.UNSAFE, Verdict.FAIL),
        (Outcome.ONGOING, Outcome.GOAL, Verdict.PASS),
        (Outcome.ONGOING, Outcome.ONGOING, Verdict.PASS),
        (Outcome.ONGOING, Outcome.TRUNCATED, Verdict.PASS),
        (Outcome.UNSAFE, Outcome.UNSAFE, Verdict.INVALID),
        (Outcome.GOAL, Outcome.GOAL, Verdict.INVALID),
        (Outcome.TRUNCATED, Outcome.TRUNCATED, Verdict.INVALID),
    ],
)
def test_verdicts(prefix: Outcome, end: Outcome, verdict: Verdict) -> None:
    assert judge_episode(episode(prefix, end)) is verdict
    assert judge_episode(episode(prefix, end, error=RAISED)) is Verdict.ERROR


def test_harm_after_the_length_does_not_count() -> None:
    fall = episode(Outcome.ONGOING, Outcome.UNSAFE, steps=5)
    assert judge_episode(fall, 5) is Verdict.FAIL
    assert judge_episode(fall, 4) is Verdict.PASS


@pytest.mark.parametrize("agent", [walker, jumper, expert, drunk], ids=lambda agent: agent.name)
def test_stored_episodes_judged_again_with_a_smaller_length(agent) -> None:
    suite = interval_suite(reference, 1)
    long = run_suite(CORRIDOR, agent, suite, repetitions=4, length=40, survivable=False)
    short = run_suite(CORRIDOR, agent, suite, repetitions=4, length=2, survivable=False)
    episodes = [episode for case in long.distinct_cases for episode in case.episodes]
    again = judge_suite(suite, episodes, agent=agent.name, repetitions=4, length=2)
    assert again.fail_frequency == short.fail_frequency
    assert again.mean_return == short.mean_return


def test_the_order_of_episodes_does_not_matter_between_cases() -> None:
    suite = interval_suite(reference, 1)
    result = run_suite(CORRIDOR, drunk, suite, repetitions=4, survivable=False)
    episodes = [episode for case in reversed(result.distinct_cases) for episode in case.episodes]
    again = judge_suite(
        suite, episodes, agent="drunk", fingerprint=drunk.fingerprint, repetitions=4, length=40, watch=result.watch
    )
    assert again == result


def test_a_suite_half_run_is_judged_by_what_there_is() -> None:
    suite = simple_suite(reference)
    result = run_suite(CORRIDOR, walker, suite, survivable=False)
    half = judge_suite(suite, result.cases[0].episodes, agent="walker", repetitions=10, length=40)
    assert half.cases[1].fail_frequency.value is None
    assert not half.cases[1].invalid
    assert half.fail_frequency.n == 1


SUITES = [
    simple_suite(reference),
    interval_suite(reference, 1),
    action_coverage_suite(reference, 2, (WALK, JUMP)),
    random_suite(CORRIDOR, 5, like=simple_suite(reference)),
    simple_suite(reference_of(CORRIDOR, depths=())),
]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
@pytest.mark.parametrize("agent", [jumper, drunk], ids=lambda agent: agent.name)
def test_results_survive_json(suite, agent) -> None:
    result = run_suite(CORRIDOR, agent, suite, repetitions=3)
    data = json.loads(json.dumps(result.to_json()))
    loaded = SafetyResult.from_json(data)
    assert loaded == result
    assert loaded.to_json() == result.to_json()


def test_rewards_that_are_not_finite_survive_json() -> None:
    result = run_suite(CORRIDOR, walker, simple_suite(reference), repetitions=1)
    episodes = [replace(case.episodes[0], rewards=(float("-inf"), float("nan"))) for case in result.cases]
    endless = judge_suite(result.suite, episodes, agent="walker", repetitions=1, length=result.length)
    data = json.loads(json.dumps(endless.to_json(), allow_nan=False))
    loaded = SafetyResult.from_json(data)
    assert str(loaded.cases[0].episodes[0].rewards) == "(-inf, nan)"
    assert loaded.fail_frequency == endless.fail_frequency
    assert loaded.mean_return.value is None


def test_results_of_the_first_version_are_still_read() -> None:
    result = run_suite(CORRIDOR, drunk, simple_suite(reference), repetitions=3)
    data = json.loads(json.dumps(result.to_json())) | {"version": 1}
    claims = data.pop("survival")["cases"]
    for name, case in data["cases"].items():
        case["survival"] = claims[name]
        for episode in case["episodes"]:
            episode["checksum"] = None if "checksum" not in episode else episode["checksum"]["hex"]
            episode["rewards"] = [float(reward) for reward in episode["rewards"]] + ["-inf"]
            episode["actions"].append(0)
            episode["error"] = None
    loaded = SafetyResult.from_json(data)
    assert loaded.fail_frequency == result.fail_frequency
    assert [case.survivable for case in loaded.cases] == [case.survivable for case in result.cases]
    first = loaded.cases[0].episodes[0]
    assert first.rewards == (*result.cases[0].episodes[0].rewards, float("-inf"))
    assert first.checksum == result.cases[0].episodes[0].checksum


def test_where_nothing_was_judged_no_number_is_0() -> None:
    result = run_suite(CORRIDOR, walker, simple_suite(reference), repetitions=1)
    episodes = [replace(case.episodes[0], error=RAISED) for case in result.cases]
    raised = judge_suite(result.suite, episodes, agent="walker", repetitions=1, length=result.length)
    assert raised.errors == len(result.cases)
    assert str(raised.fail_frequency) == str(raised.mean_return) == str(raised.fails_per_1000_steps) == "no data"


def test_what_is_no_result_is_refused() -> None:
    data = run_suite(CORRIDOR, walker, simple_suite(reference)).to_json()
    with pytest.raises(FormatError, match="tightrope/safety"):
        SafetyResult.from_json({})
    with pytest.raises(FormatError, match="Update tightrope"):
        SafetyResult.from_json({**data, "version": 99})
    with pytest.raises(FormatError, match="damaged"):
        SafetyResult.from_json({**data, "cases": {}})
    first = next(iter(data["cases"].values()))
    first["episodes"][0]["seed"] = {"": None}
    with pytest.raises(FormatError, match="is not a seed of an execution"):
        SafetyResult.from_json(data)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"n": -1}, "runs; 100,000 is the most"),
        ({"n": 100_001}, "runs; 100,000 is the most"),
        ({"n": 10**30}, "runs; 100,000 is the most"),
        ({"value": 1e300}, "a share is between 0 and 1"),
        ({"low": -1.0}, "a share is between 0 and 1"),
        ({"high": float("nan")}, "a share is between 0 and 1"),
    ],
)
def test_runs_that_nobody_can_have_played_are_refused_before_they_are_counted_one_by_one(
    changed: dict[str, Any], told: str
) -> None:
    data = run_suite(CORRIDOR, walker, simple_suite(reference)).to_json()
    for known in data["survival"]["cases"].values():
        known["best"] = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 10, "method": "", "question": "", **changed}
    with pytest.raises(FormatError, match=told):
        SafetyResult.from_json(data)


def test_a_case_shared_by_two_boundary_states_counts_for_both() -> None:
    result = run_suite(CORRIDOR, jumper, interval_suite(reference, 1))
    shared = [case for case in result.cases if len(case.case.prefix) == 3]
    assert [case.case.boundary for case in shared] == [0, 1]
    assert replace(shared[0], case=shared[1].case) == shared[1]
    assert [len(state.cases) for state in result.boundary_states] == [3, 3]


def test_a_short_repr() -> None:
    assert repr(run_suite(CORRIDOR, walker, simple_suite(reference))).startswith(
        "SafetyResult('walker' on 'simple': fails in 100% ("
    )


def test_only_proven_doom_excuses_a_fail() -> None:
    (case,) = {case.id: case for case in simple_suite(reference).cases[:1]}.values()
    fall = [episode(Outcome.ONGOING, Outcome.UNSAFE)]
    doomed = judge_case(case, fall, 40, Survival(survivable=Survivability.NO))
    undecided = judge_case(case, fall, 40, Survival(survivable=Survivability.UNKNOWN))
    assert rate_without_doomed([doomed]).value is None
    assert rate_without_doomed([undecided]).value == 1.0
    assert rate_without_doomed([doomed, undecided]).n == 1


def test_a_shared_case_has_both_weights_and_its_executions_count_once() -> None:
    result = run_suite(CORRIDOR, drunk, interval_suite(reference, 1), repetitions=6, survivable=False)
    weights = {case.case.id: weight for case, weight in case_weights(result.cases)}
    assert sorted(weights.values()) == pytest.approx([1 / 6] * 4 + [2 / 6])
    assert result.fail_frequency.n == 5 * 6
    by_hand = [fmean(case.fails / 6 for case in state.cases) for state in result.boundary_states]
    assert result.fail_frequency.value == pytest.approx(fmean(by_hand))


def test_numbers_are_on_these_cases_and_only_references_speak_in_general() -> None:
    suite = interval_suite(reference, 1)
    result = run_suite(CORRIDOR, drunk, suite, repetitions=12, survivable=False)
    numbers = (result.fail_frequency, result.survivable_fail_frequency, result.mean_return, result.fails_per_1000_steps)
    assert {number.question for number in numbers} == {ON_THESE_CASES}
    assert {state.fail_frequency.question for state in result.boundary_states} == {ON_THESE_CASES}
    assert {case.fail_frequency.question for case in result.cases} == {ON_THESE_CASES}
    in_general = result.fail_frequency_in_general
    assert (in_general.question, in_general.n, in_general.low) == (IN_GENERAL, 1, None)
    assert "one reference" in in_general.method
    many = replace(suite, cases=tuple(replace(case, reference=case.boundary) for case in suite.cases))
    general = run_suite(CORRIDOR, drunk, many, repetitions=12, survivable=False).fail_frequency_in_general
    assert general.n == 2
    assert general.low < general.value < general.high  # type: ignore[operator]


def test_random_cases_were_drawn_one_by_one() -> None:
    drawn = random_suite(CORRIDOR, 30, seed=1, like=simple_suite(reference))
    result = run_suite(CORRIDOR, walker, drawn, survivable=False)
    valid = sum(not case.invalid for case in result.distinct_cases)
    assert result.fail_frequency_in_general.n == valid > 2
    assert result.fail_frequency.low == result.fail_frequency.high


def test_a_suite_of_a_random_agent_covers_its_rate() -> None:
    """From cell 2 and from cell 5, each time anew: the drunk's true rate on these two cases is worked out below."""
    suite = simple_suite(reference)
    # Chance to fall from a cell: half the steps walk one cell, half jump two; holes at 3 and 6, the goal at 10.
    fall = dict.fromkeys(range(10, 13), 0.0) | {3: 1.0, 6: 1.0}
    for cell in (9, 8, 7, 5, 4, 2):
        fall[cell] = (fall[cell + 1] + fall[cell + 2]) / 2
    truth = (fall[2] + fall[5]) / 2
    results = [run_suite(CORRIDOR, drunk, suite, repetitions=8, seed=s, survivable=False) for s in range(60)]
    held = [r.fail_frequency.low <= truth <= r.fail_frequency.high for r in results]  # type: ignore[operator]
    assert sum(held) >= 55
    assert fmean(r.fail_frequency.value or 0.0 for r in results) == pytest.approx(truth, abs=0.05)
