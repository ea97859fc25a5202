from __future__ import annotations

import numpy as np
import pytest

from tightrope.risk.intervals import splitting_estimate
from tightrope.risk.splitting import Repetition


def repetitions(estimates, **fields):
    told = {"size": 50, "steps": 1, "rounds": 9, "plain_failures": 0, "roots": 5, "failures": ()}
    told |= {"variance": 0.0, "levels": ()}
    return [Repetition(estimate=float(value), **{**told, **fields}) for value in estimates]


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 1.6, 2.0])
@pytest.mark.parametrize("count", [5, 8, 16])
def test_the_interval_covers_lognormal_repetitions(spread, count) -> None:
    rng = np.random.default_rng(1)
    held = total = 0
    for sample in np.exp(rng.normal(size=(700, count)) * spread - spread**2 / 2) * 1e-5:
        found, _ = splitting_estimate(repetitions(sample), 0, count * 50)
        held += found.low <= 1e-5 <= found.high
        total += 1
    assert held / total >= 0.91  # 92 % where the spread is worst, less one standard error


def test_repetitions_that_disagree_are_answered_by_the_plain_episodes_among_them() -> None:
    found, notes = splitting_estimate(repetitions([1e-9] * 11 + [1e-4]), 0, 600)
    assert "disagree" in notes[0]
    assert found.low == 0
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 600), rel=1e-3)


def test_more_repetitions_may_differ_more() -> None:
    """What counts is how well their mean is known: a spread that eight cannot bear is borne by twenty-four."""
    few = [0.2e-5, 0.2e-5, 0.3e-5, 3.2e-5, 0.4e-5, 0.3e-5, 1e-5, 2.4e-5]
    assert "disagree" in splitting_estimate(repetitions(few), 0, 400)[1][0]
    found, notes = splitting_estimate(repetitions(few * 3), 0, 1200)
    assert notes == ()
    assert found.low < 1e-5 < found.high


def test_plain_episodes_that_fail_more_often_than_the_repetitions_tell_are_believed() -> None:
    """Eight repetitions agree on one in a million, and three of 440 plain episodes have failed."""
    close = [1e-6, 1.2e-6, 0.9e-6, 1.1e-6] * 2
    assert splitting_estimate(repetitions(close), 0, 440)[1] == ()
    found, notes = splitting_estimate(repetitions(close), 3, 440)
    assert "3 of 440 plain episodes failed, more than the repetitions suggest" in notes[0]
    assert found.high > 0.01


def test_one_ancestor_that_carries_everything_is_said() -> None:
    close = [1e-5, 1.2e-5, 0.9e-5, 1.1e-5] * 2
    found, notes = splitting_estimate(repetitions(close, roots=1), 0, 400)
    assert "all failures descend from one of its 50 first episodes" in notes[0]
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 400), rel=1e-3)
    one_that_does_not = [*repetitions(close[1:], roots=1), *repetitions(close[:1], roots=2)]
    assert splitting_estimate(one_that_does_not, 0, 400)[1] == ()


@pytest.mark.parametrize(
    ("count", "said"), [(0, "no repetition of splitting was finished"), (1, "only one repetition")]
)
def test_repetitions_that_the_budget_did_not_pay_for_are_said(count, said) -> None:
    found, notes = splitting_estimate(repetitions([1e-5] * count), 1, 400)
    assert said in notes[-1]
    assert found.high == pytest.approx(0.0138, rel=0.02), "that of the plain episodes"


def test_repetitions_without_failures_are_said() -> None:
    found, notes = splitting_estimate(repetitions([0.0] * 8), 0, 400)
    assert "8 of 8 repetitions met no failure" in notes[0]
    assert (found.value, found.low) == (0, 0)
    assert found.high > 0


def test_what_the_family_trees_tell_is_believed_while_repetitions_agree_with_it() -> None:
    close = [1e-5, 1.6e-5, 0.7e-5, 1.1e-5, 0.5e-5, 1e-5, 1.4e-5, 0.8e-5]
    spread = float(np.var(close, ddof=1))
    alone, _ = splitting_estimate(repetitions(close), 0, 400)
    told, _ = splitting_estimate(repetitions(close, variance=spread), 0, 400)
    assert told.high / told.low < 0.9 * alone.high / alone.low, "the same spread, better known"
    too_little, _ = splitting_estimate(repetitions(close, variance=0.4 * spread), 0, 400)
    assert too_little == alone, "repetitions that differ by more are believed"
    bare = [*repetitions(close[:1], variance=spread), *repetitions(close[1:], variance=spread, roots=1)]
    assert splitting_estimate(bare, 0, 400)[0] == alone, "a tree with one branch knows nothing"


def test_family_trees_that_tell_of_a_large_error_are_no_number() -> None:
    close = [1e-5, 1.2e-5, 0.9e-5, 1.1e-5] * 2
    _, notes = splitting_estimate(repetitions(close, variance=4e-10), 0, 400)
    assert "its standard error is 67% of the number" in notes[0]
