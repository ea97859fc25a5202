"""How results and agents show themselves, in one short line and in notebooks as a small table; how numbers are told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from dataclasses import fields
from enum import Enum
from html import escape
from typing import Any, ClassVar

NBSP = "\u00a0"
THIN = "\u202f"
"""Narrow no-break space between a number and its unit."""
NO_DATA = "no data"
SMALLEST_TOLD = 0.01
"""Percent: what is nearer to 0 or to 100 is told as less, or more, than that."""
LONGEST = 60
"""Characters of a value in the short line; a notebook's table has room for twice as many."""
MOST_LISTED = 4
"""Values of a collection that are shown one by one."""


def plainly(text: str) -> str:
    """The same with spaces that every terminal has, and none before a percent sign: columns are few."""
    return text.replace(THIN, "").replace(NBSP, " ")


def percent(value: float | None) -> str:
    """``7.2 %``; one decimal below ten and above ninety, where it matters. Only nothing reads 0, only all reads 100."""
    if value is None or not math.isfinite(value):
        return number(value)
    share = 100 * value
    if math.isclose(share, round(share), rel_tol=0, abs_tol=1e-9):
        return f"{share:.0f}{THIN}%"
    least = min(abs(share), abs(100 - share))
    if least < SMALLEST_TOLD:
        return f"{'<' if share < 50 else '>'}{SMALLEST_TOLD if share < 50 else 100 - SMALLEST_TOLD}{THIN}%"
    digits = 2 if least < 0.095 else 1 if share < 9.95 or share > 90.05 else 0
    # A half is rounded up whatever the last bits of it say: 82.5 reads the same however it was summed.
    return f"{share + 1e-9:.{digits}f}{THIN}%"


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


class Shown:
    """What has a short repr and an HTML one, both made of the attributes it names in ``_shown``."""

    __slots__ = ()
    _shown: ClassVar[tuple[str, ...]] = ()
    """Attributes worth showing, in order; empty: the dataclass's fields that are part of its repr."""
    _shares: ClassVar[tuple[str, ...]] = ()
    """Those that are shares: a notebook tells them in percent."""
    _points: ClassVar[tuple[str, ...]] = ()
    """Those that are differences of shares: a notebook tells them in percentage points."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_one_line(value, LONGEST)}" for name, value in self._facts())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(self._cell(name, value))}</td></tr>"
            for name, value in self._facts()
        )
        table = f"<table><caption>{escape(type(self).__name__)}</caption><tbody>{''.join(rows)}</tbody></table>"
        return table + self._chart_svg()

    def _cell(self, name: str, value: object) -> str:
        kind = "share" if name in self._shares else "points" if name in self._points else ""
        if not kind or value is None:
            return _in_table(value)
        return plainly(percent(value)) if isinstance(value, float) else format(value, kind)

    def _chart_svg(self) -> str:
        """A small chart for below the table, as SVG; empty: there is nothing to draw."""
        return ""

    def _facts(self) -> Iterator[tuple[str, object]]:
        declared: Any = self
        names = self._shown or [part.name for part in fields(declared) if part.repr]
        return ((name, getattr(self, name)) for name in names)


def _in_table(value: object) -> str:
    """A value in a notebook's table: words without quotes, collections by their size, nothing as none."""
    if isinstance(value, str):
        text = " ".join(value.split())
        return text if len(text) <= 2 * LONGEST else f"{text[: 2 * LONGEST - 1]}…"
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        told = _one_line(value, 2 * LONGEST) if len(value) <= MOST_LISTED else "…"
        return "none" if not value else f"{len(value):,}" if told.endswith("…") else told
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value is None else _one_line(value, 2 * LONGEST)


def _one_line(value: object, longest: int) -> str:
    """A value in few characters: collections by their size, and what prints well as it prints."""
    if isinstance(value, (list, tuple, set, frozenset, dict)) and len(value) > MOST_LISTED:
        text = f"{len(value)} {_plural(value)}"
    elif isinstance(value, Enum) or (type(value).__str__ is not object.__str__ and not isinstance(value, str)):
        text = str(value)
    else:
        text = repr(value)
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _plural(value: Sized) -> str:
    return "entries" if isinstance(value, dict) else "values"
