"""What a case says about the agent: the rule of the gates, case by case."""

from __future__ import annotations

import pytest

from tightrope.reference import Survivability
from tightrope.safety.judging.case_standing import Standing, standing

YES, NO, UNKNOWN = Survivability.YES, Survivability.NO, Survivability.UNKNOWN


@pytest.mark.parametrize(
    ("counts", "survivable", "avoidable", "expected"),
    [
        ({"passes": 9, "fails": 1}, YES, 0.1, Standing.FAILED),
        ({"passes": 6, "fails": 4}, YES, 0.0, Standing.UNLUCKY),
        ({"fails": 4}, UNKNOWN, None, Standing.FAILED),
        ({"fails": 4}, UNKNOWN, 1.0, Standing.FAILED),
        ({"fails": 4}, NO, 0.0, Standing.DOOMED),
        ({"passes": 4}, YES, 0.0, Standing.PASSED),
        ({"passes": 4, "errors": 1}, YES, 0.0, Standing.RAISED),
        ({"invalid": 3}, YES, None, Standing.INVALID),
        ({}, YES, None, Standing.UNTESTED),
    ],
)
def test_how_a_case_stands(counts, survivable, avoidable, expected) -> None:
    told = {"passes": 0, "fails": 0, "invalid": 0, "errors": 0} | counts
    assert standing(**told, survivable=survivable, avoidable=avoidable) is expected
