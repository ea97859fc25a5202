"""Mean returns on exactly these cases: how often their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tightrope.statistics import Stratum, stratified_mean_estimate
from tightrope.statistics.returns import ALWAYS_FAILED, NEVER_FAILED


def earn(kind: str, rng: np.random.Generator, cases: int, n: int) -> tuple[np.ndarray, float]:
    """Returns of each case, and the mean of the cases' means."""
    noise = rng.normal(size=(cases, n))
    place = 10.0 * np.arange(cases)[:, None]
    if kind == "one in ten falls and loses much":
        return place + np.where(rng.random((cases, n)) < 0.1, -100 + noise, 40 + noise), float(place.mean()) + 26
    if kind == "one in ten falls at some time":
        fallen = rng.uniform(0, 40, (cases, n))
        return place + np.where(rng.random((cases, n)) < 0.1, fallen, 40 + noise), float(place.mean()) + 38
    if kind == "lognormal":
        return place + np.exp(noise), float(place.mean()) + float(np.exp(0.5))
    if kind == "two peaks":
        return place + 10.0 * (rng.random((cases, n)) < 0.4) + noise, float(place.mean()) + 4
    return place + noise, float(place.mean())


KINDS = ("one in ten falls and loses much", "one in ten falls at some time", "lognormal", "two peaks", "normal")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("cases", "n"), [(11, 10), (5, 10), (1, 60), (25, 2)])
def test_mean_returns_cover(kind: str, cases: int, n: int) -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        returns, truth = earn(kind, rng, cases, n)
        found = stratified_mean_estimate([Stratum(values=row) for row in returns.tolist()])
        hits += found.low <= truth <= found.high  # type: ignore[operator]
        assert returns.min() <= found.low <= found.high <= returns.max()  # type: ignore[operator]
    assert hits / 400 >= 0.93


def test_student_alone_would_not_cover() -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        returns, truth = earn("one in ten falls at some time", rng, 1, 60)
        error = float(stats.sem(returns[0])) * stats.t.ppf(0.975, 59)
        hits += abs(returns.mean() - truth) <= error
    assert hits / 400 < 0.93


def test_how_places_differ_does_not_widen_the_mean_on_these_cases() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(11, 10))
    near = stratified_mean_estimate([Stratum(values=row) for row in noise.tolist()])
    far = stratified_mean_estimate([Stratum(values=row) for row in (noise + 1000 * np.arange(11)[:, None]).tolist()])
    assert far.high - far.low == pytest.approx(near.high - near.low)  # type: ignore[operator]


def test_a_few_executions_give_a_mean_but_no_interval_and_say_why() -> None:
    found = stratified_mean_estimate([Stratum(values=[1.0, 2.0, 9.0])] * 16)
    assert found.value == 4
    assert found.low is None
    assert "fewer than 50" in found.method
    same = stratified_mean_estimate([Stratum(values=[3.0] * 5)] * 20)
    assert same.low is None
    assert "earn the same" in same.method
    assert stratified_mean_estimate([Stratum(values=[float("inf"), 1.0])]).value is None


def test_cases_of_one_execution_show_their_spread_among_each_other() -> None:
    rng = np.random.default_rng(5)
    hits = sum(
        found.low <= 0 <= found.high  # type: ignore[operator]
        for found in (
            stratified_mean_estimate([Stratum(values=[value]) for value in rng.normal(size=60).tolist()])
            for _ in range(300)
        )
    )
    assert hits / 300 >= 0.93
    lone = stratified_mean_estimate([Stratum(values=rng.normal(size=60).tolist()), Stratum(values=[0.0])])
    both = stratified_mean_estimate([Stratum(values=rng.normal(size=60).tolist())])
    assert lone.high - lone.low > both.high - both.low  # type: ignore[operator]


# Returns of which it is known whose execution failed.


def told(returns: np.ndarray, failed: np.ndarray) -> list[Stratum]:
    rows = zip(returns.tolist(), failed.tolist(), strict=True)
    return [Stratum(values=values, failed=fails) for values, fails in rows]


@pytest.mark.parametrize("penalty", [0.0, -100.0])
@pytest.mark.parametrize("rates", [np.full(11, 0.02), np.full(11, 0.005), np.r_[1.0, np.full(10, 0.02)]])
def test_mean_returns_of_rare_fails_cover_or_are_not_given(rates: np.ndarray, penalty: float) -> None:
    rng = np.random.default_rng(3)
    truth = float(np.mean(40 - rates * (40 - penalty)))
    given = hits = 0
    for _ in range(300):
        failed = rng.random((11, 10)) < rates[:, None]
        found = stratified_mean_estimate(told(np.where(failed, penalty, 40.0) + rng.normal(size=(11, 10)), failed))
        assert (found.low is None) == (found.method == NEVER_FAILED) == (not failed.any())
        given += found.low is not None
        hits += found.low is not None and found.low <= truth <= found.high  # type: ignore[operator]
    assert given > 80
    assert hits / given >= 0.95


def test_who_only_fails_has_shown_no_more_than_who_never_does() -> None:
    returns, failed = np.random.default_rng(0).normal(size=(6, 10)), np.full((6, 10), True)
    assert stratified_mean_estimate(told(returns, failed)).method == ALWAYS_FAILED
    assert stratified_mean_estimate(told(returns, ~failed)).method == NEVER_FAILED
    unknown = stratified_mean_estimate([Stratum(values=row) for row in returns.tolist()])
    assert unknown.low is not None, "where nobody said which failed"


def test_a_case_that_never_failed_may_do_so_yet_and_then_earn_what_others_do() -> None:
    rng = np.random.default_rng(0)
    passes, fails = rng.normal(40, 1, (6, 10)), np.full((1, 10), -100.0)
    failed = np.repeat([[False]] * 6 + [[True]], 10, axis=1)
    apart = stratified_mean_estimate([Stratum(values=row) for row in [*passes.tolist(), *fails.tolist()]])
    known = stratified_mean_estimate(told(np.concatenate([passes, fails]), failed))
    assert known.low < apart.low - 2  # type: ignore[operator]
    assert known.high > apart.high + 2  # type: ignore[operator]
