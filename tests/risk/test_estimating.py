from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tests.risk.worlds import gambler, gambler_truth, height, ladder, ladder_truth, trapped_ladder
from tightrope.budget import Meter
from tightrope.errors import TaskError, UsageError
from tightrope.risk import estimate_failure
from tightrope.risk.guides import GivenGuide, NoGuide
from tightrope.risk.learning import EPISODES_PER_SHARE, fitted_guide, noisy_lessons
from tightrope.risk.repeating import Order, repetition
from tightrope.risk.splitting import _divided, split
from tightrope.risk.swarm import EpisodePath, Mark, Swarm
from tightrope.risk.work import FEWEST_IN_PILOT, PILOT_EPISODES, Work
from tightrope.simulation import open_simulator
from tightrope.statistics import Estimate
from tightrope.tasks.task import Transition
from tightrope.testing import corridor_task

RARE = (11, 0.2, 40)  # about two in a million


def still(task):
    return tr.load_agent(lambda observation: 0, task, name="still")


def test_one_in_a_million_with_a_danger_function() -> None:
    task, truth = gambler(12, 0.24), gambler_truth(12, 0.24)
    assert 5e-7 < truth < 5e-6
    options = {"danger": height, "budget": tr.Budget(steps=60_000)}
    found = [estimate_failure(task, still(task), seed=seed, **options) for seed in range(3)]
    assert all(each.probability.low < truth < each.probability.high for each in found)
    assert np.median([each.probability.high / each.probability.low for each in found]) <= 2.5
    assert {each.method for each in found} == {"splitting"}
    assert max(each.cost for each in found) <= 60_600
    assert np.median([each.saving for each in found]) > 50  # plain episodes are two steps long here


def test_one_in_a_million_within_a_time_limit() -> None:
    task, truth = ladder(*RARE), ladder_truth(*RARE)
    options = {"danger": height, "budget": tr.Budget(steps=60_000)}
    found = [estimate_failure(task, still(task), seed=seed, **options) for seed in range(5)]
    assert sum(each.probability.low < truth < each.probability.high for each in found) >= 4
    assert np.median([each.probability.high / each.probability.low for each in found]) <= 4
    assert max(each.cost for each in found) <= 60_600
    assert np.median([each.saving for each in found]) > 1_000


def test_one_in_a_million_with_a_learned_guide() -> None:
    task, truth = ladder(*RARE), ladder_truth(*RARE)
    found = estimate_failure(task, still(task), budget=tr.Budget(steps=60_000))
    # Actions change nothing here, so noise teaches nothing: no failure is met and the answer says so.
    assert found.probability.low <= truth <= found.probability.high
    assert found.method == "plain Monte Carlo"
    assert found.notes


@pytest.mark.parametrize("world", [(5, 0.2, 20), (6, 0.25, 30)])
def test_the_interval_holds_the_truth(world) -> None:
    task, truth, agent = ladder(*world), ladder_truth(*world), None
    agent = still(task)
    held = split = 0
    for seed in range(15):
        found = estimate_failure(task, agent, danger=height, budget=tr.Budget(steps=16_000), seed=seed)
        held += found.probability.low <= truth <= found.probability.high
        split += found.method == "splitting"
    assert split > 10
    assert held >= 12  # 14.3 expected of an exact 95 % interval; 11 or fewer in 1 % of such series


def test_what_the_guide_leads_away_from_is_within_what_the_plain_episodes_say() -> None:
    """Most failures begin on the lowest rung, which a guide by height takes for the safest."""
    task, truth = trapped_ladder(8, 0.2, 40, trap=2.5e-5)
    assert truth > 4 * ladder_truth(8, 0.2, 40)
    found = estimate_failure(task, still(task), danger=height, budget=tr.Budget(steps=60_000), seed=1)
    assert found.method == "splitting"
    assert found.plain is not None
    assert found.plain.low <= truth <= found.plain.high
    assert found.notes or f"only the {found.plain.n:,} plain episodes count" in (found.reservation() or "")


def test_each_repetition_is_unbiased_whatever_the_guide() -> None:
    world = (4, 0.3, 20)
    task, truth = ladder(*world), ladder_truth(*world)
    for guide in (GivenGuide(task, height), GivenGuide(task, lambda t: -t.observation), NoGuide()):
        swarm = Swarm(task, still(task), guide, length=None)
        estimates = np.array([split(swarm, 40, seed).estimate for seed in range(80)])
        swarm.close()
        error = estimates.std(ddof=1) / np.sqrt(len(estimates))
        assert abs(estimates.mean() - truth) < 4 * error, guide


def test_the_one_that_counts_for_most_is_divided_however_it_went_on() -> None:
    heavy, light = (
        EpisodePath(root=0, marks=[Mark((1.0, -3), None, None, weight)], weight=9.0) for weight in (4.0, 1.0)
    )
    failed_at_once = EpisodePath(root=1, weight=50.0, failed=True)
    high = [light, heavy, failed_at_once]
    parts = _divided(high, 3, (0.0, 0), np.random.default_rng(0))
    assert [path.share for path in high] == [1, 1 / 4, 1], "nothing is gained from parts of what has failed already"
    assert [(part.share, part.weight, part.failed) for part in parts] == [(1 / 4, 4.0, False)] * 3
    assert _divided([failed_at_once], 3, (0.0, 0), np.random.default_rng(0)) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("steps", [5_000, 20_000])
def test_the_budget_is_kept_and_mostly_used(seed, steps) -> None:
    for task, danger in ((ladder(6, 0.25, 30), height), (ladder(*RARE), height), (ladder(2, 0.5, 20), None)):
        found = estimate_failure(task, still(task), danger, budget=tr.Budget(steps=steps), seed=seed)
        assert 0.75 * steps < found.cost <= steps, (task.label, found.method)


def test_the_mean_of_whole_estimates_is_the_truth() -> None:
    """Sizes follow from what earlier repetitions cost, and the last one may be left out: neither may move the mean."""
    world = (5, 0.25, 16)
    task, truth = ladder(*world), ladder_truth(*world)
    found = [
        estimate_failure(task, still(task), danger=height, budget=tr.Budget(steps=10_000), seed=seed)
        for seed in range(30)
    ]
    values = np.array([each.probability.value for each in found if each.method == "splitting"])
    assert len(values) > 20
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert error < 0.08 * truth
    assert abs(values.mean() - truth) < 4 * error


def test_a_budget_that_is_too_small_is_kept_and_what_it_takes_is_said() -> None:
    task, truth = ladder(*RARE), ladder_truth(*RARE)
    found = estimate_failure(task, still(task), danger=height, budget=tr.Budget(steps=6_000))
    assert found.cost <= 6_060
    assert found.method == "plain Monte Carlo"
    assert found.probability.high > truth
    assert "too small for splitting" in found.notes[0]
    needed = int(found.notes[0].partition("more than ")[2].partition(" steps")[0].replace(",", ""))
    assert 6_000 < needed <= 60_000, "so many are enough, see above"


def test_a_repetition_that_runs_away_is_stopped() -> None:
    task = ladder(*RARE)
    order = Order(still(task), GivenGuide(task, height), None, 40, 1, 2_000)
    stopped, whole = repetition(task, order), repetition(task, replace(order, most_steps=10**6))
    assert stopped.found is None
    assert whole.found is not None
    assert 1_960 < stopped.steps <= 2_000 < 3_000 < whole.steps


def test_long_episodes_leave_something_for_the_estimate() -> None:
    task = ladder(4, 0.3, 200)
    pilot = Work(task, still(task), None, 0, tr.Budget(steps=8_000), None).pilot()
    assert len(pilot.paths) < PILOT_EPISODES
    assert len(pilot.paths) >= FEWEST_IN_PILOT


def test_noise_begins_in_the_middle_and_ends_where_enough_have_failed() -> None:
    # A policy that never fails on its own; the share of random actions decides.
    task = tr.make_task("CartPole-v1")
    steady = tr.load_agent(lambda observation: int(observation @ [0.1, 0.5, 3.0, 1.0] > 0), task, name="steady")
    paths, steps = noisy_lessons(task, steady, length=60, seed=0, most_steps=12_000)
    failed = [path for path in paths if path.failed]
    assert len(failed) >= 10
    assert steps < 5 * EPISODES_PER_SHARE * 60
    guide = fitted_guide(task, paths)
    calm, tilted = (
        Transition(np.array([0, 0, *lean], dtype=np.float32), 1.0, False, False, {}) for lean in ((0, 0), (0.18, 1))
    )
    low, high = guide.levels([calm, tilted])
    assert high > low + 1


def test_failures_can_be_replayed() -> None:
    task = ladder(*RARE)
    found = estimate_failure(task, still(task), danger=height, budget=tr.Budget(steps=30_000))
    assert found.failures
    simulator = open_simulator(task)
    for trace in found.failures[:5]:
        reseeds = dict(trace.reseeds)
        simulator.reset(trace.seed)
        for place, action in enumerate(trace.actions):
            if place in reseeds:
                simulator.reseed(reseeds[place])
            simulator.step(action)
        assert simulator.outcome is tr.Outcome.UNSAFE


def test_the_same_seed_gives_the_same_answer_on_every_back_end() -> None:
    task = ladder(6, 0.25, 30)
    options = {"danger": height, "budget": tr.Budget(steps=6_000)}
    inline = estimate_failure(task, still(task), seed=3, **options)
    assert inline == estimate_failure(task, still(task), seed=3, **options)
    assert inline == estimate_failure(task, still(task), seed=3, backend="processes", workers=2, **options)
    assert inline.probability != estimate_failure(task, still(task), seed=4, **options).probability


def test_frequent_failures_are_counted_plainly() -> None:
    task = ladder(2, 0.5, 20)
    found = estimate_failure(task, still(task), budget=tr.Budget(steps=3_000))
    assert found.method == "plain Monte Carlo"
    assert found.probability.low < ladder_truth(2, 0.5, 20) < found.probability.high


def test_a_system_without_randomness_is_told_that_its_risk_lies_in_its_starts() -> None:
    task = corridor_task()
    found = estimate_failure(task, still(task), budget=tr.Budget(steps=500))
    assert "starts alone" in found.notes[0]
    assert found.probability.value == 1


def test_a_guide_that_does_not_lead_to_harm_widens_the_interval_and_says_so() -> None:
    task, truth = ladder(*RARE), ladder_truth(*RARE)
    found = estimate_failure(task, still(task), danger=lambda t: -t.observation, budget=tr.Budget(steps=20_000))
    assert found.notes
    assert found.probability.high >= truth
    assert found.probability.high > 1e-4


def test_a_danger_function_that_is_wrong_is_named() -> None:
    task = ladder(*RARE)
    with pytest.raises(TaskError, match=r"danger\(transition\) raised ZeroDivisionError"):
        estimate_failure(task, still(task), danger=lambda t: 1 / 0)
    with pytest.raises(TaskError, match="NaN"):
        estimate_failure(task, still(task), danger=lambda t: float("nan"))
    with pytest.raises(UsageError, match="length"):
        estimate_failure(task, still(task), length=0)


@pytest.mark.parametrize(
    ("method", "values", "said"),
    [
        (
            "splitting",
            (1e-6, 5e-7, 3e-6),
            "in 1e-06 (5e-07 to 3e-06) of its episodes, by splitting; plain episodes would",
        ),
        ("plain Monte Carlo", (0.0, 0.0, 0.063), "in 0% (0–6.3%) of its episodes, by plain Monte Carlo."),
        ("plain Monte Carlo", (0.21, 0.14, 0.29), "in 21% (14–29%) of its episodes, by plain Monte Carlo."),
    ],
)
def test_what_is_seen_in_percent_is_told_so_and_the_rest_as_it_is(method, values, said) -> None:
    found = tr.FailureEstimate(
        task="t",
        agent="a",
        probability=Estimate(*values, 90, "95 %"),
        method=method,
        guide="g",
        cost=100_000,
        episode_steps=200.0,
    )
    assert said in str(found)
    assert (found.plain_episodes_needed == 90) == (method != "splitting")


def test_a_budget_that_is_none_is_refused() -> None:
    task = ladder(*RARE)
    with pytest.raises(UsageError, match=r"as in tr\.Budget\(steps=200_000\) or tr\.Budget\(seconds=60\), not 5000"):
        estimate_failure(task, still(task), budget=5_000)


@pytest.mark.parametrize("steps", [None, 40_000])
def test_seconds_become_steps_by_the_speed_of_the_first_episodes(monkeypatch, steps) -> None:
    task = ladder(*RARE)
    monkeypatch.setattr(Meter, "seconds", 2.0)  # however long the pilot took
    pilot = estimate_failure(task, still(task), danger=height, budget=tr.Budget(steps=100)).cost
    found = estimate_failure(task, still(task), danger=height, budget=tr.Budget(seconds=100, steps=steps))
    assert found.method == "splitting"
    assert 0.3 < found.cost / min(PILOT_EPISODES / FEWEST_IN_PILOT * pilot * 50, steps or np.inf) < 1.5


def test_few_seconds_pay_for_few_episodes_of_the_pilot(monkeypatch) -> None:
    task = ladder(*RARE)
    monkeypatch.setattr(Meter, "seconds", 30.0)  # however long the first eight episodes took
    found = estimate_failure(task, still(task), danger=height, budget=tr.Budget(seconds=10))
    assert found.probability.n == FEWEST_IN_PILOT


def test_a_budget_of_nothing_is_refused() -> None:
    task = ladder(*RARE)
    with pytest.raises(UsageError, match="steps must be 1 or more, not 0"):
        estimate_failure(task, still(task), budget=tr.Budget(steps=0))


def test_a_budget_for_a_few_episodes_is_said_to_be_one() -> None:
    task = ladder(*RARE)
    found = estimate_failure(task, still(task), danger=height, budget=tr.Budget(steps=100))
    assert (found.method, found.probability.n) == ("plain Monte Carlo", FEWEST_IN_PILOT)
    assert "100 steps pays for little more than 8 episodes" in found.notes[0]


@pytest.mark.parametrize(("length", "asked"), [(None, "ends unsafe in"), (8, "ends unsafe within 8 steps in")])
@pytest.mark.parametrize(
    ("cost", "saved"), [(170_000, "."), (130_000, "taken 1.3 times the steps."), (1_000, "taken 170 times the steps.")]
)
def test_the_sentence_tells_what_was_asked_and_a_saving_that_is_one(length, asked, cost, saved) -> None:
    found = tr.FailureEstimate(
        task="t",
        agent="a",
        probability=Estimate(0.01, 0.005, 0.015, 8, "95 %"),
        method="splitting",
        guide="g",
        cost=cost,
        length=length,
        episode_steps=110.0,
    )
    assert asked in str(found)
    assert str(found).endswith(saved)
    assert ("times the steps" in str(found)) == (cost != 170_000)
