"""What remains unseen, on worlds whose kinds are known."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope.statistics.unseen import _new_kind, nothing_unseen, unseen_kinds


def test_no_failure_at_all_gives_the_rule_of_three() -> None:
    unseen = unseen_kinds([[None]] * 3200)
    assert unseen.new_kind.value == 0
    assert unseen.new_kind.high == pytest.approx(3 / 3200, rel=0.01)
    assert str(unseen).replace("\u202f", " ") == (
        "3,200 executions without a failure: the next one is a failure with probability at most 0.094 %"
    )


def test_kinds_met_once_are_what_good_and_turing_count() -> None:
    unseen = unseen_kinds([["a"], ["b"], ["a"], [None], [None]])
    assert (unseen.kinds, unseen.once, unseen.twice, unseen.since) == (2, 1, 1, 3)
    assert unseen.new_kind.value == pytest.approx(1 / 5)
    assert unseen.at_least == 2


def test_kinds_are_counted_and_not_the_cases_that_fail_alike() -> None:
    """A hundred cases that all fail alike at once are one kind: eleven rounds later little is left to find."""
    unseen = unseen_kinds([["a"] * 100] * 12)
    assert (unseen.kinds, unseen.since, unseen.quiet) == (1, 1199, 1100), "the first round had its surprise"
    assert unseen.new_kind.high == pytest.approx(3.69 / 1100, rel=0.01)
    assert str(unseen).replace("\u202f", " ") == (
        "1,100 executions since the last new kind of failure: "
        "the next one is a new kind with probability at most 0.34 %"
    )


def test_a_kind_that_was_just_met_does_not_make_the_limit_useless() -> None:
    unseen = unseen_kinds([*[["a", None]] * 50, ["a", "b"]])
    assert unseen.quiet == 0
    assert str(unseen).replace("\u202f", " ") == (
        "2 kinds of failure in 102 executions: the next one is a new kind with probability at most 7 %"
    )


def test_a_round_that_leaves_cases_out_does_not_count() -> None:
    assert unseen_kinds([["a", None], [None, None], [None]]).quiet == 2


@pytest.mark.parametrize("executions", [10, 60])
def test_the_limit_holds_against_whoever_lowers_the_chance_as_he_likes(executions: int) -> None:
    """Exact: after each new kind the chance of another may fall to any lower value, chosen so that the limit fails most
    often. ``fails[kinds, since, level]``; chances just above a limit are all that need be tried."""
    every = range(executions + 1)
    highs = np.array(
        [[_new_kind(0, kinds, executions, since, 0.95)[0].high for since in every] for kinds in every], dtype=float
    )
    levels = np.unique(highs[highs < 1]) + 1e-12
    fails = (levels > highs[:, :, None]).astype(float)
    for _ in range(executions):
        lowered = np.maximum.accumulate(fails[:, 0], axis=1)
        after = fails.copy()
        after[:-1, :-1] = (1 - levels) * fails[:-1, 1:] + levels * lowered[1:, None]
        fails = after
    assert fails[0, 0].max() == pytest.approx(0.05, abs=1e-9), "never more, and not less than need be"


def test_nothing_executed_is_no_data() -> None:
    assert unseen_kinds([]).new_kind.value is None
    assert "not known" in str(unseen_kinds([]))


def test_where_nothing_is_random_nothing_new_comes() -> None:
    unseen = nothing_unseen(12, 3, why="deterministic")
    assert unseen.new_kind.high == 0
    assert str(unseen) == "the next execution shows no new kind of failure (deterministic)"


def test_one_is_not_several() -> None:
    assert str(unseen_kinds([["a"], ["a"]])).startswith("1 execution since the last new kind of failure: ")
    assert str(unseen_kinds([[None]])).startswith("1 execution without a failure: ")


@pytest.mark.parametrize("decay", [0.0, 1.0, 2.0], ids=["even", "zipf", "steep"])
@pytest.mark.parametrize("fail_rate", [0.02, 0.3, 1.0])
def test_the_limit_holds_on_known_kinds(decay: float, fail_rate: float) -> None:
    """Forty kinds, each with its known share: the mass of those not met lies within the limit in 95 of 100 worlds."""
    rng = np.random.default_rng(7)
    weights = np.arange(1, 41) ** -decay
    shares = fail_rate * (1 - 1e-12) * weights / weights.sum()
    held = 0
    for _ in range(worlds := 400):
        kinds = rng.choice(41, size=120, p=[*shares, 1 - shares.sum()])
        unseen = unseen_kinds([[None if kind == 40 else int(kind)] for kind in kinds])
        missing = shares[[kind for kind in range(40) if kind not in kinds]].sum()
        held += missing <= (unseen.new_kind.high or 0.0)
    assert held / worlds >= 0.94


def test_the_limit_holds_where_each_case_has_its_own_kinds() -> None:
    """Ten cases that fail with rates and kinds of their own, five rounds: the mean over cases of what is missing."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(worlds := 400):
        shares = rng.dirichlet(np.full(13, 0.15), size=10)
        drawn = np.array([rng.choice(13, size=5, p=row) for row in shares])
        kinds = [
            [None if drawn[case, turn] == 12 else int(drawn[case, turn]) for case in range(10)] for turn in range(5)
        ]
        seen = {kind for row in kinds for kind in row if kind is not None}
        missing = float(np.mean([sum(row[kind] for kind in range(12) if kind not in seen) for row in shares]))
        held += missing <= (unseen_kinds(kinds).new_kind.high or 0.0)
    assert held / worlds >= 0.94


def test_good_and_turing_are_right_on_average() -> None:
    rng = np.random.default_rng(3)
    shares = np.arange(1, 61) ** -1.0
    shares /= shares.sum()
    errors = []
    for _ in range(400):
        kinds = rng.choice(60, size=100, p=shares)
        missing = shares[[kind for kind in range(60) if kind not in kinds]].sum()
        errors.append((unseen_kinds([[int(kind)] for kind in kinds]).new_kind.value or 0.0) - missing)
    assert abs(float(np.mean(errors))) < 0.01


@pytest.mark.parametrize("expected", [2.9, 4.8, 8.0])
@pytest.mark.parametrize("how", ["own", "shared", "tiny", "half always fail"])
def test_the_limit_holds_where_it_is_tightest(how: str, expected: float) -> None:
    """Ten cases, six rounds, with chances near the limit itself: cases with kinds of their own, one kind for all,
    many small ones, and half of the cases failing for sure in one known way."""
    rng, rounds, cases = np.random.default_rng(13), 6, 10
    chance, kinds = expected / (rounds * cases), 100
    shares = np.zeros((cases, kinds + 1))
    if how == "own":
        shares[np.arange(cases), np.arange(cases)] = chance
    elif how == "shared":
        shares[:, 0] = chance
    elif how == "tiny":
        shares[:, :kinds] = chance / kinds
    else:
        shares[::2, 0] = 1
        shares[1::2, 1:kinds] = 2 * chance / (kinds - 1)
    shares[:, kinds] = 1 - shares.sum(axis=1)
    held = 0
    for _ in range(worlds := 400):
        drawn = (rng.random((rounds, cases, 1)) > shares.cumsum(axis=1)[:, :-1] + 1e-12).sum(axis=2)
        unseen = unseen_kinds([[None if kind == kinds else int(kind) for kind in turn] for turn in drawn])
        missing = np.delete(shares, [kinds, *np.unique(drawn[drawn < kinds])], axis=1).sum(axis=1).mean()
        held += missing <= (unseen.new_kind.high or 0.0)
    assert held / worlds >= 0.93, "95 of 100, less what 400 worlds may be off by"
