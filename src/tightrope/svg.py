"""Small charts for notebooks, as SVG: shares with their intervals on a line from 0 to 100 %, and values that go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tightrope.display import number, percent, plainly

MOST_ROWS = 12
"""More than these are counted, and the report has all."""
LONGEST_LABEL = 24
LABELS, WIDTH, ROW, TOP = 170, 300, 22, 8
"""Pixels: of the labels, of the line from 0 to 100 %, of a row, above the first."""
NUMBERS = 132
HEIGHT = 120
"""Pixels of a chart of lines, from the least to the greatest value."""
INKS = ("#0b62a4", "#8b8f96")
"""Of lines: what is looked at, and what it is compared with, as in the report."""
HEAT = ("#fff3b2", "#fecc5c", "#fd8d3c", "#e31a1c", "#800026")
"""From 0 to 100 %, as the pins of the report's map."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row: a share, its interval where it has one, and what it is of."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


def shares_svg(bars: Sequence[Bar], title: str) -> str:
    """A chart of shares; nothing measured is written as such, never as 0."""
    shown = bars[:MOST_ROWS]
    rows = "".join(_row(bar, TOP + ROW * place) for place, bar in enumerate(shown))
    bottom = TOP + ROW * len(shown)
    grid = "".join(_line(share, bottom) for share in (0.0, 0.5, 1.0))
    more = f"and {len(bars) - len(shown)} more" if len(bars) > len(shown) else ""
    under = f'<text x="0" y="{bottom + 14}" opacity=".7">{escape(more)}</text>'
    return _svg(grid + rows + under, title, bottom + 22)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Values over something that grows; None: nothing was measured there."""

    label: str
    points: Sequence[tuple[float, float | None]]


def lines_svg(lines: Sequence[Line], title: str, along: str) -> str:
    """A chart of at most two lines, the first of which is looked at; nothing where nothing was measured."""
    known = [[(x, y) for x, y in line.points if y is not None] for line in lines]
    every = [point for points in known for point in points]
    if not every:
        return ""
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*every, strict=True))

    def at(x: float, y: float) -> str:
        across, up = (x - left) / ((right - left) or 1), (y - low) / ((high - low) or 1)
        return f"{LABELS + WIDTH * across:.1f},{TOP + HEIGHT * (1 - up):.1f}"

    drawn = ""
    for place, (line, points, ink) in enumerate(zip(lines, known, INKS, strict=False)):
        path = " ".join(at(x, y) for x, y in points)
        drawn += f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="2"/>'
        drawn += "".join(
            '<circle cx="{}" cy="{}" r="2.5" fill="{}"/>'.format(*at(x, y).split(","), ink) for x, y in points
        )
        drawn += f'<text x="{LABELS + WIDTH + 12}" y="{TOP + 12 + 18 * place}" fill="{ink}">{escape(line.label)}</text>'
    bottom = TOP + HEIGHT
    for value, y in ((high, TOP + 8), (low, bottom)) if high > low else ((high, bottom),):
        drawn += f'<text x="{LABELS - 8}" y="{y}" text-anchor="end" opacity=".7">{plainly(number(value))}</text>'
    told = plainly(f"{along} {number(left)} to {number(right)}")
    return _svg(drawn + f'<text x="{LABELS}" y="{bottom + 18}" opacity=".7">{escape(told)}</text>', title, bottom + 24)


def _svg(drawn: str, title: str, height: int) -> str:
    width = LABELS + WIDTH + NUMBERS
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;font:12px system-ui,sans-serif" fill="currentColor">'
        f"<title>{escape(title)}</title>{drawn}</svg>"
    )


def _row(bar: Bar, top: int) -> str:
    middle = top + ROW // 2
    label = bar.label if len(bar.label) <= LONGEST_LABEL else f"{bar.label[: LONGEST_LABEL - 1]}…"
    drawn = f'<text x="{LABELS - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
    if bar.value is None:
        return f'{drawn}<text x="{LABELS + 4}" y="{middle + 4}" opacity=".7">no data</text>'
    if bar.low is not None and bar.high is not None and bar.low < bar.high:
        drawn += (
            f'<line x1="{_x(bar.low):.1f}" x2="{_x(bar.high):.1f}" y1="{middle}" y2="{middle}" '
            f'stroke="currentColor" stroke-width="2" opacity=".55"/>'
        )
    heat = HEAT[min(int(bar.value * len(HEAT)), len(HEAT) - 1)]
    drawn += f'<circle cx="{_x(bar.value):.1f}" cy="{middle}" r="5" fill="{heat}" stroke="currentColor"/>'
    return f'{drawn}<text x="{LABELS + WIDTH + 12}" y="{middle + 4}">{escape(_told(bar))}</text>'


def _told(bar: Bar) -> str:
    assert bar.value is not None
    value, low, high = (plainly(percent(share)) for share in (bar.value, bar.low, bar.high))
    if bar.low is None or bar.high is None:
        return value
    return f"{value} (exact)" if bar.low == bar.high else f"{value} ({low.removesuffix('%')}–{high})"


def _line(share: float, bottom: int) -> str:
    x = _x(share)
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="currentColor" opacity=".25"/>'
        f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" opacity=".7">{share:.0%}</text>'
    )


def _x(share: float) -> float:
    return LABELS + WIDTH * min(max(share, 0.0), 1.0)
