import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tightrope.statistics import rate_estimate
from tightrope.statistics.proportions import beta_limits


def test_known_limits() -> None:
    assert rate_estimate(0, 10).high == pytest.approx(0.30850, abs=1e-5)
    assert rate_estimate(0, 10, method="wilson").high == pytest.approx(0.27753, abs=1e-5)
    assert rate_estimate(10, 10).low == pytest.approx(0.69150, abs=1e-5)


def test_nothing_tried_is_no_data() -> None:
    assert rate_estimate(0, 0).value is None


def test_deterministic_rates_have_no_width() -> None:
    once = rate_estimate(1, 1, deterministic=True)
    assert (once.low, once.high, once.n) == (1.0, 1.0, 1)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        rate_estimate(3, 2)
    with pytest.raises(ValueError, match="'exact' or 'wilson'"):
        rate_estimate(1, 2, method="wald")  # type: ignore[arg-type]


@given(st.integers(1, 60), st.data())
def test_fractional_limits_agree_with_clopper_pearson_on_whole_hits(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    exact = rate_estimate(hits, n)
    assert beta_limits(hits, n, 0.95) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize("n", [1, 5, 10, 50])
def test_exact_covers_at_least_as_often_as_it_says_at_every_rate(n: int) -> None:
    limits = [rate_estimate(hits, n) for hits in range(n + 1)]
    low, high = (np.array([getattr(limit, side) for limit in limits]) for side in ("low", "high"))
    for rate in np.linspace(0.001, 0.999, 333):
        chances = stats.binom.pmf(np.arange(n + 1), n, rate)
        assert chances[(low <= rate) & (rate <= high)].sum() >= 0.95 - 1e-9


def test_wilson_covers_as_often_as_it_says_on_average() -> None:
    n = 10
    limits = [rate_estimate(hits, n, method="wilson") for hits in range(n + 1)]
    covered = [
        sum(
            stats.binom.pmf(hits, n, rate)
            for hits, limit in enumerate(limits)
            if limit.low is not None and limit.high is not None and limit.low <= rate <= limit.high
        )
        for rate in np.linspace(0.01, 0.99, 99)
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)
