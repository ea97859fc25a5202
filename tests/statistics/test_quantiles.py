"""Against scipy.stats, which says the same and takes longer to import."""

from __future__ import annotations

import subprocess
import sys
from math import inf

import numpy as np
import pytest
from scipy import stats

from tightrope.statistics import rate_estimate
from tightrope.statistics.iqm import interquartile_mean
from tightrope.statistics.quantiles import (
    beta_quantile,
    normal_quantile,
    normal_tail,
    student_quantile,
    student_tail,
)

PROBABILITIES = (1e-6, 0.025, 0.5, 0.9, 0.975, 1 - 1e-6)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_quantiles_and_tails_are_those_of_the_library(probability: float) -> None:
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), rel=1e-9, abs=1e-12)
    for freedom in (1, 2.5, 9, 400, inf):
        expected = stats.t.ppf(probability, freedom)
        assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-9)
        assert student_tail(expected, freedom) == pytest.approx(1 - probability, rel=1e-7)
    for a, b in ((0.5, 3), (1, 1), (8, 120), (3001, 2)):
        assert beta_quantile(probability, a, b) == pytest.approx(stats.beta.ppf(probability, a, b), rel=1e-8)
    assert normal_tail(normal_quantile(probability)) == pytest.approx(1 - probability, rel=1e-7)


@pytest.mark.parametrize("method", ["exact", "wilson"])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 25), (3, 25), (25, 25), (1, 5000)])
def test_limits_of_a_rate_are_those_of_the_library(method, hits: int, n: int) -> None:
    found = rate_estimate(hits, n, method=method)
    expected = stats.binomtest(hits, n).proportion_ci(confidence_level=0.95, method=method)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-8, abs=1e-12)


def test_the_middle_half_is_that_of_the_library() -> None:
    values = np.random.default_rng(0).normal(size=(50, 13))
    for size in range(1, 14):
        expected = stats.trim_mean(values[:, :size], 0.25, axis=-1)
        assert interquartile_mean(values[:, :size]) == pytest.approx(expected)


def test_a_campaign_does_not_import_what_takes_longest() -> None:
    code = "import sys, tightrope.runs.campaign; print('scipy.stats' in sys.modules, 'scipy.optimize' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "False"]
