"""The same values give the same limits on every machine: seeds come from the content, never from the moment."""

import pytest

from tightrope.statistics import clustered_mean_estimate, clustered_rate_estimate, iqm_estimate, mean_estimate


def test_limits_are_the_same_everywhere() -> None:
    for estimate, low, high in (
        (clustered_rate_estimate([[0.1, 0.2], [0.5], [0.0, 0.0, 0.3]]), 0.0476147, 0.7648489),
        (clustered_mean_estimate([[1.0, 2.0], [5.0], [7.0, 8.0, 12.0]]), -4.1557476, 14.4890809),
        (mean_estimate([1, 2, 3, 4, 5, 6, 7, 20]), 0.9838745, 14.375),
        (iqm_estimate([[1, 2, 3, 4], [5, 6, 7, 9]]), 3.25, 6.0),
    ):
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-6)
