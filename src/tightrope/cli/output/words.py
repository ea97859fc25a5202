"""Numbers in words for a terminal: the report's own, with spaces and signs that every terminal has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tightrope.display import THIN, plainly

if TYPE_CHECKING:
    from tightrope.statistics import Estimate


def in_percent(value: float | None) -> str:
    """``7.2%``."""
    from tightrope.statistics.words import percent as in_report

    return plainly(in_report(value))


def share(estimate: Estimate) -> str:
    """``43% (24–85%)``, and without an interval why there is none."""
    return _with_interval(estimate, share=True)


def amount(estimate: Estimate) -> str:
    """``0.101 (0.09 to 0.12)``."""
    return _with_interval(estimate, share=False)


def points(estimate: Estimate) -> str:
    """A difference of two shares: ``+12 (+3.1 to +20)``, in percentage points."""
    from tightrope.statistics.words import points_text

    return points_text(estimate).replace(" points", "", 1)


def counted(number: int, singular: str, plural: str = "") -> str:
    """``1 case``, ``1,239 cases``."""
    from tightrope.statistics.words import count

    return count(number, singular, plural).replace(THIN, ",")


def _with_interval(estimate: Estimate, *, share: bool) -> str:
    from tightrope.statistics.words import interval_text, value_text

    if estimate.value is None:
        return "no data"
    value, around = value_text(estimate.value, share=share), interval_text(estimate, share=share)
    return plainly(f"{value} ({around})")
