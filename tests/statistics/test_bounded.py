"""Means that hold whatever the distribution: references, rates of prefixes, returns of which the reach is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.statistics.coverage import coverage
from tightrope.statistics import IN_GENERAL, general_estimate, mean_estimate, rate_estimate, seen_bounds


def rates_of_references(references: int, a: float, b: float):  # type: ignore[no-untyped-def]
    """References differ in how dangerous they are; the executions on each scatter a little more."""

    def sample(rng: np.random.Generator) -> np.ndarray:
        return rng.binomial(30, rng.beta(a, b, size=references)) / 30

    return sample


@pytest.mark.parametrize("references", [2, 5, 13, 30])
@pytest.mark.parametrize(("a", "b"), [(0.1, 0.9), (0.05, 0.05), (2, 6), (0.3, 3)])
def test_rates_in_general_cover(references: int, a: float, b: float) -> None:
    covered = coverage(rates_of_references(references, a, b), a / (a + b), general_estimate, rounds=200)
    assert covered >= 0.93


def test_boundary_states_taken_for_a_sample_would_promise_too_much() -> None:
    """Eleven neighbouring states of each of five references agree; what varies are the references."""

    def states(rng: np.random.Generator) -> np.ndarray:
        hard = rng.beta(0.5, 0.7, size=5)
        return np.clip(hard[:, None] + 0.05 * rng.normal(size=(5, 11)), 0, 1)

    truth = float(np.mean([states(np.random.default_rng(seed)).mean() for seed in range(4000)]))
    by_state = coverage(states, truth, lambda rates: general_estimate(rates.ravel().tolist()), rounds=200)
    by_reference = coverage(states, truth, lambda rates: general_estimate(rates.mean(axis=1).tolist()), rounds=200)
    assert by_state < 0.6
    assert by_reference >= 0.93


@pytest.mark.parametrize("references", [3, 13])
def test_differences_in_general_cover(references: int) -> None:
    def sample(rng: np.random.Generator) -> np.ndarray:
        hard = rng.beta(0.5, 0.8, size=references)
        return (rng.binomial(30, hard + 0.2 * (1 - hard)) - rng.binomial(30, hard)) / 30

    truth = 0.2 * (1 - 0.5 / 1.3)
    assert coverage(sample, truth, lambda rates: general_estimate(rates, bounds=(-1, 1)), rounds=200) >= 0.93


def test_one_reference_has_a_value_and_no_interval_and_says_why() -> None:
    found = general_estimate([0.3])
    assert (found.value, found.low, found.high, found.n) == (0.3, None, None, 1)
    assert "one reference" in found.method
    assert found.question == IN_GENERAL
    assert general_estimate([]).value is None


@pytest.mark.parametrize(("hits", "references"), [(0, 2), (0, 13), (13, 13), (1, 4), (5, 20)])
def test_all_or_nothing_gives_the_clopper_pearson_interval(hits: int, references: int) -> None:
    ours, exact = general_estimate([1.0] * hits + [0.0] * (references - hits)), rate_estimate(hits, references)
    assert (ours.value, ours.n) == (exact.value, references)
    assert (ours.low, ours.high) == pytest.approx((exact.low, exact.high))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_limits_stay_within_bounds_and_hold_the_value(values: list[float]) -> None:
    found = general_estimate(values)
    assert found == general_estimate(values)
    assert 0 <= found.low <= found.value <= found.high <= 1  # type: ignore[operator]


def test_equal_values_do_not_collapse_within_known_bounds() -> None:
    found = general_estimate([0.3] * 6)
    assert found.high - found.low > 0.2  # type: ignore[operator]


def returns(share: float, within: float = 1.0):  # type: ignore[no-untyped-def]
    """Two peaks, one of them rare."""
    return lambda rng, n: 10.0 * (rng.random(n) < share) + within * rng.normal(size=n)


KINDS = {
    **{f"two peaks, {share}": (returns(share), 10 * share) for share in (0.5, 0.2, 0.1, 0.05)},
    "normal": (lambda rng, n: rng.normal(size=n), 0.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: np.exp(rng.normal(size=n)), float(np.exp(0.5))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "seen"), [(5, 60), (10, 60), (10, 200)])
def test_a_few_returns_cover_where_many_more_show_how_far_they_reach(kind: str, n: int, seen: int) -> None:
    draw, truth = KINDS[kind]
    covered = coverage(
        lambda rng: draw(rng, seen),
        truth,
        lambda values: mean_estimate(values[:n], bounds=seen_bounds(values)),
        rounds=300,
    )
    assert covered >= 0.93


@pytest.mark.parametrize("kind", ["two peaks, 0.5", "two peaks, 0.2", "two peaks, 0.1", "normal", "lognormal"])
def test_many_returns_show_their_reach_themselves(kind: str) -> None:
    draw, truth = KINDS[kind]
    assert coverage(lambda rng: draw(rng, 60), truth, mean_estimate, rounds=600) >= 0.93


def test_an_interval_from_ten_returns_alone_would_not_hold() -> None:
    """A third of all samples of ten do not show what one return in ten is like: no method can know."""
    rng = np.random.default_rng(0)
    unseen = np.mean([(returns(0.1)(rng, 10) < 5).all() for _ in range(2000)])
    assert unseen > 0.3
    found = mean_estimate(returns(0.1)(rng, 10).tolist())
    assert found.low is None
    assert "fewer than 50" in found.method
