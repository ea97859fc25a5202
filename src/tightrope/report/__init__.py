"""The report: one HTML file to show to others, and the same results for machines."""

from tightrope.report.maps import map_picture
from tightrope.report.resultfile import combine, load_results, results_from_json, results_to_json, save_results
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
from tightrope.report.writing import write_report

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
