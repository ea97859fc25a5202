from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.statistics.coverage import coverage
from tightrope.statistics import (
    difference_estimate,
    interquartile_mean,
    iqm_estimate,
    mean_estimate,
    paired_difference_estimate,
    stratified_mean_estimate,
)

Draw = Callable[[np.random.Generator, int], np.ndarray]
NORMAL: Draw = lambda rng, n: rng.normal(size=n)  # noqa: E731
SKEWED: Draw = lambda rng, n: rng.exponential(size=n)  # noqa: E731
TWO_PEAKS: Draw = lambda rng, n: 10.0 * (rng.random(n) < 0.4) + rng.normal(size=n)  # noqa: E731
TRUTH = {NORMAL: 0.0, SKEWED: 1.0, TWO_PEAKS: 4.0}


@pytest.mark.parametrize(("draw", "n", "least"), [
    (NORMAL, 3, 0.92), (NORMAL, 10, 0.92), (NORMAL, 40, 0.92),
    (SKEWED, 10, 0.90), (SKEWED, 40, 0.91), (TWO_PEAKS, 10, 0.90), (TWO_PEAKS, 40, 0.92),
])  # fmt: skip
def test_means_cover(draw: Draw, n: int, least: float) -> None:
    assert coverage(lambda rng: draw(rng, n), TRUTH[draw], mean_estimate) >= least


@pytest.mark.parametrize(("draw", "sizes"), [(NORMAL, (4, 12)), (SKEWED, (10, 30)), (TWO_PEAKS, (10, 10))])
def test_differences_cover(draw: Draw, sizes: tuple[int, int]) -> None:
    covered = coverage(
        lambda rng: (draw(rng, sizes[0]) + 3, draw(rng, sizes[1])), 3.0, lambda pair: difference_estimate(*pair)
    )
    assert covered >= 0.91


def test_paired_differences_cover_and_are_narrower_than_unpaired_ones() -> None:
    def sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        common = 10 * rng.normal(size=12)
        return common + rng.normal(size=12) + 1, common + rng.normal(size=12)

    assert coverage(sample, 1.0, lambda pair: paired_difference_estimate(*pair)) >= 0.92
    a, b = sample(np.random.default_rng(0))
    paired, apart = paired_difference_estimate(a, b), difference_estimate(a, b)
    assert paired.value == pytest.approx(apart.value)
    assert paired.high - paired.low < 0.5 * (apart.high - apart.low)  # type: ignore[operator]


@pytest.mark.parametrize(("groups", "size"), [(10, 10), (4, 5), (1, 20), (5, 2)])
@pytest.mark.parametrize("draw", [NORMAL, SKEWED])
def test_interquartile_means_cover(groups: int, size: int, draw: Draw) -> None:
    offsets = 0.5 * np.arange(groups)
    many = np.concatenate([draw(np.random.default_rng(9), 40_000) + offset for offset in offsets])
    truth = float(stats.trim_mean(many, 0.25))
    covered = coverage(lambda rng: [draw(rng, size) + offset for offset in offsets], truth, iqm_estimate, rounds=150)
    assert covered >= 0.90


@pytest.mark.parametrize("draw", [NORMAL, SKEWED])
def test_stratified_means_cover(draw: Draw) -> None:
    truth = TRUTH[draw] + 1.0
    covered = coverage(lambda rng: [draw(rng, 10) + shift for shift in (0, 1, 2)], truth, stratified_mean_estimate)
    assert covered >= 0.91


@pytest.mark.parametrize("outliers", [1, 2])
def test_a_rare_outlier_does_not_send_a_limit_to_infinity(outliers: int) -> None:
    returns = [3069.0, 3068.0, 3070.0, 3069.0, 3067.0, 3069.0, 3071.0, 3069.0, 3068.0, 3069.0]
    returns[:outliers] = [740.0] * outliers
    found = mean_estimate(returns)
    exact = stats.binomtest(outliers, 10).proportion_ci(method="exact")
    assert found.low is not None
    assert found.high is not None
    assert 740.0 < found.low < 3069 - exact.high * (3069 - 740), (
        "as wide as the exact interval of the share of outliers"
    )
    assert 3000 < found.high < 3500


def test_nothing_reads_no_data() -> None:
    for estimate in (
        mean_estimate([]),
        difference_estimate([], [1.0]),
        iqm_estimate([]),
        iqm_estimate([[], []]),
        stratified_mean_estimate([]),
        paired_difference_estimate([], []),
    ):
        assert estimate.value is None
        assert estimate.n == 0


def test_one_value_and_equal_values_have_no_interval_rather_than_a_narrow_one() -> None:
    for estimate in (
        mean_estimate([3.0]),
        mean_estimate([3.0, 3.0, 3.0]),
        difference_estimate([1.0, 1.0], [2.0, 2.0]),
        difference_estimate([1.0], [2.0, 3.0]),
        iqm_estimate([[1.0, 1.0], [1.0]]),
        stratified_mean_estimate([[1.0, 1.0], [2.0, 2.0]]),
    ):
        assert estimate.value is not None
        assert estimate.low is None
        assert estimate.high is None
        assert "no interval" in estimate.method


def test_deterministic_values_stand_for_all() -> None:
    assert mean_estimate([5.0, 5.0], deterministic=True).high == 5.0
    assert difference_estimate([5.0], [3.0], deterministic=True).value == 2.0
    assert iqm_estimate([[1.0], [2.0]], deterministic=True).n == 1
    several = stratified_mean_estimate([[1.0], [2.0], [6.0]], deterministic=True)
    assert (several.value, several.low, several.high, several.n) == (3.0, 3.0, 3.0, 3)


def test_values_that_are_not_finite_give_no_number() -> None:
    assert mean_estimate([1.0, float("inf")]).value is None
    assert iqm_estimate([[1.0, float("nan")]]).value is None


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        paired_difference_estimate([1.0, 2.0], [1.0])


def test_interquartile_mean_is_that_of_the_middle_half() -> None:
    assert float(interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0]))) == 1.5


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_same_values_same_estimate_and_the_interval_holds_the_value(values: list[float]) -> None:
    estimate = mean_estimate(values)
    assert estimate == mean_estimate(list(values))
    assert estimate.n == len(values)
    if estimate.low is not None and estimate.high is not None and estimate.value is not None:
        assert estimate.low <= estimate.value <= estimate.high
