"""Fails per thousand steps, on exactly these cases."""

import numpy as np
import pytest

from tightrope.statistics import ON_THESE_CASES, Estimate, Stratum, events_per_steps

LENGTH = 40


def simulate(rates: np.ndarray, prefixes: np.ndarray, fail_after: float, n: int, rng: np.random.Generator) -> Estimate:
    strata, steps = [], []
    for rate in rates.tolist():
        fails = rng.random(n) < rate
        strata.append(Stratum(values=fails.astype(float).tolist()))
        steps.append(np.where(fails, np.minimum(rng.geometric(1 / fail_after, size=n), LENGTH), LENGTH).tolist())
    return events_per_steps(strata, steps, fixed=float(prefixes.sum()) * n, longest=LENGTH)


def truth_of(rates: np.ndarray, prefixes: np.ndarray, fail_after: float) -> float:
    watched = (1 - (1 - 1 / fail_after) ** LENGTH) * fail_after
    return 1000 * rates.sum() / float((prefixes + rates * watched + (1 - rates) * LENGTH).sum())


MANY_ZEROS = np.array([0.0] * 10 + [0.9, 0.5, 0.05])
NO_PREFIX, LONG, MIXED = np.zeros(13), np.full(13, 300.0), np.linspace(0, 300, 13)


@pytest.mark.parametrize(
    "rates", [MANY_ZEROS, MANY_ZEROS[::-1], np.full(13, 0.02), np.full(13, 0.99), np.full(13, 0.4)]
)
@pytest.mark.parametrize("prefixes", [NO_PREFIX, LONG, MIXED])
@pytest.mark.parametrize(("fail_after", "n"), [(1.5, 10), (20.0, 3), (20.0, 10)])
def test_fails_per_step_cover(rates: np.ndarray, prefixes: np.ndarray, fail_after: float, n: int) -> None:
    rng = np.random.default_rng(2)
    truth = truth_of(rates, prefixes, fail_after)
    hits = 0
    for _ in range(200):
        found = simulate(rates, prefixes, fail_after, n, rng)
        hits += found.low <= truth <= found.high  # type: ignore[operator]
    assert hits / 200 >= 0.93


def test_few_fails_still_leave_an_interval_worth_having() -> None:
    found = simulate(MANY_ZEROS, MIXED, 5.0, 10, np.random.default_rng(0))
    assert found.high < 3 * found.low  # type: ignore[operator]
    assert found.question == ON_THESE_CASES


def test_no_fails_still_have_an_upper_limit() -> None:
    strata, steps = [Stratum(values=[0.0] * 50)] * 2, [[5.0] * 50] * 2
    found = events_per_steps(strata, steps, fixed=500, longest=5)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(1000 * 0.0362 / 10, rel=0.02)


def test_where_nothing_is_random_it_is_what_it_is() -> None:
    strata = [Stratum(values=[1.0], certain=True), Stratum(values=[0.0], certain=True)]
    found = events_per_steps(strata, [[3.0], [7.0]], fixed=10, longest=7)
    assert (found.value, found.low, found.high) == (50.0, 50.0, 50.0)


def test_an_event_takes_at_least_one_step() -> None:
    found = events_per_steps([Stratum(values=[1.0, 0.0])], [[1.0, 1.0]], fixed=0, longest=1)
    assert found.high <= 1000.0  # type: ignore[operator]


def test_nothing_reads_no_data() -> None:
    assert events_per_steps([], [], fixed=0, longest=40).value is None
    assert events_per_steps([Stratum(values=[])], [[]], fixed=100, longest=40).n == 0
