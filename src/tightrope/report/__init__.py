"""The report: one HTML file to show to others, and the same results for machines."""

from tightrope.report.charts.maps import map_picture
from tightrope.report.results import (
    AgentInfo,
    BoundaryResult,
    BoundarySummary,
    CaseResult,
    Finding,
    FuzzSummary,
    GateResult,
    GenerationSummary,
    MapPicture,
    PerformancePoint,
    PerformanceSummary,
    Published,
    Results,
    RunResults,
    SearchSummary,
    StepCost,
    SuiteResult,
    TaskInfo,
)
from tightrope.report.writers.resultfile import combine, load_results, results_from_json, results_to_json, save_results
from tightrope.report.writers.writing import write_report

__all__ = [
    "AgentInfo",
    "BoundaryResult",
    "BoundarySummary",
    "CaseResult",
    "Finding",
    "FuzzSummary",
    "GateResult",
    "GenerationSummary",
    "MapPicture",
    "PerformancePoint",
    "PerformanceSummary",
    "Published",
    "Results",
    "RunResults",
    "SearchSummary",
    "StepCost",
    "SuiteResult",
    "TaskInfo",
    "combine",
    "load_results",
    "map_picture",
    "results_from_json",
    "results_to_json",
    "save_results",
    "write_report",
]
