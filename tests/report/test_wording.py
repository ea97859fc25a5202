from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import tightrope.report
from tightrope.report.wording import (
    NBSP,
    THIN,
    action_text,
    actions_text,
    count,
    estimate_text,
    number,
    part_text,
    percent,
    typeset,
)
from tightrope.statistics import Estimate
from tightrope.statistics.words import change_text, points_text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.004, "0.4 %"),
        (0.0724, "7.2 %"),
        (0.25, "25 %"),
        (0.954, "95.4 %"),
        (0.05, "5 %"),
        (0.825, "83 %"),
        (0.825 - 1e-16, "83 %"),
        (0.125, "13 %"),
        (0.0501, "5.0 %"),
        (0.99, "99 %"),
        (0.0003, "0.03 %"),
        (0.9997, "99.97 %"),
        (1e-9, "<0.01 %"),
        (1 - 1e-9, ">99.99 %"),
        (float("nan"), "not a number"),
        (1.0, "100 %"),
        (None, "no data"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert percent(share).replace(THIN, " ") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.12345, "0.123"),
        (-41.26, "-41.3"),
        (1234567, "1 234 567"),
        (None, "no data"),
        (math.inf, "+∞"),
        (math.nan, "not a number"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value).replace(THIN, " ") == text


def test_numbers_that_are_none() -> None:
    assert [number(value) for value in (math.inf, -math.inf, math.nan)] == ["+∞", "-∞", "not a number"]


def test_an_estimate_shows_interval_and_n() -> None:
    text = estimate_text(Estimate(0.14, 0.048, 0.25, 13, "x")).replace(THIN, " ").replace(NBSP, " ")
    assert text == "14 % (4.8–25 %, n = 13)"


def test_negative_intervals_are_parted_by_a_word() -> None:
    text = estimate_text(Estimate(-0.7, -0.9, -0.2, 9, "x"), share=False).replace(NBSP, " ")
    assert text == "-0.7 (-0.9 to -0.2, n = 9)"


def test_an_estimate_of_nothing_never_reads_zero() -> None:
    assert estimate_text(Estimate.of_nothing()) == "no data"


def test_counts() -> None:
    assert (count(1, "case"), count(2, "case"), count(2, "try", "tries")) == ("1 case", "2 cases", "2 tries")


def test_runs_of_actions_are_counted() -> None:
    assert actions_text((0, 0, 1, 0), ("right", "jump")) == "right ×2, jump, right"


def test_actions_without_names() -> None:
    assert (action_text(7, ("a",)), action_text((0.25, (1, 2))), action_text(1.5)) == ("7", "(0.25, (1, 2))", "1.5")


def test_a_half_is_rounded_up_in_a_share_and_in_a_difference() -> None:
    half = Estimate(0.125, 0.125, 0.125, 16, "made up")
    assert percent(0.125) == f"13{THIN}%"
    assert change_text(half, "late") == "13 percentage points more often (exact) than late"
    assert points_text(half) == "+13 points (exact)"


def test_a_value_without_interval_says_why() -> None:
    text = estimate_text(Estimate(0.27, None, None, 1, "one reference")).replace(THIN, " ").replace(NBSP, " ")
    assert text == "27 % (one reference, n = 1)"


def test_the_scripts_format_no_number_themselves() -> None:
    """They are given each in words; what they round are coordinates, to a tenth of a pixel."""
    scripts = [path.read_text(encoding="utf-8") for path in Path(tightrope.report.__file__).parent.rglob("*.js")]
    assert len(scripts) > 4
    own = re.compile(r"u202f|\u202f|toPrecision|toLocaleString|Intl\.|toFixed\((?!1\))|Math\.round\(100")
    assert [found for script in scripts for found in own.findall(script)] == []


def test_an_action_of_a_few_numbers_is_not_broken_over_two_lines() -> None:
    told = typeset("it chose (0.5, -1, 1e-05); (0, 0) would have survived in 5% (1, 2 or 3)")
    assert told == f"it chose (0.5,{NBSP}-1,{NBSP}1e-05); (0,{NBSP}0) would have survived in 5{THIN}% (1, 2 or 3)"
    many = f"({', '.join('0' * 17)})"
    assert typeset(many) == many


def test_a_part_of_a_share_was_what_it_was_only_where_that_is_shown() -> None:
    shown, perhaps = Estimate(0.25, 0.14, 0.68, 40, "made up"), Estimate(0.01, 0.0, 0.17, 40, "made up")
    assert part_text(shown, "avoidable") == "25 percentage points of that were avoidable (14 to 68)"
    assert part_text(perhaps, "avoidable") == "1 percentage point of that may have been avoidable (0 to 17)"
