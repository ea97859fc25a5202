from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.statistics.coverage import coverage
from tightrope.statistics import difference_estimate, mean_estimate, paired_difference_estimate, seen_bounds

Draw = Callable[[np.random.Generator, int], np.ndarray]
NORMAL: Draw = lambda rng, n: rng.normal(size=n)  # noqa: E731
SKEWED: Draw = lambda rng, n: rng.exponential(size=n)  # noqa: E731
TWO_PEAKS: Draw = lambda rng, n: 10.0 * (rng.random(n) < 0.4) + rng.normal(size=n)  # noqa: E731
RARE: Draw = lambda rng, n: 10.0 * (rng.random(n) < 0.1) + rng.normal(size=n)  # noqa: E731


@pytest.mark.parametrize("draw", [NORMAL, SKEWED, TWO_PEAKS, RARE])
@pytest.mark.parametrize("sizes", [(50, 60)])
def test_differences_cover(draw: Draw, sizes: tuple[int, int]) -> None:
    covered = coverage(
        lambda rng: (draw(rng, sizes[0]) + 3, draw(rng, sizes[1])),
        3.0,
        lambda pair: difference_estimate(*pair),
        rounds=200,
    )
    assert covered >= 0.93


@pytest.mark.parametrize("draw", [NORMAL, SKEWED, TWO_PEAKS, RARE])
def test_differences_of_a_few_cover_where_the_reach_is_known(draw: Draw) -> None:
    def estimate(pair: tuple[np.ndarray, np.ndarray]):  # type: ignore[no-untyped-def]
        return difference_estimate(pair[0][:8], pair[1][:12], bounds=(seen_bounds(pair[0]), seen_bounds(pair[1])))

    assert coverage(lambda rng: (draw(rng, 80) + 3, draw(rng, 80)), 3.0, estimate, rounds=200) >= 0.93


def test_paired_differences_cover_and_are_narrower_than_unpaired_ones() -> None:
    def sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        common = 10 * rng.normal(size=60)
        return common + rng.normal(size=60) + 1, common + rng.normal(size=60)

    assert coverage(sample, 1.0, lambda pair: paired_difference_estimate(*pair)) >= 0.93
    a, b = sample(np.random.default_rng(0))
    paired, apart = paired_difference_estimate(a, b), difference_estimate(a, b)
    assert paired.value == pytest.approx(apart.value)
    assert paired.high - paired.low < 0.5 * (apart.high - apart.low)  # type: ignore[operator]


def test_limits_lie_within_what_was_seen() -> None:
    """CartPole's 40 steps earn at most 40, and no interval may promise more."""
    returns = [40.0] * 58 + [12.0, 3.0]
    found = mean_estimate(returns)
    assert 3.0 < found.low < found.value < found.high <= 40.0  # type: ignore[operator]


def test_nothing_reads_no_data() -> None:
    for estimate in (mean_estimate([]), difference_estimate([], [1.0]), paired_difference_estimate([], [])):
        assert estimate.value is None
        assert estimate.n == 0


def test_one_value_and_equal_values_have_no_interval_rather_than_a_narrow_one() -> None:
    for estimate in (
        mean_estimate([3.0]),
        mean_estimate([3.0], bounds=(0.0, 10.0)),
        mean_estimate([3.0] * 80),
        mean_estimate([3.0, 4.0, 5.0]),
        difference_estimate([1.0] * 60, [2.0] * 60),
        difference_estimate([1.0], [2.0, 3.0], bounds=((0, 4), (0, 4))),
    ):
        assert estimate.value is not None
        assert estimate.low is None
        assert estimate.high is None
        assert "no interval" in estimate.method


def test_deterministic_values_stand_for_all() -> None:
    assert mean_estimate([5.0, 5.0], deterministic=True).high == 5.0


def test_values_that_are_not_finite_give_no_number() -> None:
    assert mean_estimate([1.0, float("inf")]).value is None
    assert difference_estimate([1.0, float("nan")], [1.0]).value is None


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        paired_difference_estimate([1.0, 2.0], [1.0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_same_values_same_estimate_and_the_interval_holds_the_value(values: list[float]) -> None:
    estimate = mean_estimate(values, bounds=(-1e6, 1e6))
    assert estimate == mean_estimate(list(values), bounds=(-1e6, 1e6))
    assert estimate.n == len(values)
    assert estimate.low <= estimate.value <= estimate.high  # type: ignore[operator]
