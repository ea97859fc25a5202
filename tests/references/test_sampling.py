"""rep(c, p) of the paper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tightrope as tr
from tightrope.errors import UsageError


def test_the_paper_s_example():
    assert tr.repetitions(0.9, 0.1) == tr.repetitions() == 22


def test_whole_quotients_are_not_rounded_up():
    assert tr.repetitions(1 - 0.9**3, 0.1) == 3
    assert tr.repetitions(0.5, 0.5) == 1


def test_a_certain_successor_needs_one_sample():
    assert tr.repetitions(0.99, 1.0) == 1
    assert tr.repetitions(0.0, 0.2) == 1


@given(st.floats(0.01, 0.999), st.floats(0.001, 0.999))
def test_it_is_the_smallest_number_that_reaches_the_confidence(confidence, probability):
    enough = tr.repetitions(confidence, probability)
    assert 1 - (1 - probability) ** enough >= confidence - 1e-6
    assert enough == 1 or 1 - (1 - probability) ** (enough - 1) < confidence + 1e-6


@pytest.mark.parametrize(("confidence", "probability"), [(1.0, 0.1), (-0.1, 0.1), (0.9, 0.0), (0.9, 1.1)])
def test_impossible_demands_are_refused(confidence, probability):
    with pytest.raises(UsageError):
        tr.repetitions(confidence, probability)
