"""Numbers in words, the same wherever one is told: in the report, in files, in sentences, in the terminal."""

from __future__ import annotations

import math
import re

from tightrope.display import NBSP as NBSP
from tightrope.display import NO_DATA as NO_DATA
from tightrope.display import THIN as THIN
from tightrope.display import number as number
from tightrope.display import percent as percent
from tightrope.display import plainly as plainly
from tightrope.statistics.estimate import Estimate

PERCENT = re.compile(r"(?<=\d)%")
ACTION = re.compile(r"\([-+.\de]+(?:, [-+.\de]+){1,5}\)")
"""An action of a few numbers; one of many has to be broken somewhere."""


def value_text(value: float | None, *, share: bool = True) -> str:
    """A number by itself: in percent, or as it is."""
    return percent(value) if share else number(value)


def estimate_text(estimate: Estimate, *, share: bool = True) -> str:
    """``7.2 % (3.1–15 %, n = 13)``; a value that has no interval comes with the reason."""
    if estimate.value is None:
        return NO_DATA
    around = estimate.method if estimate.low is None or estimate.high is None else interval_text(estimate, share=share)
    about = ", ".join(filter(None, (around, f"n{NBSP}={NBSP}{number(estimate.n)}")))
    return f"{value_text(estimate.value, share=share)} ({about})"


def interval_text(estimate: Estimate, *, share: bool = True) -> str:
    """``3.1–15 %``; numbers that may be negative are parted by a word; ``exact`` where nothing is random."""
    if estimate.value is None:
        return NO_DATA
    if estimate.low is None or estimate.high is None:
        return "no interval"
    if estimate.low == estimate.high:
        return "exact"
    low, high = value_text(estimate.low, share=share), value_text(estimate.high, share=share)
    return f"{low.removesuffix(THIN + '%')}–{high}" if share else f"{low} to {high}"


def change_text(estimate: Estimate, other: str) -> str:
    """A difference of two shares: ``12 percentage points more often (3.1 to 20) than ...``."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return NO_DATA
    between = "" if low is None or high is None else _between(value, low, high)
    if float(_points(abs(value))) == 0:
        return f"as often{between} as {other}"
    return f"{_in_points(abs(value))} {'more' if value > 0 else 'less'} often{between} than {other}"


def least_text(value: float) -> str:
    """The least that a part of a share can be: ``12 percentage points of that were``."""
    return f"{_in_points(value)} of that {'was' if float(_points(value)) == 1 else 'were'}"


def part_text(estimate: Estimate, what: str) -> str:
    """A part of a share: ``12 percentage points of that were avoidable (3.1 to 20)``."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return NO_DATA
    between = "" if low is None or high is None else _between(value, low, high)
    told = least_text(value) if low else f"{_in_points(value)} of that may have been"
    return f"{told} {what}{between}"


def points_text(estimate: Estimate) -> str:
    """A difference of two shares: ``+12 points (+3.1 to +20)``, in percentage points."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return NO_DATA
    told = f"{_signed(value)} points"
    if low is None or high is None:
        return f"{told} (no interval)"
    return f"{told} (exact)" if low == high else f"{told} ({_signed(low)} to {_signed(high)})"


def _signed(share: float) -> str:
    """With two figures."""
    points = 100 * share + math.copysign(1e-9, share)
    return f"{points:+.0f}" if abs(share) >= 0.0995 else f"{points:+.2g}"


def _between(value: float, low: float, high: float) -> str:
    """The interval, and which way each of its ends lies where the sentence around it does not say."""
    if low == high:
        return " (exact)"
    if low < 0 < high:
        return f" (from {_points(-low)} less to {_points(high)} more)"
    least, most = sorted((abs(low), abs(high)))
    if float(_points(abs(value))) == 0:
        return f" (up to {_points(most)} {'more' if high > 0 else 'less'})"
    return f" ({_points(least)} to {_points(most)})"


def _points(value: float) -> str:
    """A difference in percentage points, which may be small without being nothing of the whole."""
    points = 100 * value
    whole = math.isclose(points, round(points), rel_tol=0, abs_tol=1e-9)
    # A half is rounded up, as in a share: 12.5 less 0 is no other number than 12.5.
    return f"{points + 1e-9:.{0 if whole or 9.95 <= points <= 90.05 else 1}f}"


def _in_points(value: float) -> str:
    size = _points(value)
    return f"{size} percentage {'point' if float(size) == 1 else 'points'}"


def count(amount: int, singular: str, plural: str = "") -> str:
    """``1 case``, ``39 cases``."""
    return f"{number(amount)} {singular if amount == 1 else plural or singular + 's'}"


def typeset(text: str) -> str:
    """A sentence that was written for a terminal, with the page's narrow space before its percent signs, and actions of
    a few numbers kept in one line."""
    return ACTION.sub(lambda found: found[0].replace(" ", NBSP), PERCENT.sub(f"{THIN}%", text))
