import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.statistics.coverage import coverage
from tightrope.statistics import (
    clustered_mean_estimate,
    clustered_rate_estimate,
    events_per_exposure,
    rate_estimate,
)


def fails_at_boundary_states(states: int, a: float, b: float, cases: int = 3, repetitions: int = 10):
    """Boundary states with rates from a beta distribution; their cases share them, so they hang together."""

    def sample(rng: np.random.Generator) -> list[np.ndarray]:
        rates = rng.beta(a, b, size=states)
        return [rng.binomial(repetitions, rate, size=cases) / repetitions for rate in rates]

    return sample


@pytest.mark.parametrize("states", [1, 2, 5, 13, 30])
@pytest.mark.parametrize(("a", "b"), [(0.1, 0.9), (0.05, 0.05), (2, 6), (0.3, 3)])
def test_clustered_rates_cover(states: int, a: float, b: float) -> None:
    covered = coverage(
        fails_at_boundary_states(states, a, b), a / (a + b), clustered_rate_estimate, rounds=120, seed=states
    )
    assert covered >= 0.93


@pytest.mark.parametrize("states", [3, 13])
def test_clustered_differences_cover(states: int) -> None:
    """Two agents at the same boundary states: what both find hard there does not count."""

    def sample(rng: np.random.Generator) -> list[np.ndarray]:
        hard = rng.beta(0.5, 0.8, size=states)
        worse, better = np.minimum(1, hard + 0.2 * (1 - hard)), hard
        return [(rng.binomial(10, a, 3) - rng.binomial(10, b, 3)) / 10 for a, b in zip(worse, better, strict=True)]

    truth = 0.2 * (1 - 0.5 / 1.3)
    covered = coverage(sample, truth, lambda groups: clustered_rate_estimate(groups, bounds=(-1, 1)), rounds=120)
    assert covered >= 0.93


def test_ignoring_that_cases_hang_together_would_not_cover() -> None:
    def pooled(groups: list[np.ndarray]):
        return rate_estimate(round(10 * sum(group.sum() for group in groups)), 10 * sum(len(group) for group in groups))

    sample = fails_at_boundary_states(8, 0.3, 0.7, cases=9)
    assert coverage(sample, 0.3, pooled, rounds=120) < 0.5
    assert coverage(sample, 0.3, clustered_rate_estimate, rounds=120) >= 0.93


@pytest.mark.parametrize(("hits", "states"), [(0, 1), (0, 13), (13, 13), (1, 4), (5, 20)])
def test_all_or_nothing_states_give_the_clopper_pearson_interval(hits: int, states: int) -> None:
    groups = [[1.0]] * hits + [[0.0]] * (states - hits)
    ours, exact = clustered_rate_estimate(groups), rate_estimate(hits, states)
    assert (ours.value, ours.n) == (exact.value, states)
    assert (ours.low, ours.high) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("cases", [1, 2, 3, 4])
def test_a_limit_does_not_hang_on_how_many_cases_agree(cases: int) -> None:
    clean = clustered_rate_estimate([[0.0] * cases] * 36)
    assert clean.high == pytest.approx(1 - 0.025 ** (1 / 36), abs=1e-12)


def test_equal_values_do_not_collapse() -> None:
    for value in (0.0, 0.3, 1.0):
        estimate = clustered_rate_estimate([[value, value]] * 6)
        assert estimate.high - estimate.low > 0.2  # type: ignore[operator]


def test_one_boundary_state_says_little_about_others() -> None:
    estimate = clustered_rate_estimate([[0.0] * 64])
    assert estimate.n == 1
    assert estimate.high == pytest.approx(0.975, abs=0.01)


def test_states_weigh_the_same_whatever_their_cases_and_empty_ones_are_left_out() -> None:
    estimate = clustered_rate_estimate([[1.0] * 9, [0.0], []])
    assert (estimate.value, estimate.n) == (0.5, 2)
    assert clustered_mean_estimate([[1.0] * 9, [0.0], []]).value == 0.5


def test_nothing_reads_no_data() -> None:
    for estimate in (clustered_rate_estimate([[], []]), clustered_mean_estimate([]), events_per_exposure([], [])):
        assert estimate.value is None
        assert estimate.n == 0


def test_differences_of_rates_use_their_own_bounds() -> None:
    estimate = clustered_rate_estimate([[-1.0], [1.0], [0.0]], bounds=(-1.0, 1.0))
    assert estimate.value == pytest.approx(0.0)
    assert -1 <= estimate.low < -0.5  # type: ignore[operator]
    assert 0.5 < estimate.high <= 1  # type: ignore[operator]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1, max_size=8))
def test_limits_stay_within_bounds_and_hold_the_value(groups: list[list[float]]) -> None:
    estimate = clustered_rate_estimate(groups)
    assert estimate == clustered_rate_estimate(groups)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1  # type: ignore[operator]


def test_many_cases_at_one_state_fit_into_memory() -> None:
    estimate = clustered_rate_estimate([np.arange(5000) % 2, np.zeros(5000)])
    assert estimate.value == pytest.approx(0.25)


@pytest.mark.parametrize("states", [4, 13, 30])
def test_clustered_means_cover(states: int) -> None:
    def sample(rng: np.random.Generator) -> list[np.ndarray]:
        return [10 * rng.exponential() + rng.normal(size=3) for _ in range(states)]

    assert coverage(sample, 10.0, clustered_mean_estimate, rounds=150) >= 0.89


def test_means_without_spread_have_no_interval() -> None:
    assert clustered_mean_estimate([[1.0, 2.0]]).low is None
    assert clustered_mean_estimate([[1.0], [1.0]]).high is None
    assert clustered_mean_estimate([[float("inf")], [1.0]]).value is None


@pytest.mark.parametrize("states", [2, 5, 13, 30])
@pytest.mark.parametrize("rate", [0.2, 2.0, 20.0])
def test_events_per_exposure_cover(states: int, rate: float) -> None:
    def sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        steps = 10 * rng.integers(50, 150, size=states)
        return rng.poisson(rate * rng.gamma(1.0, 1.0, size=states) * steps / 1000), steps

    covered = coverage(sample, rate, lambda pair: events_per_exposure(*pair), rounds=1000)
    assert covered >= 0.90


def test_no_events_still_have_an_upper_limit() -> None:
    estimate = events_per_exposure([0, 0], [500, 500])
    assert estimate.value == 0.0
    assert estimate.high == pytest.approx(3.689, abs=0.001)


def test_groups_without_exposure_are_left_out() -> None:
    """Counted as groups, they would raise the degrees of freedom and so narrow the interval."""
    assert events_per_exposure([1, 40, 0, 0, 0], [500, 500, 0, 0, 0]) == events_per_exposure([1, 40], [500, 500])


def test_an_event_takes_at_least_one_step() -> None:
    assert events_per_exposure([1, 0], [1, 1]).high == 1000.0
