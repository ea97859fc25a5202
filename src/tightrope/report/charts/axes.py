"""Axes with their words: where they begin and end, which ticks they have and how those are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tightrope.report.wording import THIN, number

NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
WANTED = 6
"""Ticks on a wide page; a narrow one leaves out every other."""


def axis(low: float, high: float, *, share: bool = False, ends: bool = True, whole: bool = False) -> dict[str, Any]:
    """An axis; with ``ends`` it is widened to the next ticks, so that the topmost value is read against a line."""
    step = _step(high - low, whole=whole)
    if ends:
        low, high = math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Multiplied, not added up, and rounded: 3 * 0.1 reads 0.30000000000000004.
    found = [round(k * step, 12) for k in range(first, last + 1)]
    return {"low": low, "high": high, "ticks": [{"at": at, "text": _tick(at, share=share)} for at in found]}


def _tick(at: float, *, share: bool) -> str:
    """Exactly where it stands: a line at 12.5 % that reads 13 % would be one step too far from the next."""
    return f"{100 * at:.12g}{THIN}%" if share else number(at)


def widened(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the largest, and further where they are one."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high > low:
        return low, high
    # A length of 0 alone has no ticks below it.
    return (0.0 if low == 0 else low - 1.0), high + 1.0


def _step(span: float, *, whole: bool) -> float:
    raw = span / WANTED
    power = 10.0 ** math.floor(math.log10(raw))
    fitting = (k * power for k in NICE if k * power >= raw * 0.999)
    step = next(fitting, raw)
    return max(1.0, math.ceil(step)) if whole else step
