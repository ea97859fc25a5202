"""Numbers in words: the same in the HTML, the Markdown and the JUnit file. The page's script is given the words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tightrope.statistics.estimate import Estimate
from tightrope.trace import Action

NO_DATA = "no data"
NBSP = "\u00a0"
THIN = "\u202f"
"""Narrow no-break space between a number and its unit."""


def percent(value: float | None) -> str:
    """``7.2 %``; one decimal below ten, where it matters."""
    if value is None:
        return NO_DATA
    share = 100 * value
    digits = 1 if 0 < share < 9.95 or 90.05 < share < 100 else 0
    return f"{share:.{digits}f}{THIN}%"


def number(value: float | None) -> str:
    """Three or more significant digits, thousands set apart."""
    if value is None:
        return NO_DATA
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else f"{value:+}".replace("inf", "∞")
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}".replace(",", THIN)
    return f"{value:.3g}"


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
    between = "" if low is None or high is None else _between(low, high)
    size, way = _points(abs(value)), "more" if value > 0 else "less"
    if float(size) == 0:
        return f"as often{between} as {other}"
    return f"{size} percentage {'point' if size == '1.0' else 'points'} {way} often{between} than {other}"


def _between(low: float, high: float) -> str:
    if low == high:
        return " (exact)"
    if low < 0 < high:
        return f" (from {_points(-low)} less to {_points(high)} more)"
    least, most = sorted((abs(low), abs(high)))
    return f" ({_points(least)} to {_points(most)})"


def _points(value: float) -> str:
    return percent(value).removesuffix(f"{THIN}%")


def listed(words: Sequence[str]) -> str:
    """``#9, #6 and #10``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def count(amount: int, singular: str, plural: str = "") -> str:
    """``1 case``, ``39 cases``."""
    return f"{number(amount)} {singular if amount == 1 else plural or singular + 's'}"


def counts_text(counts: Mapping[str, int]) -> str:
    """``unsafe ×3, stuck ×1``."""
    return ", ".join(f"{kind} ×{times}" for kind, times in counts.items() if times)


def action_text(action: Action, names: tuple[str, ...] = ()) -> str:
    """The action's name where it has one."""
    if isinstance(action, int) and 0 <= action < len(names):
        return names[action]
    if isinstance(action, tuple):
        return "(" + ", ".join(action_text(part) for part in action) + ")"
    return f"{action:.3g}" if isinstance(action, float) else str(action)


def actions_text(actions: tuple[Action, ...], names: tuple[str, ...] = ()) -> str:
    """A run of actions, repetitions counted: ``right ×3, jump``."""
    runs: list[tuple[str, int]] = []
    for text in (action_text(action, names) for action in actions):
        if runs and runs[-1][0] == text:
            runs[-1] = (text, runs[-1][1] + 1)
        else:
            runs.append((text, 1))
    return ", ".join(text if times == 1 else f"{text} ×{times}" for text, times in runs)
