"""The same values give the same limits on every machine: seeds come from the content, never from the moment."""

import pytest

from tightrope.statistics import Stratum, general_estimate, iqm_estimate, mean_estimate, stratified_rate_estimate


def test_limits_are_the_same_everywhere() -> None:
    for estimate, low, high in (
        (general_estimate([0.1, 0.2, 0.5, 0.0]), 0.0434218, 0.6945843),
        (mean_estimate([1, 2, 3, 4, 5, 6, 7, 20], bounds=(0, 30)), 2.8057601, 15.3459079),
        (iqm_estimate([[1, 2, 3, 4], [5, 6, 7, 9]]), 3.0, 6.5),
        (
            stratified_rate_estimate([Stratum(values=[0, 1, 1]), Stratum(values=[0, 0, 1, 0], weight=2)]),
            0.0646935,
            0.8153532,
        ),
    ):
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-6)
