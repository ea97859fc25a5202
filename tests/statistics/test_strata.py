"""On exactly these cases: limits that hold for every mixture of cases tried, whatever their number and weight."""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.statistics.coverage import coverage
from tightrope.statistics import (
    ON_THESE_CASES,
    Estimate,
    Stratum,
    rate_estimate,
    stratified_difference,
    stratified_mean_estimate,
    stratified_rate_estimate,
)

GRID = np.array([0.0, 0.01, 0.03, 0.08, 0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85, 0.92, 0.97, 0.99, 1.0])
MIXED = np.where(np.arange(11) % 3 == 0, 1.0, 0.0)
UNEVEN = np.array([0.0, 0.0, 0.0, 0.0, 0.02, 0.1, 0.2, 0.5, 0.7, 0.9, 0.95])


def rate_of(hits, tries, weights=None) -> Estimate:  # type: ignore[no-untyped-def]
    weights = [1.0] * len(tries) if weights is None else weights
    return stratified_rate_estimate(
        [
            Stratum(values=[1.0] * int(h) + [0.0] * (int(n) - int(h)), weight=w)
            for h, n, w in zip(hits, tries, weights, strict=True)
        ]
    )


def covered(rates: np.ndarray, n: int, rounds: int = 400) -> float:
    tries = [n] * len(rates)
    return coverage(
        lambda rng: rng.binomial(n, rates), float(np.mean(rates)), lambda hits: rate_of(hits, tries), rounds=rounds
    )


@pytest.mark.parametrize(("rates", "widest"), [(np.full(11, 0.3), 0.20), (UNEVEN, 0.16), (MIXED, 0.11)])
def test_eleven_cases_of_ten_executions_cover_and_are_narrow(rates: np.ndarray, widest: float) -> None:
    assert covered(rates, 10, rounds=1000) >= 0.95
    rng = np.random.default_rng(1)
    found = [rate_of(rng.binomial(10, rates), [10] * 11) for _ in range(50)]
    assert 0.05 < np.mean([estimate.high - estimate.low for estimate in found]) <= widest  # type: ignore[operator]


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("cases", [1, 2, 3, 5])
@pytest.mark.parametrize("rate", [0.02, 0.3, 0.97])
def test_few_cases_and_few_executions_cover(n: int, cases: int, rate: float) -> None:
    assert covered(np.full(cases, rate), n, rounds=150) >= 0.93
    assert covered(np.linspace(0, 1, cases) ** 2 if cases > 1 else np.array([rate]), n, rounds=150) >= 0.93


@pytest.mark.parametrize("rate", [0.0, 0.002, 0.01, 0.99, 1.0])
def test_rates_near_none_and_all_cover(rate: float) -> None:
    assert covered(np.full(11, rate), 10) >= 0.95


@pytest.mark.parametrize("tries", [(3, 3), (5, 5), (10, 10), (1, 12), (2, 20)])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.8, 0.2), (0.2, 0.8)])
def test_two_cases_enumerated(tries: tuple[int, int], weights: tuple[float, float]) -> None:
    """Every outcome and every pair of rates: the chance that the interval misses is never above 5 %."""
    outcomes = list(itertools.product(*(range(n + 1) for n in tries)))
    found = [rate_of(hits, tries, weights) for hits in outcomes]
    low, high = np.array([e.low for e in found]), np.array([e.high for e in found])
    chances = [stats.binom.pmf(np.arange(n + 1)[:, None], n, GRID) for n in tries]
    first, second = np.array(outcomes).T
    for i, j in itertools.product(range(len(GRID)), repeat=2):
        truth = weights[0] * GRID[i] + weights[1] * GRID[j]
        missed = (low > truth + 1e-12) | (high < truth - 1e-12)
        assert (chances[0][first, i] * chances[1][second, j])[missed].sum() <= 0.05


def test_a_case_that_passed_every_time_is_not_taken_for_sure() -> None:
    """Without an allowance for rare fails this mixture was missed in 7 % and, unevenly weighted, in 10 %."""
    rng = np.random.default_rng(3)
    for rates, tries, weights in (
        ([1.0, 0.127], [20, 20], [1, 1]),
        (
            [1, 1, 0.825, 0.897, 1, 1, 1, 1, 1, 0.994, 1],
            [5, 5, 20, 1, 10, 10, 5, 10, 20, 10, 20],
            [2, 2, 1.5, 3, 3, 3, 3, 1, 1.5, 1.5, 3],
        ),
    ):
        truth = float(np.average(rates, weights=weights))
        hit = 0
        for hits in rng.binomial(tries, rates, size=(600, len(tries))).tolist():
            found = rate_of(hits, tries, weights)
            hit += found.low <= truth <= found.high  # type: ignore[operator]
        assert hit / 600 >= 0.95


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 20), st.sampled_from([0, 1]))
def test_cases_that_all_agree_have_the_limits_of_their_executions_together(cases: int, n: int, all_fail: int) -> None:
    ours, pooled = rate_of([all_fail * n] * cases, [n] * cases), rate_estimate(all_fail * n * cases, n * cases)
    assert (ours.value, ours.n) == (pytest.approx(pooled.value), n * cases)
    assert (ours.low, ours.high) == pytest.approx((pooled.low, pooled.high))


def test_cases_that_differ_are_known_better_than_their_executions_together() -> None:
    """Three cases that always fail and eight that never do: the rate of these cases is 3/11, and no coin was thrown."""
    ours, pooled = rate_of([10] * 3 + [0] * 8, [10] * 11), rate_estimate(30, 110)
    assert ours.value == pytest.approx(pooled.value)
    assert ours.high - ours.low < 0.6 * (pooled.high - pooled.low)  # type: ignore[operator]


def test_cases_weigh_as_told_whatever_their_executions_and_empty_ones_are_left_out() -> None:
    assert rate_of([10, 0], [10, 1]).value == 0.5
    assert rate_of([10, 0, 0], [10, 1, 0], [3, 1, 9]).value == 0.75
    assert rate_of([], []).value is None
    assert rate_of([0], [0]).n == 0


@pytest.mark.parametrize("weigh", [lambda cases: 1.0, lambda cases: 1 / cases, lambda cases: 1 / cases / 3])
def test_a_rate_reads_in_files_as_one_would_write_it(weigh: Callable[[int], float]) -> None:
    """30 of 40 cases are 0.75 in results.json, not 0.7499999999999998."""
    for cases in range(1, 130):
        for failing in range(0, cases + 1, 7):
            fails = [Stratum(values=[float(at < failing)], weight=weigh(cases), certain=True) for at in range(cases)]
            assert stratified_rate_estimate(fails).value == failing / cases


def test_where_nothing_is_random_there_is_no_width() -> None:
    sure = stratified_rate_estimate([Stratum(values=[1.0], certain=True), Stratum(values=[0.0], certain=True)])
    assert (sure.value, sure.low, sure.high, sure.n) == (0.5, 0.5, 0.5, 2)
    assert "nothing is random" in sure.method


def test_what_is_certain_only_shifts() -> None:
    open_case = Stratum(values=[1.0, 0.0, 0.0, 1.0, 0.0], weight=1.0)
    alone = stratified_rate_estimate([open_case])
    beside = stratified_rate_estimate([open_case, Stratum(values=[1.0], weight=3.0, certain=True)])
    assert beside.value == pytest.approx(0.75 + alone.value / 4)  # type: ignore[operator]
    assert beside.low == pytest.approx(0.75 + alone.low / 4)  # type: ignore[operator]
    assert beside.high == pytest.approx(0.75 + alone.high / 4)  # type: ignore[operator]


def test_every_number_says_what_it_answers() -> None:
    strata = [Stratum(values=[1.0, 0.0])]
    for found in (
        stratified_rate_estimate(strata), stratified_mean_estimate(strata), stratified_difference(strata)[0],
        stratified_rate_estimate([]), stratified_mean_estimate([]), stratified_difference([])[0],
    ):  # fmt: skip
        assert found.question == ON_THESE_CASES


# Differences.


def pairs(only_a: float, only_b: float, n: int, rng: np.random.Generator) -> list[float]:
    return rng.choice([-1.0, 1.0, 0.0], p=[only_a, only_b, 1 - only_a - only_b], size=n).tolist()


def rejected(only_a: np.ndarray, only_b: np.ndarray, n: int, rounds: int) -> float:
    """Share of simulated comparisons that show a difference; interval and p-value must say the same."""
    rng = np.random.default_rng(11)
    shown = 0
    for _ in range(rounds):
        found, p_value = stratified_difference(
            [Stratum(values=pairs(a, b, n, rng)) for a, b in zip(only_a.tolist(), only_b.tolist(), strict=True)]
        )
        assert (p_value < 0.05) == (found.low > 0 or found.high < 0)  # type: ignore[operator]
        shown += p_value < 0.05  # type: ignore[operator]
    return shown / rounds


HARD = np.array([0.0, 0.0, 0.0, 0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])


@pytest.mark.parametrize("n", [3, 20])
def test_agents_that_are_equal_everywhere_are_rarely_told_apart(n: int) -> None:
    assert rejected(HARD * (1 - HARD), HARD * (1 - HARD), n, 1000) <= 0.05
    assert rejected(np.full(11, 0.02), np.full(11, 0.02), n, 1000) <= 0.05


@pytest.mark.parametrize("n", [3, 20])
def test_agents_that_are_equal_on_average_are_rarely_told_apart_though_places_differ(n: int) -> None:
    of_a, of_b = HARD, HARD[::-1]
    assert rejected(of_a * (1 - of_b), of_b * (1 - of_a), n, 1000) <= 0.05
    rare, frequent = np.array([0.3] + 10 * [0.0]), np.array([0.0] + 10 * [0.03])
    assert rejected(rare, frequent, n, 1000) <= 0.05


@pytest.mark.parametrize("n", [5, 6, 8, 10, 17, 20])
def test_one_case_enumerated(n: int) -> None:
    """Every outcome, for every way in which two agents can fail one case equally often."""
    outcomes = [(a, b) for a in range(n + 1) for b in range(n + 1 - a)]
    shown = np.array(
        [stratified_difference([Stratum(values=[-1.0] * a + [1.0] * b + [0.0] * (n - a - b))])[1] for a, b in outcomes]
    )
    counts = np.array([(a, b, n - a - b) for a, b in outcomes])
    for unequal in (0.05, 0.2, 0.4, 0.7, 0.9, 1.0):
        chances = stats.multinomial.pmf(counts, n, [unequal / 2, unequal / 2, 1 - unequal])
        assert chances[shown < 0.05].sum() <= 0.05


def test_half_as_many_fails_are_seen_with_eleven_cases_of_twenty_executions() -> None:
    of_a, of_b = 0.30, 0.15
    assert rejected(np.full(11, of_a * (1 - of_b)), np.full(11, of_b * (1 - of_a)), 20, 300) >= 0.8


@pytest.mark.parametrize("truth", [-0.15, 0.04, 0.6])
def test_differences_cover(truth: float) -> None:
    of_a = np.clip(HARD, max(0.0, -truth), min(1.0, 1 - truth))
    of_b = of_a + truth

    def sample(rng: np.random.Generator) -> list[Stratum]:
        fails = rng.random((2, 11, 10))
        return [
            Stratum(values=((fails[1, c] < of_b[c]).astype(float) - (fails[0, c] < of_a[c])).tolist())
            for c in range(11)
        ]

    assert coverage(sample, truth, lambda strata: stratified_difference(strata)[0], rounds=500) >= 0.94


def test_places_that_always_differ_outweigh_noise() -> None:
    """Three cases newly always fail, two newly never do: that is worse there, though 30 against 20 may be luck."""
    strata = [Stratum(values=[1.0] * 10)] * 3 + [Stratum(values=[-1.0] * 10)] * 2 + [Stratum(values=[0.0] * 10)] * 6
    found, p_value = stratified_difference(strata)
    assert found.value == pytest.approx(1 / 11)
    assert found.low > 0  # type: ignore[operator]
    assert p_value < 0.01  # type: ignore[operator]
    assert stats.binomtest(30, 50).pvalue > 0.1


def test_the_fewest_pairs_that_show_a_difference() -> None:
    quiet = [Stratum(values=[0.0] * 20)] * 5
    least = {
        fails: stratified_difference([*quiet, *[Stratum(values=[1.0] + [0.0] * 19)] * fails])[1] for fails in (5, 6)
    }
    assert least[6] < 0.05 < least[5]  # type: ignore[operator]


def test_where_nothing_is_random_the_difference_is_a_fact() -> None:
    sure = [Stratum(values=[1.0], certain=True)] + [Stratum(values=[0.0], certain=True)] * 3
    found, p_value = stratified_difference(sure)
    assert (found.value, found.low, found.high) == (0.25, 0.25, 0.25)
    assert p_value == 0.0
    assert stratified_difference(sure[1:])[1] == 1.0
    assert stratified_difference([]) == (Estimate.of_nothing(question=ON_THESE_CASES), None)


def test_a_rate_is_right_to_the_last_digit() -> None:
    # Seven of forty places fail, each with three cases: in floats 17.500000000000016 %, above a limit of 17.5 %.
    places = [[Stratum(values=[float(n < 7)], weight=Fraction(1, 120), certain=True)] * 3 for n in range(40)]
    assert stratified_rate_estimate(list(itertools.chain(*places))).value == 0.175
    # What differs within one place evens out within another that has fewer cases.
    uneven = [(1.0, 3), (1.0, 3), (1.0, 3), (-1.0, 2), (-1.0, 2), (0.0, 3)]
    found, p_value = stratified_difference(
        [Stratum(values=[value], weight=Fraction(1, 7 * cases), certain=True) for value, cases in uneven]
    )
    assert (found.value, p_value) == (0.0, 1.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=9), min_size=1, max_size=6))
def test_a_difference_turned_round_is_the_same_turned_round(values: list[list[float]]) -> None:
    there, p_there = stratified_difference([Stratum(values=v) for v in values])
    back, p_back = stratified_difference([Stratum(values=[-x for x in v]) for v in values])
    assert p_there == pytest.approx(p_back)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))  # type: ignore[operator]
    assert -1 <= there.low <= there.value <= there.high <= 1  # type: ignore[operator]
