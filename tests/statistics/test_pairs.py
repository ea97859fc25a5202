import numpy as np
import pytest

from tightrope.statistics import PairCounts


def test_counts() -> None:
    counts = PairCounts.of([(True, True), (True, False), (True, False), (False, True), (False, False)])
    assert counts == PairCounts(both=1, only_a=2, only_b=1, neither=1)
    assert counts.n == 5


def test_known_p_values() -> None:
    assert PairCounts(both=3, only_a=0, only_b=5, neither=2).p_value == pytest.approx(2 * 0.5**5)
    assert PairCounts(both=0, only_a=1, only_b=1, neither=0).p_value == 1.0
    assert PairCounts(both=7, only_a=0, only_b=0, neither=7).p_value == 1.0
    assert PairCounts.of([]).p_value is None


def test_alike_agents_are_told_apart_no_more_often_than_the_level_says() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.random((2000, 25, 2)) < 0.3
    rejected = sum((PairCounts.of(map(tuple, sample)).p_value or 0) < 0.05 for sample in pairs.tolist())
    assert rejected / 2000 <= 0.05
