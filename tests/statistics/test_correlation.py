import numpy as np
import pytest
from scipy import stats

from tests.statistics.coverage import coverage
from tightrope.statistics import correlation_estimate


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.6])
@pytest.mark.parametrize("n", [6, 24])
def test_correlations_cover(rho: float, n: int) -> None:
    def sample(rng: np.random.Generator) -> np.ndarray:
        return rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n).T

    assert coverage(sample, rho, lambda pair: correlation_estimate(*pair), rounds=1000) >= 0.93


@pytest.mark.parametrize("rho", [-0.7, 0.0])
def test_points_that_hang_together_are_not_taken_for_many(rho: float) -> None:
    """Eight agents, each measured by four suites that repeat it with a little noise."""
    agents = [agent for agent in range(8) for _ in range(4)]

    def sample(rng: np.random.Generator) -> np.ndarray:
        of_agents = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=8).repeat(4, axis=0)
        return (of_agents + 0.1 * rng.normal(size=(32, 2))).T

    assert coverage(sample, rho, lambda pair: correlation_estimate(*pair, agents), rounds=1000) >= 0.93
    assert coverage(sample, rho, lambda pair: correlation_estimate(*pair), rounds=1000) < 0.8


def test_agrees_with_scipy() -> None:
    xs, ys = [0.1, 0.5, 0.2, 0.9, 0.4], [90.0, 20.0, 70.0, 30.0, 35.0]
    ours, theirs = correlation_estimate(xs, ys), stats.pearsonr(xs, ys)
    interval = theirs.confidence_interval()
    assert ours.value == pytest.approx(theirs.statistic)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_fewer_than_four_agents_give_no_correlation_at_all(n: int) -> None:
    xs, ys = [0.1, 0.5, 0.3][:n], [9.0, 2.0, 4.0][:n]
    assert correlation_estimate(xs, ys).value is None
    assert f"4 or more agents, not {n}" in correlation_estimate(xs * 3, ys * 3, list(range(n)) * 3).method


def test_what_does_not_vary_goes_with_nothing() -> None:
    assert "does not vary" in correlation_estimate([1.0] * 4, [1.0, 2.0, 3.0, 4.0]).method


def test_a_line_has_no_interval() -> None:
    line = correlation_estimate([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    assert line.value == pytest.approx(1.0)
    assert line.low is None


def test_unpaired_values_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        correlation_estimate([1.0, 2.0], [1.0])
