"""Charts and maps as data, and which charts each section of the page has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tightrope.report.charts.chart import Chart
from tightrope.report.charts.comparison_charts import agents_by_suite, agents_compared
from tightrope.report.charts.fuzz_charts import fuzzing_by_generation
from tightrope.report.charts.performance_charts import robust_performance
from tightrope.report.charts.safety_charts import safety_against_reward, safety_by_place, safety_by_suite
from tightrope.report.charts.watch_chart import safety_over_length
from tightrope.report.comparing import MANY
from tightrope.report.results import RunResults

ChartMaker: TypeAlias = Callable[[RunResults], Sequence[Chart]]


def _safety(run: RunResults) -> tuple[Chart, ...]:
    """Of many agents the comparison has the places, and the ranking the only suite."""
    if len(run.agents) < MANY:
        return safety_by_suite(run), safety_by_place(run), safety_over_length(run)
    alone = len({suite.name for suite in run.suites}) == 1
    return (*(() if alone else (agents_by_suite(run),)), safety_over_length(run))


SECTIONS: dict[str, tuple[ChartMaker, ...]] = {
    "comparison": (agents_compared,),
    "safety": (_safety,),
    "performance": (robust_performance,),
    "reward": (lambda run: (safety_against_reward((run,)),),),
    "fuzzing": (lambda run: fuzzing_by_generation(run.fuzzing),),
}
"""The charts of each section, in the order in which they are shown."""


def section_charts(run: RunResults) -> dict[str, tuple[Chart, ...]]:
    """Every chart of a run, by section; those without data are among them, and say so."""
    return {name: tuple(chart for make in makers for chart in make(run)) for name, makers in SECTIONS.items()}
