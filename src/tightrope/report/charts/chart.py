"""Charts as data: what ``report.js`` draws, each with the table behind it.

A chart has one or more views (suites, measures) between which the reader switches. A point carries its interval, its n
and the method, so that none is ever shown without.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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
    """``rows``: dots and intervals beside names; ``plot``: x against y."""
    title: str
    views: tuple[Json, ...]
    table: Table
    share: bool = False
    """Whether y is a share, written in percent."""
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    options: Json = field(default_factory=dict)

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
            "share": self.share,
            "x": self.x_label,
            "y": self.y_label,
            **self.options,
        }


def estimate_point(estimate: Estimate, **more: Any) -> Json:
    """A point with its interval."""
    return {"v": estimate.value, "lo": estimate.low, "hi": estimate.high, "n": estimate.n, "m": estimate.method, **more}


def chart_series(name: str, colour: int, points: Iterable[Json], **more: Any) -> Json:
    """A named line or cloud of points; points without a value are left out, never drawn at 0."""
    return {"name": name, "colour": colour, "points": [point for point in points if point["v"] is not None], **more}
