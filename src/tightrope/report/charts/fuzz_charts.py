"""Charts of step 3: fitness, coverage and return over the generations."""

from __future__ import annotations

from typing import Any

from tightrope.report.charts.chart import MUTED, Chart, Json, Table, chart_series
from tightrope.report.results import FuzzSummary
from tightrope.report.wording import number

COLUMNS = {
    "generation": "index",
    "fitness": "best_fitness",
    "coverage term": "coverage_term",
    "positive term": "positive_term",
    "negative term": "negative_term",
    "return of the fittest": "best_return",
    "mean return": "mean_return",
    "covered": "covered",
    "covered by control": "control_covered",
    "goals": "goals",
    "length": "length",
}
"""Heading → field of a GenerationSummary."""


def fuzz_charts(fuzzing: FuzzSummary | None) -> tuple[Chart, ...]:
    """Fitness by term, coverage beside its control, returns."""
    if fuzzing is None:
        return ()
    terms = [
        _line(fuzzing, "coverage", 0, "coverage_term"),
        _line(fuzzing, "positive reward", 2, "positive_term"),
        _line(fuzzing, "negative reward", 1, "negative_term"),
    ]
    covered = [
        _line(fuzzing, "fuzzing", 0, "covered"),
        _line(fuzzing, "random traces (control)", MUTED, "control_covered", dash=True),
    ]
    returns = [
        _line(fuzzing, "fittest", 0, "best_return"),
        _line(fuzzing, "mean of the generation", MUTED, "mean_return"),
    ]
    made = (
        _chart(fuzzing, "fitness", "Fitness of the fittest, by term", "weighted terms, stacked", terms, stack=True),
        _chart(fuzzing, "coverage", "States covered", "state keys", covered),
        _chart(fuzzing, "returns", "Return", "return", returns),
    )
    return tuple(chart for chart in made if not chart.empty)


def _line(fuzzing: FuzzSummary, name: str, colour: int, field_name: str, **more: Any) -> Json:
    points = [
        {
            "x": generation.index,
            "v": getattr(generation, field_name),
            "n": fuzzing.population,
            "m": "traces a generation",
        }
        for generation in fuzzing.generations
    ]
    return chart_series(name, colour, points, mode="line", **more)


def _chart(fuzzing: FuzzSummary, name: str, title: str, y_label: str, series: list[Json], **options: Any) -> Chart:
    return Chart(
        id=name,
        kind="plot",
        title=title,
        views=({"label": "", "series": [one for one in series if one["points"]]},),
        table=_table(fuzzing),
        x_label="generation",
        y_label=y_label,
        options={"compact": True, **options},
    )


def _table(fuzzing: FuzzSummary) -> Table:
    rows = tuple(
        tuple(number(getattr(generation, name)) for name in COLUMNS.values()) for generation in fuzzing.generations
    )
    return Table(header=tuple(COLUMNS), rows=rows)
