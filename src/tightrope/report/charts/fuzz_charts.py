"""Charts of step 3: fitness, coverage and return over the generations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tightrope.fuzzing import FuzzResult
from tightrope.report.charts.chart import MUTED, Chart, Json, Table, chart_series, plain_point, plot_view
from tightrope.report.wording import number

ValueOfGeneration: TypeAlias = Callable[[FuzzResult, int], float | None]


def _term(which: int, name: str) -> ValueOfGeneration:
    """A weighted term of the fittest's fitness; the three add up to it."""

    def term(result: FuzzResult, at: int) -> float:
        weight: float = result.settings.get("weights", (1.0, 1.0, 1.0))[which]
        return weight * float(getattr(result.individuals[at].fitness, name))

    return term


def _covered_by_control(result: FuzzResult, at: int) -> float | None:
    return None if result.control is None else result.control.covered_by_generation[at]


COLUMNS: Mapping[str, tuple[str, ValueOfGeneration]] = {
    "index": ("generation", lambda result, at: result.generations[at].index),
    "best_fitness": ("fitness", lambda result, at: result.individuals[at].fitness.value),
    "coverage_term": ("coverage term", _term(0, "coverage")),
    "positive_term": ("positive term", _term(1, "positive")),
    "negative_term": ("negative term", _term(2, "negative")),
    "best_return": ("return of the fittest", lambda result, at: result.individuals[at].total_return),
    "mean_return": ("mean return", lambda result, at: result.generations[at].terms["total_return"].mean),
    "covered": ("covered", lambda result, at: result.generations[at].covered),
    "control_covered": ("covered by control", _covered_by_control),
    "goals": ("goals", lambda result, at: result.generations[at].goals),
    "length": ("length", lambda result, at: len(result.individuals[at].trace)),
}
"""Name in files → heading, and what a result knows of a generation."""


def fuzzing_by_generation(fuzzing: FuzzResult | None) -> tuple[Chart, ...]:
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


def generation_rows(fuzzing: FuzzResult) -> list[dict[str, float | None]]:
    """Every generation in numbers, by name."""
    every = range(len(fuzzing.generations))
    return [{name: value(fuzzing, at) for name, (_, value) in COLUMNS.items()} for at in every]


def _line(fuzzing: FuzzResult, name: str, colour: int, column: str, **more: Any) -> Json:
    about = f"{number(fuzzing.settings['population'])} traces a generation" if "population" in fuzzing.settings else ""
    points = [plain_point(row[column], about, share=False, x=row["index"]) for row in generation_rows(fuzzing)]
    return chart_series(name, colour, points, mode="line", **more)


def _chart(
    fuzzing: FuzzResult, name: str, title: str, y_label: str, series: Sequence[Json], *, stack: bool = False
) -> Chart:
    rows = tuple(tuple(number(value) for value in row.values()) for row in generation_rows(fuzzing))
    return Chart(
        id=name,
        kind="plot",
        title=title,
        views=(plot_view("", [one for one in series if one["points"]], stack=stack),),
        table=Table(header=tuple(title for title, _ in COLUMNS.values()), rows=rows),
        x_label="generation",
        y_label=y_label,
        options={"compact": True, "stack": stack},
    )
