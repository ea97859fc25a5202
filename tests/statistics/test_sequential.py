"""The gate that may be looked at after every execution: its errors are worked out, not sampled."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from tightrope.statistics import ON_THESE_CASES, SequentialDecision, SequentialGate
from tightrope.statistics.sequential import _error, _log_wealth, _mark

FAR = 400


@cache
def borders(limit: float, most: int = FAR) -> tuple[np.ndarray, np.ndarray]:
    """After n executions: at most so many fails are within, at least so many are above."""
    within, above = np.full(most + 1, -1), np.full(most + 1, most + 1)
    for n in range(1, most + 1):
        within[n] = _last(lambda fails, n=n: decided(limit, n, fails) is SequentialDecision.WITHIN, within[n - 1], n)
        above[n] = _first(lambda fails, n=n: decided(limit, n, fails) is SequentialDecision.ABOVE, above[n - 1], n)
    return within, above


def _last(holds, known: int, n: int) -> int:  # type: ignore[no-untyped-def]
    while known < n and holds(known + 1):
        known += 1
    return known


def _first(holds, known: int, n: int) -> int:  # type: ignore[no-untyped-def]
    known = min(known, n + 1)
    while known <= n and not holds(known):
        known += 1
    while known > 0 and known <= n and holds(known - 1):
        known -= 1
    return known


def decided(limit: float, n: int, fails: int) -> SequentialDecision | None:
    """What a gate says that has seen so much and is not decided yet."""
    gate = SequentialGate(limit)
    gate.n, gate.fails = n - 1, fails
    return gate.update(False)


def outcome(rate: float, limit: float, most: int = FAR) -> tuple[np.ndarray, float, float]:
    """Chance to stop after each number of executions, and of either decision, with a look after every execution."""
    within, above = borders(limit, most)
    alive = np.zeros(most + 2)
    alive[0] = 1.0
    stops, passed, failed = np.zeros(most + 1), 0.0, 0.0
    for n in range(1, most + 1):
        alive[1:] = alive[1:] * (1 - rate) + alive[:-1] * rate
        alive[0] *= 1 - rate
        low, high = int(within[n]), int(above[n])
        passed_now, failed_now = alive[: low + 1].sum(), alive[high:].sum()
        alive[: low + 1] = 0
        alive[high:] = 0
        stops[n] = passed_now + failed_now
        passed, failed = passed + passed_now, failed + failed_now
    return stops, passed, failed


def median(stops: np.ndarray) -> int:
    return int(np.searchsorted(np.cumsum(stops), 0.5))


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.1, 0.3, 0.7])
def test_at_the_limit_either_error_is_at_most_five_percent_though_one_looks_every_time(limit: float) -> None:
    _, passed, failed = outcome(limit, limit)
    assert passed <= 0.05
    assert failed <= 0.05


@pytest.mark.parametrize("alpha", [0.05, 0.025])
@pytest.mark.parametrize("limit", [0.001, 0.037, 0.05, 0.5, 0.95])
def test_the_mark_is_as_low_as_the_error_allows_and_later_executions_are_counted_in(limit: float, alpha: float) -> None:
    """What may still happen after the last execution that is worked out is bounded by what is left at stake."""
    for bet in SequentialDecision:
        wealth = [_log_wealth(np.arange(n + 1.0), n, limit, bet) for n in range(1, FAR + 1)]
        mark = _mark(limit, alpha, bet)
        assert mark <= -np.log(alpha), "never more than Ville asks for"
        assert _error(limit, wealth, mark) <= alpha or mark == -np.log(alpha)
        assert _error(limit, wealth[:200], mark) >= _error(limit, wealth, mark) - 1e-9, "the bound only gets tighter"


@pytest.mark.parametrize("rate", [0.01, 0.02, 0.03, 0.04, 0.049])
def test_limits_that_were_made_to_agree_with_the_decision_hold(rate: float) -> None:
    """Below the limit the lower limit errs by the gate's mark or by the twentyfold: both together, exactly."""
    playing, wrong = np.ones(1), 0.0
    for n in range(1, FAR + 1):
        playing = np.append(playing * (1 - rate), 0.0) + np.append(0.0, playing * rate)
        fails = np.arange(n + 1.0)
        by_gate = _log_wealth(fails, n, 0.05, SequentialDecision.ABOVE) >= _mark(0.05, 0.05, SequentialDecision.ABOVE)
        by_limits = _log_wealth(fails, n, rate, SequentialDecision.ABOVE) >= np.log(20)
        off = by_gate | by_limits
        wrong += playing[off].sum()
        playing[off] = 0.0
    assert wrong <= 0.05


def test_a_test_made_to_be_looked_at_once_would_err_far_more_often() -> None:
    """The exact binomial test at 0.05, looked at after each of 400 executions at the limit."""
    rng = np.random.default_rng(0)
    fails = np.cumsum(rng.random((500, FAR)) < 0.1, axis=1)
    above = stats.binom.sf(fails - 1, np.arange(1, FAR + 1), 0.1) < 0.05
    assert above.any(axis=1).mean() > 0.15
    assert outcome(0.1, 0.1)[2] <= 0.05


@pytest.mark.parametrize(
    ("rate", "limit", "right", "at_most"),
    [(0.3, 0.05, "failed", 7), (0.0, 0.05, "passed", 74), (0.2, 0.1, "failed", 62)],
)
def test_how_soon_it_is_decided(rate: float, limit: float, right: str, at_most: int) -> None:
    stops, passed, failed = outcome(rate, limit)
    assert median(stops) <= at_most
    assert rate != 0.3 or stops[:9].sum() > 0.55, "more than half are decided by eight"
    assert (passed if right == "passed" else failed) > 0.95


def test_never_failing_passes_after_seventy_four_executions() -> None:
    gate = SequentialGate(0.05)
    while gate.update(False) is None:
        pass
    assert (gate.n, gate.decision) == (74, SequentialDecision.WITHIN)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_the_limits_hold_at_every_moment_at_once(rate: float) -> None:
    """An interval that leaves out the rate is a bet won against it, so this is the error at that limit."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        gate = SequentialGate(rate)
        for failed in rng.random(60) < rate:
            gate.update(bool(failed))
            found = gate.estimate
            above, below = gate._against_within(rate), gate._against_above(rate)
            assert (found.low > rate + 1e-7) <= (above >= np.log(20) - 1e-6)  # type: ignore[operator]
            assert (found.high < rate - 1e-7) <= (below >= np.log(20) - 1e-6)  # type: ignore[operator]
            assert 0 <= found.low <= found.value <= found.high <= 1  # type: ignore[operator]
    assert found.question == ON_THESE_CASES


def test_the_decision_and_the_limits_agree() -> None:
    for failing in (0, 3):
        gate = SequentialGate(0.1)
        while gate.decision is None:
            gate.update(gate.n < failing)
        found = gate.estimate
        assert (found.high <= 0.1) == (gate.decision is SequentialDecision.WITHIN)  # type: ignore[operator]
        assert (found.low > 0.1) == (gate.decision is SequentialDecision.ABOVE)  # type: ignore[operator]


def test_what_is_unknown_counts_against_either_decision() -> None:
    gate = SequentialGate(0.05)
    for _ in range(200):
        gate.update(None)
    assert gate.decision is None
    shaky = SequentialGate(0.05)
    for number in range(200):
        shaky.update(None if number % 4 == 0 else False)
    assert shaky.decision is None, "a quarter may have been fails"
    assert shaky.estimate.high > 0.2  # type: ignore[operator]
    failing = SequentialGate(0.05)
    for number in range(20):
        failing.update(None if number % 4 == 0 else True)
    assert failing.decision is SequentialDecision.ABOVE, "nothing excuses the fails that were seen"


def test_a_decision_stays() -> None:
    gate = SequentialGate(0.05)
    for _ in range(3):
        gate.update(True)
    assert gate.decision is SequentialDecision.ABOVE
    for _ in range(500):
        gate.update(False)
    assert gate.decision is SequentialDecision.ABOVE


def test_the_ends() -> None:
    none_allowed, all_allowed = SequentialGate(0.0), SequentialGate(1.0)
    assert [none_allowed.update(False) for _ in range(50)] == [None] * 50
    assert none_allowed.update(True) is SequentialDecision.ABOVE
    assert all_allowed.decision is None, "nothing was tried yet"
    assert all_allowed.update(None) is None
    assert all_allowed.update(True) is SequentialDecision.WITHIN
    assert SequentialGate(0.5).estimate.value is None
    for wrong in (-0.1, 1.5):
        with pytest.raises(ValueError, match="between 0 and 1"):
            SequentialGate(wrong)
    with pytest.raises(ValueError, match="alpha"):
        SequentialGate(0.5, alpha=0.0)


def test_what_is_allowed_beside_the_limit_leaves_a_band_that_is_not_decided() -> None:
    """The rate is 0.3, the limit 0.1, and beside it 0.15 to 0.25 are allowed: nobody can say."""
    rng = np.random.default_rng(4)
    undecided, wrong = 0, 0
    for _ in range(60):
        gate = SequentialGate(0.1, beside=(0.15, 0.25))
        for failed in rng.random(400) < 0.3:
            gate.update(bool(failed))
        undecided += gate.decision is None
        wrong += SequentialGate(0.1, beside=(0.2, 0.2)).update(False) is not None
    assert undecided >= 60 * 0.9 - 8
    assert wrong == 0
    for rate, decision in ((0.1, SequentialDecision.WITHIN), (0.6, SequentialDecision.ABOVE)):
        gate = SequentialGate(0.1, beside=(0.15, 0.25))
        for failed in rng.random(400) < rate:
            gate.update(bool(failed))
        assert gate.decision is decision
