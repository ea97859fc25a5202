"""Charts as data: what ``charts.js`` draws, each with the table behind it.

A chart has one or more views (suites, measures) between which the reader switches. A point carries its value, its
interval and the words about them, so that none is ever shown without; axes come with their words, so that numbers are
written in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from tightrope.report.charts.axes import axis, widened
from tightrope.report.wording import NBSP, interval_text, number, value_text
from tightrope.statistics.estimate import Estimate

Json = dict[str, Any]
MUTED = -1
"""Colour of what is not an agent: controls, traces."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """The numbers behind a chart, ready to read."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One figure of the report."""

    id: str
    kind: str
    """``rows``: dots and intervals beside names; ``plot``: x against y; ``heat``: shares in a grid."""
    title: str
    views: tuple[Json, ...]
    table: Table
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    said: tuple[str, ...] = ()
    """What it shows, in sentences that stand above it."""
    options: Json = field(default_factory=dict)
    nothing: str = "no data"
    """What stands in its place where there is nothing to draw."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(series["points"] for view in self.views for series in view["series"])

    def to_json(self) -> Json:
        """What the script gets."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "views": self.views,
            "x": self.x_label,
            "y": self.y_label,
            **self.options,
        }


def estimate_point(estimate: Estimate, *, share: bool = True, **more: Any) -> Json:
    """A point with its interval and the words about it."""
    hover = hover_text(estimate, share=share)
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, **hover, **more}


def hover_text(estimate: Estimate, *, share: bool = True) -> Json:
    """What the hover text says of an estimate: its value and interval, then n and method."""
    words = value_text(estimate.value, share=share)
    if estimate.low is not None and estimate.high is not None:
        words += f" ({interval_text(estimate, share=share)})"
    return {"text": words, "about": f"n{NBSP}={NBSP}{number(estimate.n)} · {estimate.method}" if estimate.n else ""}


def plain_point(value: float | None, about: str, *, share: bool = True, **more: Any) -> Json:
    """A point that has no interval, with the reason or the origin."""
    return {"value": value, "text": value_text(value, share=share), "about": about, **more}


def chart_series(name: str, colour: int, points: Iterable[Json], **more: Any) -> Json:
    """A named line or cloud of points; what has no value, or none that can be drawn, is left out and never at 0."""
    return {"name": name, "colour": colour, "points": [point for point in points if _drawn(point)], **more}


def _drawn(point: Json) -> bool:
    return all(place is not None and isfinite(place) for place in (point["value"], point.get("x", 0)))


def rows_view(label: str, rows: Sequence[Json], series: Sequence[Json], **more: Any) -> Json:
    """Rows of shares, one beside the other; ``x`` names the axis where it is not that of the whole chart."""
    found = [end for one in series for point in one["points"] for end in _ends(point)]
    most = max(found, default=0.0)
    # A tenth is shown at least, or a small rate would look like a large one.
    limit = 1.0 if most > 0.5 else max(0.1, most)
    return {"label": label, "rows": list(rows), "series": list(series), "values": axis(0.0, limit, share=True), **more}


def heat_view(label: str, rows: Sequence[Json], columns: Sequence[Json], cells: Iterable[Json], **more: Any) -> Json:
    """Shares in a grid: each cell has its ``row`` and ``column``, and one without a value is hatched.

    ``share`` is what stands in the cell, where the whole ``text`` has no room.
    """
    found = [{**cell, "share": value_text(cell["value"])} for cell in cells]
    known = any(cell["value"] is not None for cell in found)
    series = [{"name": "", "colour": MUTED, "points": found if known else []}]
    return {"label": label, "rows": list(rows), "columns": list(columns), "series": series, **more}


def plot_view(
    label: str,
    series: Sequence[Json],
    *,
    share: bool = False,
    domain: tuple[float, float] | None = None,
    stack: bool = False,
    **more: Any,
) -> Json:
    """x against y, each with its axis."""
    for one in series:
        for point in one["points"]:
            point.setdefault("title", f"{one['name']} at {number(point['x'])}")
    points = [point for one in series for point in one["points"]]
    across = [end for point in points for end in (point["x"], point.get("x_low"), point.get("x_high"))]
    along = _finite(across)
    reach = [end for point in points for end in _ends(point)]
    if stack:
        reach = [sum(p["value"] for p in points if p["x"] == x) for x in {point["x"] for point in points}]
    low, high = domain or (min([0.0, *reach]), max([0.0, *reach]))
    return {
        "label": label,
        "series": list(series),
        "along": axis(*widened(along), ends=False, whole=all(float(x).is_integer() for x in along)),
        "values": axis(low, high if high > low else low + 1.0, share=share),
        **more,
    }


def _ends(point: Json) -> list[float]:
    return _finite([point["value"], point.get("low"), point.get("high")])


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]
