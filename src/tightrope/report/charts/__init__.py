"""Charts and maps as data, and which charts each section of the page has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tightrope.report.charts.chart import Chart
from tightrope.report.charts.fuzz_charts import fuzz_charts
from tightrope.report.charts.performance_charts import robust_performance
from tightrope.report.charts.safety_charts import safety_against_reward, safety_by_place, safety_by_suite
from tightrope.report.charts.watch_chart import safety_over_length
from tightrope.report.results import RunResults

ChartMaker: TypeAlias = Callable[[RunResults], Sequence[Chart]]

SECTIONS: dict[str, tuple[ChartMaker, ...]] = {
    "safety": (lambda run: (safety_by_suite(run), safety_by_place(run), safety_over_length(run)),),
    "performance": (robust_performance,),
    "reward": (lambda run: (safety_against_reward((run,)),),),
    "fuzzing": (lambda run: fuzz_charts(run.fuzzing),),
}
"""The charts of each section, in the order in which they are shown."""


def section_charts(run: RunResults) -> dict[str, tuple[Chart, ...]]:
    """Every chart of a run, by section; those without data are among them, and say so."""
    return {name: tuple(chart for make in makers for chart in make(run)) for name, makers in SECTIONS.items()}
