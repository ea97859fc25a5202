from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tests.statistics.coverage import coverage
from tightrope.statistics import interquartile_mean, iqm_estimate

Draw = Callable[[np.random.Generator, int], np.ndarray]
NORMAL: Draw = lambda rng, n: rng.normal(size=n)  # noqa: E731
SKEWED: Draw = lambda rng, n: rng.exponential(size=n)  # noqa: E731
RARE: Draw = lambda rng, n: 10.0 * (rng.random(n) < 0.1) + rng.normal(size=n)  # noqa: E731


@pytest.mark.parametrize(
    ("groups", "size", "draw"),
    [
        (10, 10, SKEWED),
        *((g, n, draw) for g, n in ((4, 5), (1, 20), (5, 2), (1, 8)) for draw in (NORMAL, SKEWED, RARE)),
    ],
)
def test_interquartile_means_cover(groups: int, size: int, draw: Draw) -> None:
    offsets = 0.5 * np.arange(groups)
    many = np.concatenate([draw(np.random.default_rng(9), 40_000) + offset for offset in offsets])
    truth = float(stats.trim_mean(many, 0.25))
    covered = coverage(lambda rng: [draw(rng, size) + offset for offset in offsets], truth, iqm_estimate, rounds=150)
    assert covered >= 0.93


def test_too_little_has_no_interval_or_reads_no_data() -> None:
    assert iqm_estimate([]).value is None
    assert iqm_estimate([[], []]).n == 0
    assert iqm_estimate([[1.0, float("nan")]]).value is None
    few = iqm_estimate([[1.0, 2.0, 3.0], [4.0, 9.0]])
    assert (few.value, few.low) == (3.0, None)
    assert "fewer than 8" in few.method
    same = iqm_estimate([[1.0] * 4, [1.0] * 6])
    assert (same.value, same.low) == (1.0, None)
    assert iqm_estimate([[1.0], [2.0]], deterministic=True).n == 1


def test_interquartile_mean_is_that_of_the_middle_half() -> None:
    assert float(interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0]))) == 1.5
